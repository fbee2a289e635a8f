"""Model families: their interface, their names, and the models of run folders, loaded and verified.

Runs, training and settings look families up in :data:`FAMILIES`. Settings are read without torch,
so families are imported when they are asked for, and modules that need torch inside the methods.
Only what :mod:`gardenpath.registry` lists is ever built, so that a run folder from an untrusted
source cannot run code.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

from gardenpath.data.corpus import BatchSettings
from gardenpath.data.words.pieces import Boundary, BoundaryChoice, Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import DamagedRunError, InputError
from gardenpath.models.training.settings import OptimiserSettings
from gardenpath.registry import ADOPTED_FAMILIES, TRAINED_FAMILIES, Registered
from gardenpath.store.run_folder import SUBWORDS_FILE, VOCABULARY_FILE, WEIGHTS_FILE, RunFolder

if TYPE_CHECKING:
    from pathlib import Path

    from torch import nn

    from gardenpath.data.arrays import Floats
    from gardenpath.data.batches.tokens import Collate
    from gardenpath.data.encoding import EncodedSplit
    from gardenpath.data.trees.legality import Strategy


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """Settings common to all models."""

    name: str
    """Name of the model in folders and tables."""
    family: str
    """Model family."""
    network: Any
    """Settings of the network, or of the estimator."""


@dataclass(frozen=True, kw_only=True)
class NeuralSettings(ModelSettings):
    """Settings common to all neural models."""

    optimiser: OptimiserSettings = OptimiserSettings()
    """Optimiser and learning-rate schedule."""
    batches: BatchSettings = BatchSettings()
    """Batch sizes for training and validation."""


# The layer that predicts words: a softmax over all of them, or over classes and their words.
OutputKind = Literal["full", "factored"]


class Family(abc.ABC):
    """A kind of model; ``settings`` is its settings class (``model=``).

    ``scores_version`` is part of the key of stored log probabilities: raise it whenever the same
    weights give other log probabilities.
    """

    settings: ClassVar[type[ModelSettings]]
    scores_version: ClassVar[int] = 1
    needs_trees: ClassVar[bool] = False


class TrainedFamily(Family):
    """Models that are trained here."""

    @abc.abstractmethod
    def load(self, settings: Any, vocabulary: Vocabulary, path: Path) -> Any:
        """Return the model whose weights are in a file."""


class NeuralFamily(TrainedFamily):
    """Neural networks that read sentences from left to right and are trained in epochs."""

    @abc.abstractmethod
    def build(self, settings: Any, vocabulary: Vocabulary) -> nn.Module:
        """Return a network with initial weights."""

    def load(self, settings: Any, vocabulary: Vocabulary, path: Path) -> nn.Module:
        from gardenpath.models.weights import load_weights

        network = self.build(settings, vocabulary)
        load_weights(network, path)
        return network.eval()

    def make_collate(
        self, settings: Any, split: EncodedSplit, vocabulary: Vocabulary
    ) -> Collate[Any]:
        """Return the function that collates sentences of a split, given by number, into batches."""
        import functools

        from gardenpath.data.batches.tokens import token_batch

        return functools.partial(token_batch, split)


class SyntacticFamily(NeuralFamily):
    """Syntactic language models: generate trees and words, and score words by search."""

    needs_trees: ClassVar[bool] = True

    @abc.abstractmethod
    def strategy(self, settings: Any) -> Strategy:
        """Return the order in which trees are generated."""

    @abc.abstractmethod
    def as_searched(self, network: nn.Module, search: Any, *, is_packed: bool) -> Any:
        """Wrap the network for the search (``TransitionModel``)."""


@dataclass(frozen=True, kw_only=True)
class AdoptedSettings(ModelSettings):
    """Settings common to models that others trained."""

    name: str = ""
    """Name of the model in folders and tables; empty uses that of its source."""
    language: Literal["en", "zh", "any"] = "any"
    """Language of the suites on which the model is scored; any stands for all."""


# What a model computes for a word: surprisal, or a pseudo-log-likelihood.
Measure = Literal["surprisal", "pll"]


class OpenedModel(Protocol):
    """A model that others trained; weights are loaded when the first sentence is scored."""

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the log probability (nats) of each word, then its end.

        Values that the model does not define, such as that of the end, are NaN.
        """

    def knows(self, word: str) -> bool:
        """Whether the model sees the word itself, not a symbol for unknown words."""

    def seen_as(self, words: Sequence[str]) -> list[str]:
        """Return what the model sees for each word: the word, its pieces, or another symbol."""


