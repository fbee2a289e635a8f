"""Tables of the report, as the plain data that templates show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real

import pandas as pd

from gardenpath.text import spaced

MINUS = "\N{MINUS SIGN}"
# A filter pays off where a table is longer than a glance.
ROWS_FOR_FILTER = 8
# Texts of more letters may take several lines.
LONG_TEXT = 40

NUMBER = "number"


@dataclass(frozen=True, slots=True)
class TableHead:
    """The head of a column; ``style`` is its class in the page."""

    heading: str
    style: str


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell: its text, the number that it is sorted by (if it has one), its class."""

    text: str
    key: str | None = None
    style: str = ""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row with its class."""

    cells: Sequence[TableCell]
    style: str


@dataclass(frozen=True, kw_only=True)
class ReportTable:
    """A table with its title; ``strong`` are values of the first column whose rows stand out.

    Columns of empty texts are left out: surprisals of others come without a corpus.
    """

    name: str
    title: str
    frame: pd.DataFrame
    note: str = ""
    strong: Sequence[str] = ()

    @cached_property
    def _shown(self) -> pd.DataFrame:
        frame = self.frame
        return frame[[name for name in frame.columns if not (frame[name] == "").all()]]

    @property
    def columns(self) -> list[TableHead]:
        """The heads of the columns."""
        frame = self._shown
        styles = [NUMBER if _is_numeric(frame[name]) else "" for name in frame.columns]
        names = map(spaced, frame.columns)
        return [TableHead(name, style) for name, style in zip(names, styles, strict=True)]

    @cached_property
    def rows(self) -> list[TableRow]:
        """The rows."""
        frame = self._shown
        numeric = [_is_numeric(frame[column]) for column in frame.columns]
        rows = []
        for values in frame.itertuples(index=False, name=None):
            cells = [
                _number_cell(value, str(column)) if is_number else _text_cell(value, place)
                for place, (column, value, is_number) in enumerate(
                    zip(frame.columns, values, numeric, strict=True)
                )
            ]
            rows.append(TableRow(cells, "strong" if str(values[0]) in self.strong else ""))
        return rows

    @property
    def has_filter(self) -> bool:
        """Whether the table is long enough for a filter."""
        return len(self.frame) > ROWS_FOR_FILTER


def _is_numeric(values: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def _number_cell(value: object, column: str) -> TableCell:
    return TableCell(cell_text(value, column), _sort_key(value), NUMBER)


def _text_cell(value: object, place: int) -> TableCell:
    text = cell_text(value) if isinstance(value, bool | float | None) else str(value)
    return TableCell(text, style="wide" if place and len(text) > LONG_TEXT else "")


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, Real) and math.isnan(float(value)))


def cell_text(value: object, column: str = "") -> str:
    """A number as it is read: whole numbers whole, p values short, others with three digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_missing(value):
        return "–"
    if isinstance(value, Integral):
        return f"{int(value):,}".replace("-", MINUS)
    assert isinstance(value, Real)
    real = float(value)
    if math.isinf(real):
        return "∞" if real > 0 else f"{MINUS}∞"
    if column == "p":
        digits = 4 if real < 0.01 else 3
        return "< .001" if real < 0.001 else f"{real:.{digits}f}".removeprefix("0")
    if column in ("perplexity", "perplexity without end", "bits/sentence"):
        return f"{real:.2f}".replace("-", MINUS)
    return f"{real:.3f}".replace("-", MINUS)


def _sort_key(value: object) -> str:
    """What a cell is sorted by; nothing for what is missing, which comes last."""
    if _is_missing(value):
        return ""
    assert isinstance(value, Real)
    return "1e999" if float(value) == math.inf else f"{float(value):.7g}"
