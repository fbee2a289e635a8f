"""Named sizes, single numbers, and what the documentation says about them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from gardenpath.models.family import (
    LSTM_SIZES,
    TRANSFORMER_SIZES,
    LstmShape,
    Size,
    TransformerShape,
    shape_of,
)

DOCS = Path(__file__).parents[2] / "docs" / "models.md"


def test_each_size_is_larger_than_the_one_before() -> None:
    for table in (LSTM_SIZES, TRANSFORMER_SIZES):
        assert tuple(table) == get_args(Size)
        widths = [shape.hidden for shape in table.values()]
        assert widths == sorted(set(widths))


def test_heads_divide_the_width() -> None:
    assert all(shape.hidden % shape.heads == 0 for shape in TRANSFORMER_SIZES.values())


def test_given_numbers_replace_those_of_the_size() -> None:
    assert shape_of(LSTM_SIZES, "tiny", layers=None) == LSTM_SIZES["tiny"]
    found = shape_of(LSTM_SIZES, "base", layers=3, hidden=None, embedding=40)
    assert found == LstmShape(layers=3, hidden=650, embedding=40)
    heads = shape_of(TRANSFORMER_SIZES, "small", heads=8)
    assert heads == TransformerShape(layers=6, hidden=384, heads=8)
    with pytest.raises(TypeError):
        shape_of(LSTM_SIZES, "tiny", heads=2)


@pytest.mark.parametrize("size", get_args(Size))
def test_the_documentation_has_these_numbers(size: Size) -> None:
    lstm, transformer = LSTM_SIZES[size], TRANSFORMER_SIZES[size]
    assert lstm.hidden == lstm.embedding
    row = (
        f"| `{size}` | {lstm.layers} layers, {lstm.hidden} wide | {transformer.layers} layers, "
        f"{transformer.hidden} wide, {transformer.heads} heads |"
    )
    assert row in DOCS.read_text(encoding="utf-8").splitlines()
