"""The RNNG family: recurrent neural network grammars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gardenpath.data.trees.actions import Strategy
from gardenpath.models.family import ModelSettings, NeuralSettings, SyntacticFamily
from gardenpath.models.sequential.lstm_family import LstmSettings

if TYPE_CHECKING:
    from torch import nn

    from gardenpath.data.batches.batch_loader import Collate
    from gardenpath.data.encoding.encoded import EncodedSplit
    from gardenpath.data.words.vocabulary import Vocabulary
    from gardenpath.models.rnng.search.rnng_search import RnngSearch


@dataclass(frozen=True, kw_only=True)
class RnngSettings(LstmSettings):
    """Settings of an RNNG: a stack LSTM, a composition function, and outputs."""

    strategy: Strategy = "top_down"
    """Order in which trees are generated: top_down or in_order."""
    composition: Literal["lstm", "attention"] = "lstm"
    """Composition of constituents: a bidirectional LSTM over the children (trained by levels of the
    tree, fast), or gated attention (Kuncoro et al. 2017; reads the stack, so it is trained in as
    many rounds as a tree has constituents)."""
    tied: bool = True
    """Whether the output layer over words uses the embedding matrix."""
    action_norm: Literal["legal", "full"] = "legal"
    """Whether to normalise over legal actions only or over all actions."""

    def mistakes(self) -> list[str]:
        """Return no mistakes: an output layer between states and embeddings allows any sizes."""
        return []


@dataclass(frozen=True, kw_only=True)
class RnngModel(NeuralSettings):
    """A recurrent neural network grammar."""

    family: Literal["rnng"] = "rnng"
    network: RnngSettings = RnngSettings()


class RnngFamily(SyntacticFamily):
    """Recurrent neural network grammars."""

    settings: ClassVar[type[ModelSettings]] = RnngModel

    def build(self, settings: RnngModel, vocabulary: Vocabulary) -> nn.Module:
        from gardenpath.models.rnng.rnng import RnngNetwork

        return RnngNetwork(
            settings.network,
            vocabulary_size=len(vocabulary),
            label_count=len(vocabulary.labels),
            is_continuation=vocabulary.continuations,
        )

    def make_collate(
        self, settings: RnngModel, split: EncodedSplit, vocabulary: Vocabulary
    ) -> Collate[Any]:
        from gardenpath.data.batches.timed_tree_batches import timed_tree_collate
        from gardenpath.data.batches.tree_batches import tree_collate

        by_time = settings.network.composition == "attention"
        return (timed_tree_collate if by_time else tree_collate)(
            split,
            strategy=settings.network.strategy,
            label_count=len(vocabulary.labels),
            is_continuation=vocabulary.continuations,
        )

    def strategy(self, settings: RnngModel) -> Strategy:
        return settings.network.strategy

    def as_searched(self, network: nn.Module, search: Any, *, is_packed: bool) -> RnngSearch:
        from gardenpath.models.rnng.rnng import RnngNetwork
        from gardenpath.models.rnng.search.rnng_search import RnngSearch

        assert isinstance(network, RnngNetwork)
        return RnngSearch(
            network, is_packed=is_packed, shared_compositions=search.shared_compositions
        )