class AdoptedFamily(Family):
    """Models that others trained: adopted by ``task=adopt``, never trained here.

    ``reads_text`` says whether a model reads text as it is, not words of a vocabulary.
    """

    measure: ClassVar[Measure] = "surprisal"
    reads_text: ClassVar[bool] = False

    @abc.abstractmethod
    def adopt(self, settings: Any, source: str, folder: Path) -> AdoptedSettings:
        """Write the files of the run to an empty folder; return the settings stored with it.

        ``source`` is a path or a name. Files may stay where they are if the settings contain their
        checksums.
        """

    @abc.abstractmethod
    def identity(self, settings: Any, folder: Path) -> str:
        """Return a hash of the files that determine the numbers, after verifying them."""

    @abc.abstractmethod
    def open(
        self,
        settings: Any,
        folder: Path,
        *,
        device: str,
        boundary: Boundary | None,
        on_words: Callable[[int], None] = lambda _: None,
    ) -> OpenedModel:
        """Open the model of a run folder; ``boundary`` is what :meth:`boundary` returned."""

    def boundary(self, settings: Any, asked: BoundaryChoice) -> Boundary | None:
        """Return how words are made of pieces; None if the units are words."""
        return None

    def weight_bytes(self, settings: Any, folder: Path) -> int:
        """Return the size of the weights, which decides how many words are scored at a time."""
        weights = folder / "weights.safetensors"
        return weights.stat().st_size if weights.is_file() else 0

    def is_order_dependent(self, settings: Any) -> bool:
        """Whether the score of a sentence depends on the sentences before it."""
        return False

    def notes(self, settings: Any, folder: Path) -> tuple[str, ...]:
        """Return what readers of the results must know about how words were scored."""
        return ()


# ----------------------------------------------------------------------------
# Sizes of networks: named sizes and individual values.


Size = Literal["tiny", "small", "base"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LstmShape:
    """Size of an LSTM, or of the stack LSTM of an RNNG."""

    layers: int
    hidden: int
    embedding: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerShape:
    """Size of a Transformer."""

    layers: int
    hidden: int
    heads: int


LSTM_SIZES: Mapping[Size, LstmShape] = {
    "tiny": LstmShape(layers=2, hidden=128, embedding=128),
    "small": LstmShape(layers=2, hidden=256, embedding=256),
    "base": LstmShape(layers=2, hidden=650, embedding=650),
}

TRANSFORMER_SIZES: Mapping[Size, TransformerShape] = {
    "tiny": TransformerShape(layers=2, hidden=128, heads=4),
    "small": TransformerShape(layers=6, hidden=384, heads=6),
    "base": TransformerShape(layers=12, hidden=768, heads=12),
}

_Shape = TypeVar("_Shape", LstmShape, TransformerShape)
_Content = TypeVar("_Content", Vocabulary, Subwords)


def shape_of(table: Mapping[Size, _Shape], size: Size, **values: int | None) -> _Shape:
    """Return the shape of a named size, with given values (not None) replaced."""
    return replace(table[size], **{name: n for name, n in values.items() if n is not None})


# ----------------------------------------------------------------------------
# Families by name, with their settings classes, and the models of run folders.

_FAMILIES = TRAINED_FAMILIES | ADOPTED_FAMILIES

ADOPTED: Mapping[str, AdoptedFamily] = Registered(ADOPTED_FAMILIES, lambda family: family())
FAMILIES: Mapping[str, Family] = Registered(_FAMILIES, lambda family: family())
ADOPTED_MODELS: Mapping[str, type[ModelSettings]] = Registered(
    ADOPTED_FAMILIES, lambda family: family.settings
)
MODELS: Mapping[str, type[ModelSettings]] = Registered(_FAMILIES, lambda family: family.settings)


def load_vocabulary(run: RunFolder) -> Vocabulary:
    """Read the vocabulary of a run's model."""
    return _verified(run, VOCABULARY_FILE, Vocabulary.load)


def load_subwords(run: RunFolder) -> Subwords | None:
    """Read the subword segmentation of a run; None if its units are whole words."""
    manifest = run.manifest()
    # A segmentation that is lost is an error: words would all be scored as unknown.
    is_listed = manifest is not None and SUBWORDS_FILE in manifest.files
    if not is_listed and not (run / SUBWORDS_FILE).exists():
        return None
    return _verified(run, SUBWORDS_FILE, Subwords.load)


def _verified(run: RunFolder, name: str, read: Callable[[Path], _Content]) -> _Content:
    run.verified_sha256(name)
    try:
        return read(run / name)
    except InputError as error:
        raise DamagedRunError(f"{error}; copy the run folder again, or train again") from error


def load_model(run: RunFolder, settings: ModelSettings, vocabulary: Vocabulary) -> Any:
    """Build the model of a run with its trained weights, a network in evaluation mode."""
    run.verified_sha256(WEIGHTS_FILE)
    family = FAMILIES[settings.family]
    assert isinstance(family, TrainedFamily)
    return family.load(settings, vocabulary, run / WEIGHTS_FILE)
