"""Columns and rows that analyses need and tables of results do not have.

*Seeds* become ranks. Runs of a model are numbered 1, 2, … within model and corpus, in the order of
their random seeds, so that the first runs of two models share a level of the random effect, whether
their seeds were 1 and 2 or 11 and 12, and whether folders are numbered with gaps or not.

*Comparisons*: in a suite with several predictions, every prediction of an item is a comparison of
its own, named by item and prediction (``3 mismatch_a>match_a``); elsewhere comparisons are items.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from gardenpath.eval.statistics.questions.analysis import (
    CONTRAST,
    METRIC,
    RESPONSE_SE,
    VALUE,
    Analysis,
)
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.store.tables import ERROR_COLUMNS
from gardenpath.text import key

COMPARISON = "comparison"
_RUN_OF = ("model", "corpus")


def with_run_ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Replace seeds by the rank of the run within its model and corpus, from 1."""
    names = [name for name in ("run", *_RUN_OF, "seed") if name in table.columns]
    if not {*_RUN_OF, "seed"} <= set(names):
        return table
    runs = table[names].drop_duplicates().copy()
    order = pd.to_numeric(runs["seed"], errors="coerce").astype("Float64")
    by = ["_seed", *(["run"] if "run" in names else [])]
    runs = runs.assign(_seed=order.fillna(np.inf)).sort_values(by, kind="stable")
    runs["_rank"] = runs.groupby(list(_RUN_OF), sort=False, dropna=False).cumcount() + 1
    ranks = dict(zip(_keys(runs, names), runs["_rank"], strict=True))
    return table.assign(seed=[ranks[one] for one in _keys(table, names)])


def _keys(table: pd.DataFrame, names: list[str]) -> Iterator[tuple[str, ...]]:
    columns = [table[name].astype(str) for name in names]
    return zip(*columns, strict=True)


def with_comparisons(table: pd.DataFrame) -> pd.DataFrame:
    """Add the column ``comparison`` to a table with items."""
    if "item" not in table.columns or COMPARISON in table.columns:
        return table
    if "prediction" not in table.columns:
        return table.assign(**{COMPARISON: table["item"].astype(str)})
    suite = [name for name in ("suite", "class", "modifier") if name in table.columns]
    by = [table[name] for name in suite] or [np.zeros(len(table))]
    several = table.groupby(by, sort=False, dropna=False)["prediction"].transform("nunique") > 1
    items = table["item"].astype(str)
    named = items + " " + table["prediction"].astype(str)
    return table.assign(**{COMPARISON: items.where(~several, named)})


def melted(analysis: Analysis, rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per response, with its name in ``metric`` and its number in ``value``.

    In weighted analyses, rows have the standard error of their response in ``response_se``.
    """
    if not analysis.responses:
        return rows.assign(**_errors(analysis, rows, analysis.measured))
    kept = rows.drop(columns=list(analysis.responses))
    blocks = [
        kept.assign(
            **{METRIC: name, VALUE: pd.to_numeric(rows[name], errors="coerce")},
            **_errors(analysis, rows, name),
        )
        for name in analysis.responses
    ]
    return pd.concat(blocks, ignore_index=True)


def _errors(analysis: Analysis, rows: pd.DataFrame, response: str) -> dict[str, pd.Series]:
    """Return the standard errors of a response as a column, if the analysis is weighted."""
    if not analysis.is_weighted:
        return {}
    column = ERROR_COLUMNS[response]
    if column not in rows.columns:
        raise StatisticsError(
            f"weights: error needs standard errors, but the table has no column {column}; they "
            "come from a search with replicates"
        )
    return {RESPONSE_SE: pd.to_numeric(rows[column], errors="coerce").astype(np.float64)}


def contrasted(analysis: Analysis, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of every pair of a contrast, coded −0.5 and 0.5; a row may occur in several.

    A pair of which only one side has rows is kept, so that the analysis says what is missing.
    """
    blocks = []
    for column, rule in analysis.contrasts.items():
        values = rows[str(rule["from"])].map(key)
        for first, second in rule["pairs"]:
            sides = values.map({key(first): -0.5, key(second): 0.5})
            chosen = rows.assign(**{column: sides.astype(np.float64)})[sides.notna().to_numpy()]
            blocks.append(chosen.assign(**{CONTRAST: contrast_label(first, second)}))
    return pd.concat(blocks, ignore_index=True) if blocks else rows


def contrast_label(first: object, second: object) -> str:
    """Return the name of a pair in the column ``contrast``: ``object → adjunct``."""
    return f"{first} → {second}"
