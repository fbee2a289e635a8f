"""Whether the rows of an analysis come from enough usable items.

The independent units of a suite are its items: several seeds, conditions or predictions of an item
do not add to them. Counts are taken before responses are averaged, so analyses of averages over
items are held to the same minimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from gardenpath.eval.statistics.questions.analysis import Analysis
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.eval.usable import USABLE, is_enough, too_few
from gardenpath.text import spaced

# Columns that name an item; those that a table lacks are not needed.
_ITEM = ("class", "suite", "item")
_MODEL = ("model", "corpus")
# Predictors with more values are continuous, and their values need no items of their own.
_FEW_VALUES = 12


def require_items(
    analysis: Analysis, part: Mapping[str, str], rows: pd.DataFrame, least: int
) -> None:
    """Raise a StatisticsError unless every model, and every level of a predictor, has enough items.

    ``rows`` are those of the part before averaging. Tables that are not about items are not
    counted.
    """
    if "item" not in rows.columns:
        return
    named = [name for name in _ITEM if name in rows.columns]
    for by in _groupings(analysis, rows):
        for whose, usable, items in _counted(rows, by, named):
            if not is_enough(usable, items, least):
                told = _told(by, whose, part, rows)
                raise StatisticsError(too_few(usable, items, least, whose=told))


def _groupings(analysis: Analysis, rows: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the columns whose combinations need enough items: models, and each with a predictor."""
    models = [name for name in _MODEL if name in rows.columns]
    yield models
    for name in analysis.predictors:
        if name not in models and rows[name].nunique() <= _FEW_VALUES:
            yield [*models, name]


def _counted(
    rows: pd.DataFrame, by: Sequence[str], named: Sequence[str]
) -> Iterator[tuple[tuple[object, ...], int, int]]:
    keys = list(dict.fromkeys([*by, *named]))
    flags = rows.groupby(keys, sort=False, dropna=False, observed=True)[USABLE].all()
    if not by:
        yield (), int(flags.sum()), len(flags)
        return
    for whose, group in flags.groupby(level=list(by), sort=False, dropna=False):
        yield whose, int(group.sum()), len(group)


def _told(
    by: Sequence[str], whose: tuple[object, ...], part: Mapping[str, str], rows: pd.DataFrame
) -> str:
    """Name a group by the values in which groups of the part differ."""
    return ", ".join(
        spaced(value) if name in _MODEL else f"{spaced(name)} {value}"
        for name, value in zip(by, whose, strict=True)
        if name not in part and value not in ("", None) and rows[name].nunique() > 1
    )
