"""A trained model, and its surprisal, parses and perplexity."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.readers.base import TableColumns
from gardenpath.data.sentence import OnWords, Sentence, Split
from gardenpath.data.words.pieces import Boundary, BoundaryChoice
from gardenpath.data.words.vocabulary import WORDS_VERSION
from gardenpath.errors import ConfigError, DamagedRunError, RunError
from gardenpath.eval.search.settings import SEARCH_VERSION, SearchSettings, WordSync
from gardenpath.eval.suites.summary import RunName
from gardenpath.models.family import AdoptedModel, Family, Measure, NeuralFamily, SyntacticFamily
from gardenpath.models.registry import FAMILIES
from gardenpath.runs.text import Given, is_single, sentences_of_given
from gardenpath.settings.compose import typed
from gardenpath.settings.schema import ProcessCount, plain
from gardenpath.settings.train import TrainSettings
from gardenpath.store.files import fingerprint
from gardenpath.store.run_folder import WEIGHTS_FILE, RunFolder
from gardenpath.store.run_status import best_epoch
from gardenpath.store.surprisals import (
    ANY_ENTRY,
    EntryNeeds,
    Matters,
    Stored,
    SurprisalStore,
    first_call_of,
    score_through,
    words_per_chunk,
)
from gardenpath.util import Words

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from gardenpath.data.corpus import DataSettings
    from gardenpath.data.trees.legality import Strategy
    from gardenpath.data.words.pieces import Subwords
    from gardenpath.data.words.vocabulary import Vocabulary
    from gardenpath.eval.search.scorer import StructuredScorer
    from gardenpath.models.sequential.scorer import SequentialScorer

MODEL_KEY_VERSION = 1

# The output layer of models from before there was another.
_USUAL_OUTPUT = ("output", "full")

# Raise it whenever models over pieces give other log probabilities than before.
PIECES_VERSION = 2

# Most sentences scored together; an interrupted job loses at most one chunk, and processes share a
# job by chunks. On a CPU, a search of more sentences at once is not faster.
_SEARCHED_TOGETHER = 64
_SCORED_TOGETHER = 256


class Run:
    """The run folder of a trained model, with a device and search settings.

    ``search`` is used by syntactic models only, ``boundary`` by models over pieces of words
    (:mod:`boundaries`). With a ``store``, log probabilities are looked up
    there first and stored there, so that no sentence is scored twice. ``processes`` is the number
    of processes, of one thread each, that compute missing scores; None computes them in this
    process with all its threads, ``auto`` starts processes for long searches on a CPU.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        device: str = "auto",
        search: SearchSettings | None = None,
        store: SurprisalStore | None = None,
        processes: ProcessCount | None = None,
        boundary: BoundaryChoice = "auto",
    ) -> None:
        self.folder = RunFolder(Path(path))
        self.boundary_choice: BoundaryChoice = boundary
        self.search = search or WordSync()
        self._device = device
        self.store = store
        self.processes = processes
        # Settings in which the run differs from others that are evaluated together with it.
        self.variant = ""

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    @functools.cached_property
    def settings(self) -> TrainSettings:
        """The settings with which the model was trained."""
        config = self.folder.config()
        config.pop("format")
        try:
            settings: TrainSettings = typed("train", config, is_for_here=False)
        except ConfigError as error:
            listed = "; ".join(error.mistakes)
            raise DamagedRunError(
                f"{self.folder.config_path}: {listed}; train again, or use the version of "
                "Gardenpath in versions.txt"
            ) from error
        return settings

    @functools.cached_property
    def mark(self) -> str:
        """Marks results of an unfinished run: ``(unfinished, epoch 3)``; empty for others."""
        if self.folder.is_finished:
            return ""
        epoch = best_epoch(self.folder)
        return " (unfinished)" if epoch is None else f" (unfinished, epoch {epoch})"

    @property
    def name(self) -> RunName:
        """Model, corpus and random seed; the names of unfinished runs and their models say so.

        The name of the model includes the settings in which it differs from other runs of the same
        model, if these are evaluated together.
        """
        settings = self.settings
        variant = f" ({self.variant})" if self.variant else ""
        return RunName(
            run=f"{self.path}{self.mark}",
            model=f"{settings.model.name}{variant}{self.mark}",
            corpus=settings.data.name,
            seed=settings.seed,
        )

    @property
    def language(self) -> str | None:
        """The language of the corpus; None if the model can be tested in any language."""
        return self.settings.data.language

    @property
    def measure(self) -> Measure:
        """What the numbers are: surprisal, or a pseudo-log-likelihood."""
        return "surprisal"

    @property
    def reads_text(self) -> bool:
        """Whether the model reads text as it is, not words of a vocabulary."""
        return False

    @property
    def is_order_dependent(self) -> bool:
        """Whether the score of a sentence depends on those before it; then none is stored."""
        return False

    @property
    def reports_progress(self) -> bool:
        """Whether the scorer reports its progress itself: a search does, sentence by sentence."""
        return self.is_syntactic

    @functools.cached_property
    def boundary(self) -> Boundary | None:
        """How pieces make words; None if the units are words."""
        if self.vocabulary.subword_hash is None:
            return None
        if self.boundary_choice == "leading" and self.is_syntactic:
            raise RunError(
                f"{self.path}: boundary=leading is not defined for syntactic models; use "
                "boundary=next"
            )
        return "next" if self.boundary_choice == "auto" else self.boundary_choice

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of the results must know about how words were scored."""
        return ()

    @property
    def family(self) -> Family:
        """The model family."""
        return FAMILIES[self.settings.model.family]

    @property
    def is_syntactic(self) -> bool:
        """Whether the model is syntactic: it generates trees and scores words by search."""
        return isinstance(self.family, SyntacticFamily)

    @functools.cached_property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the model."""
        from gardenpath.models.registry import load_vocabulary

        return load_vocabulary(self.folder)

    @functools.cached_property
    def subwords(self) -> Subwords | None:
        """The subword segmentation, if the units are pieces."""
        from gardenpath.models.registry import load_subwords

        found, expected = load_subwords(self.folder), self.vocabulary.subword_hash
        if (None if found is None else found.content_hash) != expected:
            raise DamagedRunError(
                f"{self.folder.subwords_path}: is missing or damaged: it is not the segmentation "
                "of vocabulary.json next to it; copy the run folder again, or train again"
            )
        return found

    @property
    def vocabulary_hash(self) -> str:
        """A hash that identifies the units of the model."""
        return self.vocabulary.content_hash

    @property
    def vocabulary_size(self) -> int | None:
        """Number of units; None if it is not known."""
        return len(self.vocabulary)

    @property
    def has_unknown_words(self) -> bool:
        """Whether words that are not in the vocabulary are predicted as classes."""
        return self.vocabulary.subword_hash is None

    def seen_as(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return what the model sees for each word: the word, its class, or its pieces."""
        from gardenpath.eval.surprisal.tables import seen_as

        return seen_as(words, self.vocabulary, self.subwords)

    @functools.cached_property
    def weights_sha256(self) -> str:
        """The SHA-256 of the file of weights; it must be that of the manifest, if available."""
        return self.folder.verified_sha256(WEIGHTS_FILE)

    def verify(self) -> None:
        """Raise a :class:`DamagedRunError` if a file that determines numbers is damaged."""
        _ = self.settings, self.vocabulary, self.subwords, self.weights_sha256

    def knows(self, word: str) -> bool:
        """Whether a word is in the vocabulary; subword pieces cover any word."""
        return self.vocabulary.subword_hash is not None or self.vocabulary.knows(word)

    @functools.cached_property
    def unigram_log_prob(self) -> Callable[[str], float] | None:
        """Log probability (nats) of a single word: its training frequency, with add-one smoothing.

        None if the units are subword pieces.
        """
        if self.vocabulary.subword_hash is not None:
            return None
        counts = dict(zip(self.vocabulary.tokens, self.vocabulary.counts, strict=True))
        total = sum(counts.values()) + len(counts)
        return lambda word: math.log((counts.get(word, 0) + 1) / total)

    @property
    def metrics(self) -> dict[str, Any]:
        """Loss and perplexity of a finished run, by split."""
        return self.folder.result()

    @property
    def strategy(self) -> Strategy:
        """The order in which a syntactic model generates trees."""
        family = self.family
        assert isinstance(family, SyntacticFamily)
        return family.strategy(self.settings.model)

    def network(self) -> Any:
        """The trained network, in evaluation mode, on the CPU; the tables of an n-gram model."""
        from gardenpath.models.registry import load_model

        found = load_model(self.folder, self.settings.model, self.vocabulary)
        # An unfinished run may be resumed meanwhile; numbers are stored under the hash.
        if self.mark and self.folder.verified_sha256(WEIGHTS_FILE) != self.weights_sha256:
            raise DamagedRunError(
                f"{self.folder.weights_path}: has changed during the evaluation; wait until the "
                "training ends, and evaluate again"
            )
        return found

    @functools.cached_property
    def device(self) -> torch.device:
        """Device of the model."""
        import torch

        name = self._device
        if name == "auto":
            name = "cuda" if torch.cuda.is_available() else "cpu"
        return torch.device(name)

    @functools.cached_property
    def model_key(self) -> str:
        """A hash of everything that determines a log probability: model, words and search."""
        model = self.settings.model
        return fingerprint(
            "log_probs",
            MODEL_KEY_VERSION,
            weights=self.weights_sha256,
            vocabulary=self.vocabulary.content_hash,
            subwords=self.subwords.content_hash if self.subwords else None,
            family=model.family,
            network=self._network_key(),
            search=self._search_key(),
            **self._boundary_key(),
            **self._code_key(),
        )

    def _network_key(self) -> dict[str, Any]:
        """Return the settings of the network.

        The usual output layer is left out, so that numbers stored before there was another remain
        valid.
        """
        found: dict[str, Any] = plain(self.settings.model.network)
        return {name: value for name, value in found.items() if (name, value) != _USUAL_OUTPUT}

    def _boundary_key(self) -> dict[str, Any]:
        """Return how pieces make words; models of words need no such entry."""
        if self.boundary is None:
            return {}
        return {"boundary": self.boundary, "pieces": PIECES_VERSION}

    def _code_key(self) -> dict[str, Any]:
        """Return the versions of the code that computes log probabilities.

        Those that are still 1 are left out, so that numbers stored before the code had versions
        remain valid. ``tests/runs/test_scoring_code.py`` fails if a version should be raised.
        """
        versions = {"words": WORDS_VERSION, "family": self.family.scores_version}
        raised = {name: number for name, number in versions.items() if number != 1}
        return {"code": raised} if raised else {}

    def _search_key(self) -> dict[str, Any] | None:
        """Return the settings that affect results; None for sequential models (no search)."""
        if not self.is_syntactic:
            return None
        return {"version": SEARCH_VERSION, **self.search.result_settings()}

    @property
    def weight_bytes(self) -> int:
        """The size of the file of weights, or of the tables of an n-gram model."""
        return self.folder.weights_path.stat().st_size

    @property
    def chunk_words(self) -> int | None:
        """Number of words scored together, which takes at most about a minute; None: any."""
        if not isinstance(self.family, NeuralFamily):
            return None
        return words_per_chunk(
            self.weight_bytes,
            hypotheses=self.search.width if self.is_syntactic else 1,
            is_gpu=self.device.type != "cpu",
        )

    def scorer(
        self, *, search: SearchSettings | None = None, on_words: OnWords = lambda _: None
    ) -> SequentialScorer | StructuredScorer | AdoptedModel:
        """Return a scorer of words with this model, without the store."""
        from gardenpath.runs.scorers import make_scorer

        return make_scorer(self, search or self.search, on_words=on_words)

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return the log probability (nats) of each word and, last, of the end of each sentence."""
        words = [tuple(one) for one in sentences]
        scored = self.scored(words)
        return [np.array(scored[one].log_probs) for one in words]

    @property
    def chunk(self) -> int:
        """Number of sentences scored together, unless another number is given."""
        is_searched = self.is_syntactic and self.device.type == "cpu"
        return _SEARCHED_TOGETHER if is_searched else _SCORED_TOGETHER

    @property
    def device_name(self) -> str:
        """The device as it was given: ``auto``, ``cpu``, ``cuda:1``."""
        return self._device

    def scored(
        self,
        sentences: Iterable[Words],
        *,
        parsed: Iterable[Words] = (),
        on_words: OnWords = lambda _: None,
        chunk: int | None = None,
        processes: ProcessCount | None = None,
        matters: Matters | None = None,
    ) -> dict[Words, Stored]:
        """Return the log probabilities of sentences, using the store.

        For ``parsed`` sentences, syntactic models also return the best partial parses at each word.
        ``chunk`` is the number of sentences scored together (None: by model). ``processes``
        replaces that of the run. ``matters`` are the positions of sentences (0 is the first word,
        the number of words the end) whose standard errors must reach ``search.tolerance``; None,
        or a sentence without an entry: all positions.
        """
        from gardenpath.runs.processes import ScoringJob, spread_jobs
        from gardenpath.runs.scorers import Computing

        asked = list(sentences)
        wanted = set(parsed) if self.is_syntactic else set()
        job = ScoringJob(self, asked, parsed=wanted, chunk=chunk, matters=matters)
        spread_jobs([job], processes)
        return score_through(
            self.store, self.model_key, asked, Computing(self, wanted, on_words, matters),
            chunk=chunk or self.chunk, chunk_words=self.chunk_words, needs=job.needs,
            progress=first_call_of(on_words) if self.reports_progress else on_words,
        )  # fmt: skip

    def entry_needs(self, parsed: Collection[Words], matters: Matters | None) -> EntryNeeds:
        """Return what stored scores must have so that they are not computed again."""
        if not self.is_syntactic:
            return ANY_ENTRY
        return EntryNeeds(
            parses=parsed,
            columns=True,
            # Searches without replicates have neither.
            tolerance_bits=getattr(self.search, "tolerance", None),
            max_replicates=getattr(self.search, "max_replicates", None),
            matters=matters,
        )

    def surprisal(
        self,
        text: Given,
        *,
        end: bool = True,
        allow_unknown: bool = False,
        columns: TableColumns = "all",
        tokenised: bool = False,
    ) -> pd.DataFrame:
        """Return surprisal in bits: one row per word, with sentences numbered from 1.

        ``text`` is a sentence (a string or a tree) or a list of sentences (strings, lists of words
        or trees); it is cleaned like the model's corpus. Strings are divided into words as the
        corpus is, or at blanks only if they are ``tokenised``. With ``end``, each sentence has a
        row ``</s>``. ``seen`` is False for out-of-vocabulary words. Syntactic models have further
        columns, on what the search found (docs/surprisal.md), unless ``columns="surprisal"``.
        ``.attrs`` describes the model, the search, the unit, the share of unknown words and the
        software versions. Text of which most words are unknown is refused, unless
        ``allow_unknown`` is set.
        """
        from gardenpath.runs.text import surprisal_frame

        known = self._known(text, allow_unknown, tokenised=tokenised)
        return surprisal_frame(self, known, end=end, columns=columns)

    def _known(
        self, text: Given, allow_unknown: bool, *, tokenised: bool = False
    ) -> list[Sentence]:
        """Return the sentences of a text of which the model knows enough words."""
        from gardenpath.runs.text import require_known, style_of, unknown_words

        style = None if tokenised else style_of(self)
        sentences = sentences_of_given(text, self.settings.data.cleaning, style)
        unknown = unknown_words(self, [one.words for one in sentences])
        require_known([unknown], allow_unknown=allow_unknown)
        return sentences

    def parse(self, text: Given, k: int = 1, *, allow_unknown: bool = False) -> list[Any]:
        """Return the ``k`` best trees of a sentence with their shares of the total probability.

        For a list of sentences, return a list of such lists. Text of which most words are unknown
        is refused, unless ``allow_unknown`` is set.
        """
        from gardenpath.runs.parsing import parsed

        sentences = self._known(text, allow_unknown)
        found = [one.trees for one in parsed(self, [one.words for one in sentences], k=k)]
        return found[0] if is_single(text) else found

    def perplexity(
        self,
        split: Split = "test",
        *,
        marginal_sentences: int | None = None,
        data: DataSettings | None = None,
        allow_unknown: bool = False,
    ) -> pd.DataFrame:
        """Return the perplexity on a split of the model's own corpus, or of another (``data``).

        A syntactic model has two rows: joint with the gold trees, and marginal over the trees found
        by search on the first ``marginal_sentences`` (None: all sentences; 0: no such row). Another
        corpus of which most words are unknown is refused, unless ``allow_unknown`` is set.
        """
        from gardenpath.runs.perplexity import perplexities_of_runs

        return perplexities_of_runs(
            [self],
            split=split,
            marginal_sentences=marginal_sentences,
            corpora=[] if data is None else [data],
            allow_unknown=allow_unknown,
        )
