"""The families of sequential models, LSTM and Transformer: settings, and how to build a network.

The command line reads the settings, so torch is imported in methods only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from gardenpath.models.family import (
    LSTM_SIZES,
    TRANSFORMER_SIZES,
    LstmShape,
    ModelSettings,
    NeuralFamily,
    NeuralSettings,
    OutputKind,
    Size,
    TransformerShape,
    shape_of,
)
from gardenpath.settings.schema import Fraction, PositiveInt

if TYPE_CHECKING:
    from torch import nn

    from gardenpath.data.words.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class LstmSettings:
    """Settings of an LSTM network."""

    size: Size = "small"
    """Named size: tiny has width 128, small 256, base 650, each with two layers."""
    layers: PositiveInt | None = None
    """Number of layers; null uses the named size."""
    hidden: PositiveInt | None = None
    """Width of the hidden states; null uses the named size."""
    embedding: PositiveInt | None = None
    """Width of the embeddings; null uses the named size."""
    dropout: Fraction = 0.2
    """Dropout of embeddings and states."""
    tied: bool = False
    """Whether the output layer uses the embedding matrix."""
    output: OutputKind = "full"
    """Output layer: full is a softmax over all words; factored predicts a class of words and then
    the word, exact as well and much faster for large vocabularies; it needs whole words."""

    @property
    def shape(self) -> LstmShape:
        """The shape of the named size, with individual values replaced."""
        return shape_of(
            LSTM_SIZES,
            self.size,
            layers=self.layers,
            hidden=self.hidden,
            embedding=self.embedding,
        )

    def mistakes(self) -> list[str]:
        """Return the mistakes in a combination of settings."""
        shape = self.shape
        if self.tied and shape.embedding != shape.hidden:
            return [
                f"tied=true needs embedding ({shape.embedding}) and hidden ({shape.hidden}) "
                "to be equal"
            ]
        return []


@dataclass(frozen=True, kw_only=True)
class LstmModel(NeuralSettings):
    """An LSTM language model."""

    family: Literal["lstm"] = "lstm"
    network: LstmSettings = LstmSettings()


class LstmFamily(NeuralFamily):
    """LSTM language models."""

    settings: ClassVar[type[ModelSettings]] = LstmModel

    def build(self, settings: LstmModel, vocabulary: Vocabulary) -> nn.Module:
        from gardenpath.models.sequential.networks import LstmNetwork

        return LstmNetwork(settings.network, vocabulary_size=len(vocabulary))


# ----------------------------------------------------------------------------
# The Transformer family: Transformer language models.


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
        from gardenpath.models.sequential.networks import TransformerNetwork

        return TransformerNetwork(settings.network, vocabulary_size=len(vocabulary))
