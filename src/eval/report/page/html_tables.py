"""Tables of the report, as HTML that can be sorted and filtered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real

import pandas as pd

from gardenpath.eval.report.page.markup import Html, element, join

MINUS = "\N{MINUS SIGN}"
# A filter pays off where a table is longer than a glance.
ROWS_FOR_FILTER = 8
# Texts of more letters may take several lines.
LONG_TEXT = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """A table with its title; ``strong`` are values of the first column whose rows stand out."""

    name: str
    title: str
    frame: pd.DataFrame
    note: str = ""
    strong: Sequence[str] = field(default_factory=tuple)


def number(value: object, column: str = "") -> str:
    """A number as it is read: whole numbers whole, p values short, others with three digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value is pd.NA or (isinstance(value, Real) and math.isnan(float(value))):
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


def table_html(table: ReportTable) -> Html:
    """A titled table with buttons in its head; scrolls sideways in narrow windows.

    Columns of empty texts are left out: surprisals of others come without a corpus.
    """
    frame = table.frame
    frame = frame[[name for name in frame.columns if not (frame[name] == "").all()]]
    numeric = [_is_numeric(frame[column]) for column in frame.columns]
    head = element(
        "tr",
        *(
            element(
                "th",
                element(
                    "button", _heading(column), element("span", aria_hidden="true"), type="button"
                ),
                scope="col",
                aria_sort="none",
                class_="number" if is_number else None,
            )
            for column, is_number in zip(frame.columns, numeric, strict=True)
        ),
    )
    rows = [
        _row(list(frame.columns), values, numeric, strong=str(values[0]) in table.strong)
        for values in frame.itertuples(index=False, name=None)
    ]
    grid = element(
        "table", element("thead", head), element("tbody", *rows), id=f"table-{table.name}"
    )
    return element(
        "section",
        element("h3", table.title),
        element("p", table.note, class_="note") if table.note else "",
        _filter(table) if len(rows) > ROWS_FOR_FILTER else "",
        element("div", grid, class_="scroll", tabindex="0", role="region", aria_label=table.title),
        class_="table",
    )


def _heading(column: object) -> str:
    return str(column).replace("_", " ")


def _filter(table: ReportTable) -> Html:
    return element(
        "p",
        element("label", "Filter ", for_=f"{table.name}-filter"),
        element(
            "input",
            type="search",
            id=f"{table.name}-filter",
            data_table=f"table-{table.name}",
            placeholder="words that rows must have",
            autocomplete="off",
        ),
        " ",
        element(
            "output", f"{len(table.frame)} rows", for_=f"{table.name}-filter", aria_live="polite"
        ),
        class_="filter",
    )


def _is_numeric(values: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def _row(
    columns: Sequence[str], values: Sequence[object], numeric: Sequence[bool], *, strong: bool
) -> Html:
    cells = []
    for place, (column, value, is_number) in enumerate(zip(columns, values, numeric, strict=True)):
        kind = "th" if place == 0 else "td"
        scope = "row" if place == 0 else None
        if is_number:
            shown, key = number(value, str(column)), _key(value)
            cells.append(element(kind, shown, class_="number", data_value=key, scope=scope))
        else:
            shown = number(value) if isinstance(value, bool | float | None) else str(value)
            is_wide = kind == "td" and len(shown) > LONG_TEXT
            cells.append(element(kind, shown, scope=scope, class_="wide" if is_wide else None))
    return element("tr", join(cells), class_="strong" if strong else None)


def _key(value: object) -> str:
    """What a cell is sorted by; nothing for what is missing, which comes last."""
    if value is None or value is pd.NA or (isinstance(value, Real) and math.isnan(float(value))):
        return ""
    assert isinstance(value, Real)
    return "1e999" if float(value) == math.inf else f"{float(value):.7g}"
