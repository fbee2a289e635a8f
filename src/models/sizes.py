"""Named sizes of networks; single numbers of a size can be replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeVar

Size = Literal["tiny", "small", "base"]


class RecurrentShape(NamedTuple):
    """Layers and widths of an LSTM or RNNG."""

    layers: int
    hidden: int
    embedding: int


class TransformerShape(NamedTuple):
    """Layers, width and attention heads of a Transformer."""

    layers: int
    hidden: int
    heads: int


RECURRENT_SIZES: Mapping[Size, RecurrentShape] = {
    "tiny": RecurrentShape(layers=2, hidden=128, embedding=128),
    "small": RecurrentShape(layers=2, hidden=256, embedding=256),
    "base": RecurrentShape(layers=2, hidden=650, embedding=650),
}

TRANSFORMER_SIZES: Mapping[Size, TransformerShape] = {
    "tiny": TransformerShape(layers=2, hidden=128, heads=4),
    "small": TransformerShape(layers=6, hidden=384, heads=6),
    "base": TransformerShape(layers=12, hidden=768, heads=12),
}

Shape = TypeVar("Shape", RecurrentShape, TransformerShape)


def shape_of(sizes: Mapping[Size, Shape], size: Size, **given: int | None) -> Shape:
    """A named size with those numbers replaced that are not None."""
    return sizes[size]._replace(**{k: v for k, v in given.items() if v is not None})
