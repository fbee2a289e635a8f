"""The PLM family: parsing as language modelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gardenpath.data.trees.actions import Strategy
from gardenpath.models.family import ModelSettings, NeuralSettings, SyntacticFamily
from gardenpath.models.sequential.transformer_family import DecoderSettings
from gardenpath.settings.bounds import PositiveInt

if TYPE_CHECKING:
    from torch import nn

    from gardenpath.data.batches.batch_loader import Collate
    from gardenpath.data.encoding.encoded import EncodedSplit
    from gardenpath.data.words.vocabulary import Vocabulary
    from gardenpath.models.plm.plm_search import PlmSearch


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
        found = super().mistakes()
        if self.structured_heads and self.shape.heads < 2:
            found.append("structured_heads=true needs at least two heads")
        return found


@dataclass(frozen=True, kw_only=True)
class PlmModel(NeuralSettings):
    """A Transformer over linearised trees."""

    family: Literal["plm"] = "plm"
    network: PlmSettings = PlmSettings()


class PlmFamily(SyntacticFamily):
    """Transformers over linearised trees."""

    settings: ClassVar[type[ModelSettings]] = PlmModel

    def build(self, settings: PlmModel, vocabulary: Vocabulary) -> nn.Module:
        from gardenpath.models.plm.plm import PlmNetwork

        return PlmNetwork(
            settings.network,
            vocabulary_size=len(vocabulary),
            label_count=len(vocabulary.labels),
            is_continuation=vocabulary.continuations,
        )

    def make_collate(
        self, settings: PlmModel, split: EncodedSplit, vocabulary: Vocabulary
    ) -> Collate[Any]:
        from gardenpath.data.batches.bracket_batches import bracket_collate

        return bracket_collate(
            split,
            vocabulary_size=len(vocabulary),
            has_pieces=vocabulary.continuations is not None,
        )

    def strategy(self, settings: PlmModel) -> Strategy:
        return "top_down"

    def as_searched(self, network: nn.Module, search: Any, *, is_packed: bool) -> PlmSearch:
        from gardenpath.models.plm.plm import PlmNetwork
        from gardenpath.models.plm.plm_search import PlmSearch

        assert isinstance(network, PlmNetwork)
        return PlmSearch(network, is_packed=is_packed, max_open=search.max_open)
