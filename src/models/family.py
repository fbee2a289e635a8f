"""The interface of model families: their settings, and how to build their models.

Each family has one entry in :mod:`gardenpath.registry`. Settings are read without torch, so modules
that need it are imported inside the methods.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

from gardenpath.data.corpus import BatchSettings
from gardenpath.models.training.settings import OptimiserSettings

if TYPE_CHECKING:
    from pathlib import Path

    from torch import nn

    from gardenpath.data.arrays import Floats
    from gardenpath.data.batches.tokens import Collate
    from gardenpath.data.encoding import EncodedSplit
    from gardenpath.data.trees.legality import Strategy
    from gardenpath.data.words.pieces import Boundary, BoundaryChoice
    from gardenpath.data.words.vocabulary import Vocabulary


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


class NeuralFamily(Family):
    """Neural networks that read sentences from left to right and are trained in epochs."""

    @abc.abstractmethod
    def build(self, settings: Any, vocabulary: Vocabulary) -> nn.Module:
        """Return a network with initial weights."""

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


def shape_of(table: Mapping[Size, _Shape], size: Size, **values: int | None) -> _Shape:
    """Return the shape of a named size, with given values (not None) replaced."""
    return replace(table[size], **{name: n for name, n in values.items() if n is not None})
