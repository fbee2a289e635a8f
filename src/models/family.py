"""The interface of model families: their settings, and how to build their models.

Each family has its own folder and one entry in :mod:`families`. Modules that need torch are
imported inside the methods, so that settings can be read without it.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gardenpath.data.batches.batch_settings import BatchSettings
from gardenpath.models.training.training_settings import OptimiserSettings

if TYPE_CHECKING:
    from torch import nn

    from gardenpath.data.batches.batch_loader import Collate
    from gardenpath.data.encoding.encoded import EncodedSplit
    from gardenpath.data.preparation import PreparedCorpus
    from gardenpath.data.trees.actions import Strategy
    from gardenpath.data.words.vocabulary import Vocabulary
    from gardenpath.models.ngram.ngram import NgramModel


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


class Family(abc.ABC):
    """A kind of model; ``settings`` is its settings class (``model=``).

    ``scores_version`` is part of the key of stored log probabilities: raise it whenever the same
    weights give other log probabilities.
    """

    settings: ClassVar[type[ModelSettings]]
    scores_version: ClassVar[int] = 1
    needs_trees: ClassVar[bool] = False


class EstimatedFamily(Family):
    """Models that are estimated from counts in one pass."""

    @abc.abstractmethod
    def estimate(self, settings: Any, corpus: PreparedCorpus) -> tuple[NgramModel, Vocabulary]:
        """Return the model and the vocabulary it is defined on."""


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

        from gardenpath.data.batches.token_batches import token_batch

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
