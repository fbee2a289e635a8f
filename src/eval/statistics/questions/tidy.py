"""Preparation of the rows of an analysis from a table of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gardenpath.eval.statistics.inference.intervals import bootstrap_mean
from gardenpath.eval.statistics.questions.analysis import Analysis
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.text import key

# Means are not computed for predictors with more distinct values, which are continuous.
_FEW_VALUES = 12


def tidy(analysis: Analysis, table: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of an analysis, add derived columns, and average if configured."""
    needed = _needed(analysis)
    if missing := [column for column in needed if column not in table.columns]:
        raise StatisticsError(f"the table has no column {', '.join(missing)}")
    rows = table[_mask(analysis.where, table)].copy()
    for column, rule in analysis.derive.items():
        rows[column] = _looked_up(rows[str(rule["from"])], rule["values"])
        rows = rows[rows[column].notna()]
        if column in rows and _is_numeric(rule["values"].values()):
            rows[column] = rows[column].astype(np.float64)
    rows[analysis.measured] = pd.to_numeric(rows[analysis.measured], errors="coerce").astype(
        np.float64
    )
    rows = rows[np.isfinite(rows[analysis.measured])]
    rows = _with_texts(analysis, rows)
    return _averaged(rows, analysis) if analysis.average else rows.reset_index(drop=True)


def _needed(analysis: Analysis) -> list[str]:
    derived = set(analysis.derive)
    sources = [str(rule["from"]) for rule in analysis.derive.values()]
    used = (
        *(*analysis.where, *sources, *analysis.split, *analysis.average),
        *(*analysis.predictors, *analysis.slopes, *analysis.groups, analysis.measured),
    )
    return [column for column in dict.fromkeys(used) if column not in derived]


def _mask(where: Mapping[str, Sequence[str]], table: pd.DataFrame) -> np.ndarray[Any, Any]:
    mask = np.ones(len(table), dtype=bool)
    for column, wanted in where.items():
        values = [wanted] if isinstance(wanted, str) else wanted
        patterns = [key(pattern) for pattern in values]
        mask &= np.array(
            [any(fnmatchcase(key(v), p) for p in patterns) for v in table[column]], dtype=bool
        )
    return mask


def _looked_up(column: pd.Series, values: Mapping[Any, Any]) -> pd.Series:
    by_key = {key(name): value for name, value in values.items()}
    return column.map(lambda value: by_key.get(key(value)))


def _is_numeric(values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _with_texts(analysis: Analysis, rows: pd.DataFrame) -> pd.DataFrame:
    """Convert groups and split columns to text; a missing value, such as no seed, becomes ''."""
    for column in {*analysis.groups, *analysis.split, *analysis.codings}:
        if column in rows.columns:
            texts = rows[column].astype(object).where(rows[column].notna(), "")
            rows[column] = texts.astype(str)
    return rows


def _averaged(rows: pd.DataFrame, analysis: Analysis) -> pd.DataFrame:
    kept = list(dict.fromkeys([*analysis.average, *analysis.split, *analysis.derive]))
    means = rows.groupby(kept, sort=False, dropna=False, observed=True)[analysis.measured].mean()
    return means.reset_index()


def parts(analysis: Analysis, rows: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield each combination of the split columns with its rows."""
    if not analysis.split:
        yield {}, rows
        return
    for values, part in rows.groupby(list(analysis.split), sort=True, observed=True):
        named = values if isinstance(values, tuple) else (values,)
        names = dict(zip(analysis.split, map(str, named), strict=True))
        yield names, part.reset_index(drop=True)


def mean_table(analysis: Analysis, rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean responses by part and predictor, with bootstrap intervals over items."""
    predictors = [name for name in analysis.predictors if rows[name].nunique() <= _FEW_VALUES]
    by = list(dict.fromkeys([*analysis.split, *predictors]))
    groups = rows.groupby(by, sort=True, observed=True).indices if by else {(): slice(None)}
    responses, items = rows[analysis.measured].to_numpy(), _items(rows)
    found = []
    for values, places in groups.items():
        chosen = responses[places]
        interval = bootstrap_mean(chosen, items=None if items is None else items[places])
        found.append(
            {
                **dict(zip(by, values if len(by) != 1 else (values,), strict=True)),
                "mean": interval.mean,
                "low": interval.low,
                "high": interval.high,
                "items": interval.n,
                "rows": len(chosen),
            }
        )
    return pd.DataFrame(found, columns=[*by, "mean", "low", "high", "items", "rows"])


def _items(rows: pd.DataFrame) -> NDArray[np.intp] | None:
    """Return the index of each row's item; None if rows are not about single items."""
    named = [name for name in ("class", "suite", "item") if name in rows.columns]
    if "item" not in named:
        return None
    return np.asarray(rows.groupby(named, sort=False, dropna=False).ngroup().to_numpy())
