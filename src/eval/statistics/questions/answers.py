"""Collection of the results of an analysis, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from gardenpath.eval.statistics.questions import wording
from gardenpath.eval.statistics.questions.analysis import Analysis, FittedPart

Part = Mapping[str, str]


class Answers:
    """Results collected so far."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.sentences: list[str] = []
        self.skipped: list[str] = []
        self.fits: list[FittedPart] = []
        self.parts: list[Part] = []

    def add(self, table: str, part: Part, row: Mapping[str, Any]) -> None:
        """Add a row about a part to a table."""
        self.rows.setdefault(table, []).append({**part, **row})

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return all tables by name."""
        return {name: pd.DataFrame(rows) for name, rows in self.rows.items()}


def label(part: Part, *more: object) -> str:
    """Return the label of a part, such as ``CTB · verb-noun · syntax``."""
    names = [*(value for value in part.values() if value), *more]
    return " · ".join(wording.prose_name(name) for name in names)


def meaning(analysis: Analysis, rows: pd.DataFrame, column: str, value: object = None) -> str:
    """Return the original values behind a derived column, or behind one value of it."""
    rule = analysis.derive.get(column)
    source = str(rule["from"]) if rule else column
    if source not in rows.columns:
        source = column
    chosen = rows[source] if value is None else rows.loc[rows[column] == value, source]
    return ", ".join(dict.fromkeys(wording.prose_name(name) for name in chosen.unique()))


def template_values(analysis: Analysis, part: Part, rows: pd.DataFrame) -> dict[str, str]:
    """Return the variables of sentence templates.

    They are the values of the part, and the extremes of each derived predictor.
    """
    values = {name: wording.prose_name(value) for name, value in part.items()}
    for column in analysis.derive:
        if column in rows.columns and rows[column].nunique() > 1:
            ordered = sorted(rows[column].unique())
            values[f"{column}_0"] = meaning(analysis, rows, column, ordered[0])
            values[f"{column}_1"] = meaning(analysis, rows, column, ordered[-1])
    return values
