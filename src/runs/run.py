"""A run: the folder of a model, with a device, a search and a store, and what it computes.

Users get one from ``gp.load``; evaluation, tasks and the playground score with it. It looks scores
up in the store, or lets its model (:mod:`gardenpath.runs.model`) compute them, in one process or
several. It never changes its folder.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.readers.base import TableColumns
from gardenpath.data.sentence import OnWords, Sentence, Split
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.words.pieces import Boundary, BoundaryChoice
from gardenpath.errors import ConfigError, DamagedRunError, GardenpathError, RunError
from gardenpath.eval.search.settings import SearchSettings, WordSync
from gardenpath.eval.suites.summary import RunName
from gardenpath.models.family import ADOPTED, Measure, SyntacticFamily
from gardenpath.runs.model import AdoptedModel, TrainedModel
from gardenpath.runs.text import (
    Given,
    is_single,
    require_known,
    sentences_of_given,
    style_of,
    surprisal_frame,
    unknown_words,
)
from gardenpath.settings.compose import typed
from gardenpath.settings.schema import ProcessCount, read
from gardenpath.settings.train import AdoptedRunSettings, TrainSettings
from gardenpath.store.run_folder import CONFIG_FILE, HARMLESS, RunFolder, RunStatus, best_epoch
from gardenpath.store.surprisals import (
    ANY_ENTRY,
    EntryNeeds,
    Matters,
    Stored,
    SurprisalStore,
    first_call_of,
    score_through,
)
from gardenpath.util import Words, plural

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from gardenpath.data.corpus import DataSettings
    from gardenpath.data.words.vocabulary import Vocabulary
    from gardenpath.runs.computing import LoadedScorer

# Most sentences scored together; an interrupted job loses at most one chunk, and processes share a
# job by chunks. On a CPU, a search of more sentences at once is not faster.
_SEARCHED_TOGETHER = 64
_SCORED_TOGETHER = 256


class Run:
    """The run folder of a trained model, with a device and search settings.

    ``search`` is used by syntactic models only, ``boundary`` by models over pieces of words
    (:mod:`gardenpath.data.words.pieces`). With a ``store``, log probabilities are looked up there
    first and stored there, so that no sentence is scored twice. ``processes`` is the number of
    processes, of one thread each, that compute missing scores; None computes them in this process
    with all its threads, ``auto`` starts processes for long searches on a CPU. ``device_name`` is
    the device as it was given: ``auto``, ``cpu``, ``cuda:1``.
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
        self.device_name = device
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
    def settings(self) -> TrainSettings | AdoptedRunSettings:
        """What determined the model: how it was trained, or what was said when it was adopted."""
        config = self.folder.config()
        config.pop("format")
        family = config["model"].get("family") if isinstance(config.get("model"), dict) else None
        try:
            if family in ADOPTED:
                return read(AdoptedRunSettings, config, is_for_here=False)
            trained: TrainSettings = typed("train", config, is_for_here=False)
            return trained
        except ConfigError as error:
            listed = "; ".join(error.mistakes)
            remedy = "adopt it" if family in ADOPTED else "train"
            raise DamagedRunError(
                f"{self.folder / CONFIG_FILE}: {listed}; {remedy} again, or use the version of "
                "Gardenpath in versions.txt"
            ) from error

    @functools.cached_property
    def model(self) -> TrainedModel | AdoptedModel:
        """The model that scores words (:class:`gardenpath.runs.model.Model`)."""
        settings = self.settings
        if isinstance(settings, AdoptedRunSettings):
            return AdoptedModel(self.folder, settings, self.boundary_choice)
        return TrainedModel(self.folder, settings, self.boundary_choice)

    @property
    def trained(self) -> TrainedModel:
        """The model, with its vocabulary and network; raises an error if others trained it."""
        if isinstance(self.model, AdoptedModel):
            raise RunError(
                f"{self.path}: this model was adopted (model={self.settings.model.family}) and has "
                "no Gardenpath vocabulary or network; name a run that was trained here"
            )
        return self.model

    @property
    def is_adopted(self) -> bool:
        """Whether others trained the model."""
        return isinstance(self.model, AdoptedModel)

    @property
    def data(self) -> DataSettings:
        """The corpus on which the model was trained; raises an error if it is not here."""
        if isinstance(self.settings, AdoptedRunSettings):
            raise RunError(
                f"{self.path}: the corpus of an adopted model is not here; name a corpus, as in "
                "data=ptb_sample"
            )
        return self.settings.data

    @property
    def cleaning(self) -> Cleaning:
        """How the words of the corpus were cleaned."""
        is_adopted = isinstance(self.settings, AdoptedRunSettings)
        return Cleaning() if is_adopted else self.data.cleaning

    @property
    def corpus(self) -> str:
        """The name of the corpus."""
        settings = self.settings
        return settings.corpus if isinstance(settings, AdoptedRunSettings) else settings.data.name

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
            corpus=self.corpus,
            seed=settings.seed,
        )

    @property
    def language(self) -> str | None:
        """The language of the corpus; None if the model can be tested in any language."""
        return self.model.language

    @property
    def measure(self) -> Measure:
        """What the numbers are: surprisal, or a pseudo-log-likelihood."""
        return self.model.measure

    @property
    def boundary(self) -> Boundary | None:
        """How pieces make words; None if the units are words."""
        return self.model.boundary

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of the results must know about how words were scored."""
        return self.model.notes

    @property
    def is_syntactic(self) -> bool:
        """Whether the model is syntactic: it generates trees and scores words by search."""
        return isinstance(self.model.family, SyntacticFamily)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of a model that was trained here."""
        return self.trained.vocabulary

    @property
    def reports_progress(self) -> bool:
        """Whether the scorer reports its progress itself, as searches and adopted models do."""
        return self.is_syntactic or self.is_adopted

    def verify(self) -> None:
        """Raise a :class:`DamagedRunError` if a file that determines numbers is damaged."""
        self.model.verify()

    def knows(self, word: str) -> bool:
        """Whether the model sees the word itself, not a symbol for unknown words."""
        return self.model.knows(word)

    @property
    def metrics(self) -> dict[str, Any]:
        """Loss and perplexity of a finished run, by split."""
        return self.folder.result()

    @functools.cached_property
    def device(self) -> torch.device:
        """Device of the model."""
        import torch

        if self.device_name != "auto":
            return torch.device(self.device_name)
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    @property
    def model_key(self) -> str:
        """A hash of everything that determines a log probability: model, words and search."""
        return self.model.key(self.search)

    @property
    def chunk_words(self) -> int | None:
        """Number of words scored together, which takes at most about a minute; None: any."""
        return self.model.chunk_words(self.search, is_gpu=self.device.type != "cpu")

    def scorer(
        self, *, search: SearchSettings | None = None, on_words: OnWords = lambda _: None
    ) -> LoadedScorer:
        """Return a scorer of words with this model, without the store."""
        return self.model.scorer(search or self.search, self.device, on_words)

    def prefix_log_probs(self, text: str, boundaries: Sequence[int]) -> Any:
        """Return the log probability (nats) that a text begins with ``text[:b]``, for each b.

        ``log_probs`` has a value for each boundary; words, regions and single characters are
        differences of them. ``end`` is that of the whole text and its end. Equal prefixes have
        equal probabilities, whatever follows. Only models that read text have this interface.
        """
        scorer: Any = self._scorer if self.is_adopted else None
        if not hasattr(scorer, "prefix_log_probs"):
            raise RunError(
                f"{self.path}: this model (model={self.settings.model.family}) scores words only; "
                "prefix_log_probs needs a causal model of Hugging Face (model=hf)"
            )
        return scorer.prefix_log_probs(text, boundaries)

    @functools.cached_property
    def _scorer(self) -> Any:
        return self.scorer()

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return the log probability (nats) of each word and, last, of the end of each sentence."""
        wanted = [tuple(words) for words in sentences]
        scored = self.scored(wanted)
        return [np.array(scored[words].log_probs) for words in wanted]

    @property
    def chunk(self) -> int:
        """Number of sentences scored together, unless another number is given."""
        is_searched = self.is_syntactic and self.device.type == "cpu"
        return _SEARCHED_TOGETHER if is_searched else _SCORED_TOGETHER

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
        from gardenpath.runs.computing import Computing
        from gardenpath.runs.processes import ScoringJob, spread_jobs

        listed = list(sentences)
        if self.model.is_order_dependent:
            return self._scored_in_order(listed, on_words)
        wanted = set(parsed) if self.is_syntactic else set()
        job = ScoringJob(self, listed, parsed=wanted, chunk=chunk, matters=matters)
        spread_jobs([job], processes)
        return score_through(
            self.store, self.model_key, listed, Computing(self, wanted, on_words, matters),
            chunk=chunk or self.chunk, chunk_words=self.chunk_words, needs=job.needs,
            progress=first_call_of(on_words) if self.reports_progress else on_words,
        )  # fmt: skip

    def _scored_in_order(self, sentences: list[Words], on_words: OnWords) -> dict[Words, Stored]:
        """Score all sentences in their order; none is stored, since scores depend on the order."""
        if len(set(sentences)) < len(sentences):
            raise RunError(
                f"{self.path}: scores depend on the sentences before (state=carry), but a sentence "
                "occurs twice and has two scores; adopt the model with another state"
            )
        scores = self.scorer(on_words=on_words).word_log_probs(sentences)
        return {
            words: Stored(log_probs.tolist())
            for words, log_probs in zip(sentences, scores, strict=True)
        }

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
        known = self._known(text, allow_unknown, tokenised=tokenised)
        return surprisal_frame(self, known, end=end, columns=columns)

    def _known(
        self, text: Given, allow_unknown: bool, *, tokenised: bool = False
    ) -> list[Sentence]:
        """Return the sentences of a text of which the model knows enough words."""
        style = None if tokenised else style_of(self)
        sentences = sentences_of_given(text, self.cleaning, style)
        unknown = unknown_words(self, [sentence.words for sentence in sentences])
        require_known([unknown], allow_unknown=allow_unknown)
        return sentences

    def parse(self, text: Given, k: int = 1, *, allow_unknown: bool = False) -> list[Any]:
        """Return the ``k`` best trees of a sentence with their shares of the total probability.

        For a list of sentences, return a list of such lists. Text of which most words are unknown
        is refused, unless ``allow_unknown`` is set.
        """
        from gardenpath.runs.computing import parsed

        sentences = self._known(text, allow_unknown)
        parses = parsed(self, [sentence.words for sentence in sentences], k=k)
        trees = [parse.trees for parse in parses]
        return trees[0] if is_single(text) else trees

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
            data=data,
            allow_unknown=allow_unknown,
        )


# ----------------------------------------------------------------------------
# Evaluate several runs, and go on without those that turn out to be damaged.


_Result = TypeVar("_Result")


def each_whole(
    runs: Iterable[Run], act: Callable[[Run], _Result], skipped: list[RunStatus]
) -> list[tuple[Run, _Result]]:
    """Return the result of ``act`` for each run; damaged runs are added to ``skipped``.

    If all runs are damaged, or the only one, the first error is raised.
    """
    results: list[tuple[Run, _Result]] = []
    errors: list[DamagedRunError] = []
    for run in runs:
        try:
            results.append((run, act(run)))
        except DamagedRunError as error:
            errors.append(error)
            skipped.append(RunStatus(folder=run.folder, state="damaged", reason=str(error)))
    if errors and not results:
        raise errors[0]
    return results


def whole_runs(runs: Iterable[Run], skipped: list[RunStatus]) -> list[Run]:
    """Return the runs whose files have their checksums; the others are added to ``skipped``."""
    return [run for run, _ in each_whole(runs, lambda member: member.verify(), skipped)]


def skipped_runs(runs: Iterable[object]) -> list[RunStatus]:
    """Return the runs that were left out when a list of runs was made."""
    return list(getattr(runs, "skipped", ()))


def skip_notes(skipped: Sequence[RunStatus]) -> tuple[str, ...]:
    """Return a note for each skipped run."""
    return tuple(f"skipped ({status.state}): {status.reason}" for status in skipped)


def skip_facts(skipped: Sequence[RunStatus]) -> dict[str, dict[str, str]]:
    """Return what a manifest says of skipped runs; nothing if there are none."""
    facts = {str(status.folder.path): f"{status.state}: {status.reason}" for status in skipped}
    return {"skipped": facts} if facts else {}


def skip_counts(skipped: Sequence[RunStatus]) -> str:
    """Return a text such as ``3 run folders skipped: 1 damaged, 2 unfinished``."""
    counts = Counter(status.state for status in skipped)
    listed = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    return f"{plural(len(skipped), 'run folder')} skipped: {listed}"


def damaged_among(skipped: Iterable[RunStatus]) -> list[RunStatus]:
    """Return the skipped runs that should have been evaluated."""
    return [status for status in skipped if status.state not in HARMLESS]


# ----------------------------------------------------------------------------
# How the words of several runs were scored: boundaries of pieces, pseudo-log-likelihoods.
#
# Numbers of different choices of ``boundary`` are not comparable and are never mixed. Pseudo-log-
# likelihoods of masked models are no surprisals, and no column with that name contains them.


@dataclass(frozen=True, slots=True)
class HowScored:
    """How the words of a run were scored; ``boundary`` is None if its units are words."""

    boundary: Boundary | None = None
    measure: Measure = "surprisal"


def how_scored(runs: Iterable[Run]) -> dict[str, HowScored]:
    """Return, by the names of runs, how they score words; different boundaries are refused."""
    how = {run.name.run: HowScored(run.boundary, run.measure) for run in runs}
    by_choice = {
        scoring.boundary: name for name, scoring in how.items() if scoring.boundary is not None
    }
    if len(by_choice) > 1:
        listed = ", ".join(f"{name} has boundary={choice}" for choice, name in by_choice.items())
        raise GardenpathError(
            f"words of several pieces were scored in different ways, which cannot be compared: "
            f"{listed}; set boundary= for all, or evaluate these runs apart"
        )
    return how


def require_one_measure(runs: Sequence[Run]) -> None:
    """Refuse runs whose numbers cannot stand in one column, or in one table."""
    how_scored(runs)
    by_measure = {run.measure: run.name.run for run in runs}
    if len(by_measure) > 1:
        raise GardenpathError(
            f"{by_measure['pll']} gives pseudo-log-likelihoods and {by_measure['surprisal']} "
            "surprisals, which cannot stand in one table; name them in different commands (run=)"
        )


def scoring_notes(runs: Sequence[Run]) -> tuple[str, ...]:
    """Say how words were scored where it is not obvious."""
    notes = [note for run in runs for note in run.notes]
    masked = [run.name.model for run in runs if run.measure == "pll"]
    if masked:
        names = ", ".join(dict.fromkeys(masked))
        notes.append(f"{names}: pseudo-log-likelihoods of masked words, no surprisals")
    pieces = {run.name.model: run.boundary for run in runs if run.boundary is not None}
    if pieces:
        choice = next(iter(pieces.values()))
        notes.append(f"words of several pieces: boundary={choice} ({', '.join(pieces)})")
    return tuple(dict.fromkeys(notes))
