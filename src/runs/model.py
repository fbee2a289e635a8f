"""What a run scores words with: a model that was trained here, or one that others trained.

:class:`Model` is all that runs ask of either; :class:`gardenpath.runs.run.Run` opens the one that a
folder has, and adds what belongs to both: a device, a search, and the store of scores. Families
(:mod:`gardenpath.models.family`) build networks and open adopted models; nothing here trains.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gardenpath.data.sentence import OnWords
from gardenpath.data.words.pieces import Boundary, BoundaryChoice
from gardenpath.data.words.vocabulary import WORDS_VERSION
from gardenpath.errors import DamagedRunError, RunError
from gardenpath.eval.search.settings import SEARCH_VERSION, SearchSettings
from gardenpath.models.family import (
    FAMILIES,
    AdoptedFamily,
    AdoptedSettings,
    Family,
    Measure,
    NeuralFamily,
    OpenedModel,
    SyntacticFamily,
    load_model,
    load_subwords,
    load_vocabulary,
)
from gardenpath.settings.schema import plain
from gardenpath.settings.train import AdoptedRunSettings, TrainSettings
from gardenpath.store.files import fingerprint
from gardenpath.store.run_folder import SUBWORDS_FILE, WEIGHTS_FILE, RunFolder
from gardenpath.store.surprisals import words_per_chunk
from gardenpath.util import Words

if TYPE_CHECKING:
    import torch

    from gardenpath.data.trees.legality import Strategy
    from gardenpath.data.words.pieces import Subwords
    from gardenpath.data.words.vocabulary import Vocabulary
    from gardenpath.runs.computing import LoadedScorer

MODEL_KEY_VERSION = 1

# The output layer of models from before there was another.
_USUAL_OUTPUT = ("output", "full")

# Raise it whenever models over pieces give other log probabilities than before.
PIECES_VERSION = 2


@dataclass(frozen=True)
class Units:
    """What a model reads: words of a vocabulary, their pieces, or text as it is.

    ``content_hash`` identifies the units: no other model has the same. ``size`` is their number,
    None if it is not known. With ``has_unknown``, words outside the vocabulary are predicted as
    classes. ``count`` returns how many units the model sees for a sentence.
    """

    content_hash: str
    size: int | None
    has_unknown: bool
    reads_text: bool
    count: Callable[[Words], int]


class Model(Protocol):
    """A model of a run folder. Files are read and verified when a member first needs them."""

    @property
    def language(self) -> str | None:
        """The language of the suites that fit; None if all do."""

    @property
    def measure(self) -> Measure:
        """What the numbers are: surprisal, or a pseudo-log-likelihood."""

    @property
    def units(self) -> Units:
        """What the model reads."""

    @property
    def boundary(self) -> Boundary | None:
        """How pieces make words; None if the units are words."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of the results must know about how words were scored."""

    @property
    def is_order_dependent(self) -> bool:
        """Whether the score of a sentence depends on those before it; then none is stored."""

    @property
    def unigram_log_prob(self) -> Callable[[str], float] | None:
        """Log probability (nats) of a single word in the training corpus; None if not known."""

    def key(self, search: SearchSettings) -> str:
        """Return a hash of everything that determines a log probability."""

    def verify(self) -> None:
        """Raise an error if a file that determines numbers is damaged or has changed."""

    def knows(self, word: str) -> bool:
        """Whether the model sees the word itself, not a symbol for unknown words."""

    def seen_as(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return what the model sees for each word: the word, its class, or its pieces."""

    def chunk_words(self, search: SearchSettings, *, is_gpu: bool) -> int | None:
        """Return how many words are scored together in about a minute at most; None: any."""

    def scorer(
        self, search: SearchSettings, device: torch.device, on_words: OnWords
    ) -> LoadedScorer:
        """Return a scorer of words, with the weights loaded or to be loaded when needed."""


class TrainedModel:
    """A model that was trained here: vocabulary, pieces if any, and weights; see :class:`Model`."""

    measure: Measure = "surprisal"
    notes: tuple[str, ...] = ()
    is_order_dependent = False

    def __init__(
        self, folder: RunFolder, settings: TrainSettings, boundary: BoundaryChoice
    ) -> None:
        self.folder = folder
        self.settings = settings
        self._boundary_choice: BoundaryChoice = boundary
        self._was_finished = folder.is_finished

    @property
    def family(self) -> Family:
        """The model family."""
        return FAMILIES[self.settings.model.family]

    @property
    def is_syntactic(self) -> bool:
        """Whether the model generates trees, and scores words by search."""
        return isinstance(self.family, SyntacticFamily)

    @property
    def language(self) -> str | None:
        """The language of the corpus."""
        return self.settings.data.language

    @functools.cached_property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the model."""
        return load_vocabulary(self.folder)

    @functools.cached_property
    def subwords(self) -> Subwords | None:
        """The subword segmentation, if the units are pieces."""
        subwords, expected = load_subwords(self.folder), self.vocabulary.subword_hash
        if (None if subwords is None else subwords.content_hash) != expected:
            raise DamagedRunError(
                f"{self.folder / SUBWORDS_FILE}: is missing or damaged: it is not the segmentation "
                "of vocabulary.json next to it; copy the run folder again, or train again"
            )
        return subwords

    @functools.cached_property
    def weights_sha256(self) -> str:
        """The SHA-256 of the file of weights; it must be that of the manifest, if available."""
        return self.folder.verified_sha256(WEIGHTS_FILE)

    @property
    def weight_bytes(self) -> int:
        """The size of the file of weights, or of the tables of an n-gram model."""
        return (self.folder / WEIGHTS_FILE).stat().st_size

    @functools.cached_property
    def units(self) -> Units:
        """The words of the vocabulary, or pieces."""
        vocabulary = self.vocabulary
        return Units(
            content_hash=vocabulary.content_hash,
            size=len(vocabulary),
            has_unknown=vocabulary.subword_hash is None,
            reads_text=False,
            count=lambda words: (
                len(words)
                if self.subwords is None
                else sum(len(self.subwords.split(word)) for word in words)
            ),
        )

    @functools.cached_property
    def boundary(self) -> Boundary | None:
        if self.vocabulary.subword_hash is None:
            return None
        if self._boundary_choice == "leading" and self.is_syntactic:
            raise RunError(
                f"{self.folder.path}: boundary=leading is not defined for syntactic models; use "
                "boundary=next"
            )
        return "next" if self._boundary_choice == "auto" else self._boundary_choice

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
    def strategy(self) -> Strategy:
        """The order in which a syntactic model generates trees."""
        family = self.family
        assert isinstance(family, SyntacticFamily)
        return family.strategy(self.settings.model)

    def key(self, search: SearchSettings) -> str:
        """Return a hash of everything that determines a log probability: model, words, search.

        What is as it always was is left out, so that numbers stored before there was a choice
        remain valid: the usual output layer, and versions of the code that are still 1.
        ``tests/runs/test_scoring_code.py`` fails if a version should be raised.
        """
        model = self.settings.model
        network: dict[str, Any] = plain(model.network)
        versions = {"words": WORDS_VERSION, "family": self.family.scores_version}
        raised = {name: number for name, number in versions.items() if number != 1}
        searched = {"version": SEARCH_VERSION, **search.result_settings()}
        pieces = {"boundary": self.boundary, "pieces": PIECES_VERSION}
        return fingerprint(
            "log_probs",
            MODEL_KEY_VERSION,
            weights=self.weights_sha256,
            vocabulary=self.vocabulary.content_hash,
            subwords=self.subwords.content_hash if self.subwords else None,
            family=model.family,
            network=dict(item for item in network.items() if item != _USUAL_OUTPUT),
            search=searched if self.is_syntactic else None,
            **({} if self.boundary is None else pieces),
            **({"code": raised} if raised else {}),
        )

    def verify(self) -> None:
        _ = self.vocabulary, self.subwords, self.weights_sha256

    def knows(self, word: str) -> bool:
        """Whether a word is in the vocabulary; subword pieces cover any word."""
        return self.vocabulary.subword_hash is not None or self.vocabulary.knows(word)

    def seen_as(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the word, its class, or its pieces."""
        from gardenpath.eval.surprisal.tables import seen_as

        return seen_as(words, self.vocabulary, self.subwords)

    def chunk_words(self, search: SearchSettings, *, is_gpu: bool) -> int | None:
        """Return the number of words that are scored together; n-gram models take any."""
        if not isinstance(self.family, NeuralFamily):
            return None
        hypotheses = search.width if self.is_syntactic else 1
        return words_per_chunk(self.weight_bytes, hypotheses=hypotheses, is_gpu=is_gpu)

    def network(self) -> Any:
        """The trained network, in evaluation mode, on the CPU; the tables of an n-gram model."""
        network = load_model(self.folder, self.settings.model, self.vocabulary)
        # An unfinished run may be resumed meanwhile; numbers are stored under the hash.
        is_same = self.folder.verified_sha256(WEIGHTS_FILE) == self.weights_sha256
        if not (self._was_finished or is_same):
            raise DamagedRunError(
                f"{self.folder / WEIGHTS_FILE}: has changed during the evaluation; wait until the "
                "training ends, and evaluate again"
            )
        return network

    def scorer(
        self, search: SearchSettings, device: torch.device, on_words: OnWords
    ) -> LoadedScorer:
        from gardenpath.runs.computing import make_scorer

        return make_scorer(self, search, device, on_words=on_words)


class AdoptedModel:
    """A model that others trained, opened by its :class:`AdoptedFamily`; see :class:`Model`."""

    def __init__(
        self, folder: RunFolder, settings: AdoptedRunSettings, boundary: BoundaryChoice
    ) -> None:
        self.folder = folder
        self.settings = settings
        self._boundary_choice: BoundaryChoice = boundary

    @property
    def family(self) -> AdoptedFamily:
        """The model family."""
        family = FAMILIES[self.settings.model.family]
        assert isinstance(family, AdoptedFamily)
        return family

    @property
    def _model(self) -> AdoptedSettings:
        return self.settings.model

    @property
    def language(self) -> str | None:
        """The language that was stated when the model was adopted."""
        return None if self._model.language == "any" else self._model.language

    @property
    def measure(self) -> Measure:
        return self.family.measure

    @functools.cached_property
    def identity(self) -> str:
        """A hash of the files that determine the numbers, which are verified."""
        self.folder.verify()
        return self.family.identity(self._model, self.folder.path)

    @functools.cached_property
    def units(self) -> Units:
        """The units of the model, which are its own."""
        reads_text = self.family.reads_text
        return Units(
            content_hash=self.identity,
            size=None,
            has_unknown=not reads_text,  # models that read text have pieces for all words
            reads_text=reads_text,
            count=lambda words: sum(len(seen.split(" ")) for seen in self.seen_as(words)),
        )

    @functools.cached_property
    def boundary(self) -> Boundary | None:
        return self.family.boundary(self._model, self._boundary_choice)

    @functools.cached_property
    def notes(self) -> tuple[str, ...]:
        return self.family.notes(self._model, self.folder.path)

    @property
    def is_order_dependent(self) -> bool:
        return self.family.is_order_dependent(self._model)

    @property
    def unigram_log_prob(self) -> Callable[[str], float] | None:
        """Frequencies in the training corpus are not known."""
        return None

    def key(self, search: SearchSettings) -> str:
        return fingerprint(
            "log_probs",
            MODEL_KEY_VERSION,
            adopted=self.identity,
            family=self._model.family,
            network=plain(self._model.network),
            boundary=self.boundary,
            code=self.family.scores_version,
        )

    def verify(self) -> None:
        _ = self.identity

    @functools.cached_property
    def _opened(self) -> OpenedModel:
        """The model for looking up words; its weights are not loaded."""
        return self._open("cpu", lambda _: None)

    def _open(self, device: str, on_words: OnWords) -> OpenedModel:
        return self.family.open(
            self._model, self.folder.path, device=device, boundary=self.boundary, on_words=on_words
        )

    def knows(self, word: str) -> bool:
        return self._opened.knows(word)

    def seen_as(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._opened.seen_as(words))

    @property
    def weight_bytes(self) -> int:
        """The size of the files of weights; 0 if the kind of model has none."""
        return self.family.weight_bytes(self._model, self.folder.path)

    def chunk_words(self, search: SearchSettings, *, is_gpu: bool) -> int | None:
        """Return the number of words that are scored together; models without weights take any."""
        if not self.weight_bytes:
            return None
        return words_per_chunk(self.weight_bytes, hypotheses=1, is_gpu=is_gpu)

    def scorer(
        self, search: SearchSettings, device: torch.device, on_words: OnWords
    ) -> LoadedScorer:
        return self._open(str(device), on_words)
