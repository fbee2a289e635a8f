"""Sizes of networks: named sizes and individual values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

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


def shape_of(table: Mapping[Size, _Shape], size: Size, **given: int | None) -> _Shape:
    """Return the shape of a named size, with given values (not None) replaced."""
    return replace(table[size], **{name: n for name, n in given.items() if n is not None})
