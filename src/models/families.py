"""Which model families there are.

A run folder names its family; only the classes listed here are ever built from one, so that a
folder from somebody else cannot run code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gardenpath.data.batches.batch_loader import Collate
from gardenpath.data.batches.bracket_batches import bracket_collate
from gardenpath.data.batches.timed_tree_batches import timed_tree_collate
from gardenpath.data.batches.token_batches import token_batch
from gardenpath.data.batches.tree_batches import tree_collate
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.models.ngram.estimators import KneserNeyEstimator, UnigramEstimator
from gardenpath.models.plm.plm import PlmNetwork
from gardenpath.models.rnng.rnng import RnngNetwork
from gardenpath.models.sequential.lstm import LstmNetwork
from gardenpath.models.sequential.transformer import TransformerNetwork

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Family:
    """How to build the models of a family, and the batches that they read, from settings."""

    build: Callable[..., Any]
    is_neural: bool = True
    needs_trees: bool = False

    def dimensions(self, vocabulary: Vocabulary) -> dict[str, int]:
        """The arguments of a network that follow from the vocabulary."""
        if not self.is_neural:
            return {}
        sizes = {"vocabulary_size": len(vocabulary)}
        return {**sizes, "label_count": len(vocabulary.labels)} if self.needs_trees else sizes

    @property
    def dimension_names(self) -> tuple[str, ...]:
        """The names of :meth:`dimensions`."""
        if not self.is_neural:
            return ()
        return ("vocabulary_size", "label_count") if self.needs_trees else ("vocabulary_size",)

    def make_collate(
        self, split: EncodedSplit, *, vocabulary: Vocabulary, settings: Settings
    ) -> Collate[Any]:
        """The function that makes batches of the sentences of a split."""
        if self.build is RnngNetwork:
            by_time = settings["composition"] == "attention"
            return (timed_tree_collate if by_time else tree_collate)(
                split, strategy=settings["strategy"], label_count=len(vocabulary.labels)
            )
        if self.build is PlmNetwork:
            return bracket_collate(split, vocabulary_size=len(vocabulary))
        return functools.partial(token_batch, split)


FAMILIES: Mapping[str, Family] = {
    "unigram": Family(UnigramEstimator, is_neural=False),
    "ngram": Family(KneserNeyEstimator, is_neural=False),
    "lstm": Family(LstmNetwork),
    "transformer": Family(TransformerNetwork),
    "rnng": Family(RnngNetwork, needs_trees=True),
    "plm": Family(PlmNetwork, needs_trees=True),
}
