"""The Transformer family: Transformer language models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from gardenpath.models.family import ModelSettings, NeuralFamily, NeuralSettings, OutputKind
from gardenpath.models.sizes import TRANSFORMER_SIZES, Size, TransformerShape, shape_of
from gardenpath.settings.bounds import Fraction, PositiveInt

if TYPE_CHECKING:
    from torch import nn

    from gardenpath.data.words.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class DecoderSettings:
    """Settings of a decoder with the architecture of GPT-2."""

    size: Size = "base"
    """Named size: tiny has 2 layers of width 128, small 6 of 384, base 12 of 768."""
    layers: PositiveInt | None = None
    """Number of layers; null uses the named size."""
    hidden: PositiveInt | None = None
    """Width of the states; null uses the named size."""
    heads: PositiveInt | None = None
    """Number of attention heads; null uses the named size."""
    max_positions: PositiveInt = 512
    """Maximum length of a sequence."""
    dropout: Fraction = 0.1
    """Dropout of embeddings, attention and residual branches."""
    output: OutputKind = "full"
    """Output layer: full is a softmax over all words; factored predicts a class of words and then
    the word, exact as well and much faster for large vocabularies; it needs whole words."""

    @property
    def shape(self) -> TransformerShape:
        """The shape of the named size, with individual values replaced."""
        return shape_of(
            TRANSFORMER_SIZES, self.size, layers=self.layers, hidden=self.hidden, heads=self.heads
        )

    def mistakes(self) -> list[str]:
        """Return the mistakes in a combination of settings."""
        shape = self.shape
        if shape.hidden % shape.heads:
            return [f"hidden ({shape.hidden}) must be a multiple of heads ({shape.heads})"]
        return []


@dataclass(frozen=True, kw_only=True)
class TransformerModel(NeuralSettings):
    """A Transformer language model."""

    family: Literal["transformer"] = "transformer"
    network: DecoderSettings = DecoderSettings()


class TransformerFamily(NeuralFamily):
    """Transformer language models."""

    settings: ClassVar[type[ModelSettings]] = TransformerModel

    def build(self, settings: TransformerModel, vocabulary: Vocabulary) -> nn.Module:
        from gardenpath.models.sequential.transformer import TransformerNetwork

        return TransformerNetwork(settings.network, vocabulary_size=len(vocabulary))
