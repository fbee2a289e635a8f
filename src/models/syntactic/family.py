"""The families of syntactic models, RNNG and PLM: settings, and how to build and search a network.

The command line reads the settings, so torch is imported in methods only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gardenpath.data.trees.legality import Strategy
from gardenpath.models.family import ModelSettings, NeuralSettings, SyntacticFamily
from gardenpath.models.sequential.family import DecoderSettings, LstmSettings
from gardenpath.settings.schema import PositiveInt

if TYPE_CHECKING:
    from torch import nn

    from gardenpath.data.batches.tokens import Collate
    from gardenpath.data.encoding import EncodedSplit
    from gardenpath.data.words.vocabulary import Vocabulary
    from gardenpath.models.syntactic.plm_search import PlmSearch
    from gardenpath.models.syntactic.rnng_search import RnngSearch


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
        from gardenpath.models.syntactic.networks import RnngNetwork

        return RnngNetwork(
            settings.network,
            vocabulary_size=len(vocabulary),
            label_count=len(vocabulary.labels),
            is_continuation=vocabulary.continuations,
        )

    def make_collate(
        self, settings: RnngModel, split: EncodedSplit, vocabulary: Vocabulary
    ) -> Collate[Any]:
        from gardenpath.data.batches.trees import timed_tree_collate, tree_collate

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
        from gardenpath.models.syntactic.networks import RnngNetwork
        from gardenpath.models.syntactic.rnng_search import RnngSearch

        assert isinstance(network, RnngNetwork)
        return RnngSearch(
            network, is_packed=is_packed, shared_compositions=search.shared_compositions
        )


# ----------------------------------------------------------------------------
# The PLM family: parsing as language modelling.


@dataclass(frozen=True, kw_only=True)
class PlmSettings(DecoderSettings):
    """Settings of a decoder over words and brackets."""

    max_positions: PositiveInt = 1024
    """Maximum length of a sequence of words and brackets."""
    structured_heads: bool = False
    """Whether, in each layer, one head attends only to the innermost open constituent and another
    only to the symbols before it (PLM-mask)."""
    action_norm: Literal["legal", "full"] = "legal"
    """Whether to normalise over legal symbols only or over all symbols."""

    def mistakes(self) -> list[str]:
        """Return the mistakes in a combination of settings."""
        mistakes = super().mistakes()
        if self.structured_heads and self.shape.heads < 2:
            mistakes.append("structured_heads=true needs at least two heads")
        return mistakes


@dataclass(frozen=True, kw_only=True)
class PlmModel(NeuralSettings):
    """A Transformer over linearised trees."""

    family: Literal["plm"] = "plm"
    network: PlmSettings = PlmSettings()


class PlmFamily(SyntacticFamily):
    """Transformers over linearised trees."""

    settings: ClassVar[type[ModelSettings]] = PlmModel

    def build(self, settings: PlmModel, vocabulary: Vocabulary) -> nn.Module:
        from gardenpath.models.syntactic.networks import PlmNetwork

        return PlmNetwork(
            settings.network,
            vocabulary_size=len(vocabulary),
            label_count=len(vocabulary.labels),
            is_continuation=vocabulary.continuations,
        )

    def make_collate(
        self, settings: PlmModel, split: EncodedSplit, vocabulary: Vocabulary
    ) -> Collate[Any]:
        from gardenpath.data.batches.tokens import bracket_collate

        return bracket_collate(
            split,
            vocabulary_size=len(vocabulary),
            has_pieces=vocabulary.continuations is not None,
        )

    def strategy(self, settings: PlmModel) -> Strategy:
        return "top_down"

    def as_searched(self, network: nn.Module, search: Any, *, is_packed: bool) -> PlmSearch:
        from gardenpath.models.syntactic.networks import PlmNetwork
        from gardenpath.models.syntactic.plm_search import PlmSearch

        assert isinstance(network, PlmNetwork)
        return PlmSearch(network, is_packed=is_packed, max_open=search.max_open)
