"""HTML and JSON with escaping, so that no text is interpreted as code, and tables for templates.

``page``, the reports of studies and the playground render Jinja2 templates through this module and
through nothing else: plain ``str`` values are escaped, only ``Markup`` is inserted verbatim.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gardenpath.util import plural, spaced, unbroken

PAGE_TEMPLATES = Path(__file__).with_name("templates")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(PAGE_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(unbroken=unbroken, plural=plural)
    return environment


def render(template: str, **data: Any) -> Markup:
    """Render a template, such as ``page.html``, with data."""
    return Markup(_environment().get_template(template).render(data))


def data_block(identifier: str, content: Any) -> Markup:
    """Return JSON for embedding in a page; it cannot end the script element or start a comment."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    block = Markup('<script type="application/json" id="{}">{}</script>')
    return block.format(identifier, Markup(written))


# Tables of the report, as plain data for the templates.

MINUS = "\N{MINUS SIGN}"
# Tables with more rows have a filter.
ROWS_FOR_FILTER = 8
# Texts with more characters are wrapped.
LONG_TEXT = 40


class TableCell(NamedTuple):
    """A cell: its text, its CSS class, and its numeric sort key, if any."""

    text: str
    style: str = ""
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReportTable:
    """A table with its title; rows whose first value is in ``strong`` are highlighted.

    Columns of empty strings are omitted: for example, given surprisals have no corpus.
    """

    name: str
    title: str
    frame: pd.DataFrame
    note: str = ""
    strong: Sequence[str] = ()

    def __post_init__(self) -> None:
        kept = [name for name in self.frame.columns if not (self.frame[name] == "").all()]
        object.__setattr__(self, "frame", self.frame[kept])

    @cached_property
    def _is_numeric(self) -> list[bool]:
        kinds = self.frame.dtypes
        return [
            pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
            for kind in kinds
        ]

    @property
    def columns(self) -> list[TableCell]:
        heads = zip(self.frame, self._is_numeric, strict=True)
        return [TableCell(spaced(name), "number" if is_number else "") for name, is_number in heads]

    @cached_property
    def rows(self) -> list[tuple[str, list[TableCell]]]:
        """The rows: the CSS class and the cells of each."""
        rows = []
        for values in self.frame.itertuples(index=False, name=None):
            cells = []
            for name, value, is_number in zip(self.frame, values, self._is_numeric, strict=True):
                if is_number:
                    cells.append(TableCell(cell_text(value, str(name)), "number", _sort_key(value)))
                else:
                    is_plain = isinstance(value, bool | float | None)
                    text = cell_text(value) if is_plain else str(value)
                    cells.append(TableCell(text, "wide" if cells and len(text) > LONG_TEXT else ""))
            rows.append(("strong" if str(values[0]) in self.strong else "", cells))
        return rows

    @property
    def has_filter(self) -> bool:
        return len(self.frame) > ROWS_FOR_FILTER


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, Real) and math.isnan(float(value)))


def cell_text(value: object, column: str = "") -> str:
    """Format a value: integers without decimals, p values short, others with three decimals."""
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
    """Return the sort key of a cell; empty for missing values, which come last."""
    if _is_missing(value):
        return ""
    assert isinstance(value, Real)
    return "1e999" if float(value) == math.inf else f"{float(value):.7g}"
