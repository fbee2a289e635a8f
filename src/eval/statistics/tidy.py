"""Preparation of the rows of an analysis from a table of results, and their means.

``tidy`` selects rows, makes the columns that an analysis needs and tables lack, and says what was
left out; ``answering`` estimates from its rows, and reads nothing else.

*Seeds* become ranks. Runs of a model are numbered 1, 2, … within model and corpus, in the order of
their random seeds, so that the first runs of two models share a level of the random effect, whether
their seeds were 1 and 2 or 11 and 12, and whether folders are numbered with gaps or not.

*Comparisons*: in a suite with several predictions, every prediction of an item is a comparison of
its own, named by item and prediction (``3 mismatch_a>match_a``); elsewhere comparisons are items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd

from gardenpath.errors import StatisticsError
from gardenpath.eval.means import bootstrap_mean
from gardenpath.eval.statistics.analysis import CONTRAST, METRIC, RESPONSE_SE, VALUE, Analysis
from gardenpath.eval.suites.outcomes import USABLE
from gardenpath.store.tables import ERROR_COLUMNS
from gardenpath.util import key

# Means are not computed for predictors with more distinct values, which are continuous.
_FEW_VALUES = 12
# Most values of a column that a message lists.
_MOST_LISTED = 8
_MADE = (METRIC, VALUE, CONTRAST)
COMPARISON = "comparison"
_RUN_OF = ("model", "corpus")


def with_run_ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Replace seeds by the rank of the run within its model and corpus, from 1."""
    names = [name for name in ("run", *_RUN_OF, "seed") if name in table.columns]
    if not {*_RUN_OF, "seed"} <= set(names):
        return table
    runs = table[names].drop_duplicates(ignore_index=True)
    order = pd.to_numeric(runs["seed"], errors="coerce").astype("Float64")
    by = ["_seed", *(["run"] if "run" in names else [])]
    runs = runs.assign(_seed=order.fillna(np.inf)).sort_values(by, kind="stable")
    ranks = runs.groupby(list(_RUN_OF), sort=False, dropna=False).cumcount() + 1
    # Runs and groups are in the same order, that of their first appearance.
    numbers = table.groupby(names, sort=False, dropna=False).ngroup()
    return table.assign(seed=ranks.sort_index().to_numpy()[numbers])


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


@dataclass(frozen=True)
class TidyRows:
    """The rows of an analysis, and notes on rows that were left out.

    ``counted`` are the same rows before averaging, with the flag ``USABLE`` of their items.
    """

    rows: pd.DataFrame
    notes: list[str]
    counted: pd.DataFrame


def tidy(analysis: Analysis, table: pd.DataFrame) -> TidyRows:
    """Return the rows of an analysis.

    Seeds become ranks, rows are selected, columns derived, responses averaged if configured, and
    contrasts formed. A StatisticsError says which condition no row meets.
    """
    if USABLE not in table.columns:  # without counts of unknown words, all items are usable
        is_known = table["unknown"] == 0 if "unknown" in table.columns else True
        table = table.assign(**{USABLE: is_known})
    rows = with_comparisons(with_run_ranks(table))
    if missing := [name for name in _needed(analysis) if name not in rows.columns]:
        raise StatisticsError(f"the table has no column {', '.join(missing)}")
    notes: list[str] = []
    rows = _selected(analysis, rows)
    for column in analysis.derive:
        rows = _derived(analysis, column, rows, notes)
    rows = melted(analysis, rows)
    numbers = pd.to_numeric(rows[analysis.measured], errors="coerce").astype(np.float64)
    rows = rows.assign(**{analysis.measured: numbers})
    finite = np.isfinite(numbers.to_numpy())
    if not finite.any():
        raise StatisticsError(f"no row has a finite {analysis.measured}")
    if lost := int((~finite).sum()):
        notes.append(f"{lost} rows without a finite {analysis.measured} were left out")
    rows = rows[finite]
    # Groups and split columns are text; a missing value, such as no seed, becomes ''.
    texts = {*analysis.groups, *analysis.split, *analysis.codings} & set(rows.columns)
    filled = {name: rows[name].astype(object).where(rows[name].notna(), "") for name in texts}
    rows = rows.assign(**{name: values.astype(str) for name, values in filled.items()})
    counted = contrasted(analysis, rows.reset_index(drop=True))
    rows = rows.drop(columns=USABLE)
    rows = _averaged(rows, analysis) if analysis.average else rows.reset_index(drop=True)
    if analysis.is_weighted and (exact := int(rows[RESPONSE_SE].isna().sum())):
        notes.append(f"{exact} rows without a standard error count as exact in weights")
    return TidyRows(contrasted(analysis, rows), notes, counted)


def _needed(analysis: Analysis) -> list[str]:
    """Return the columns that a table must have; labels in ``where`` may be missing."""
    made = {*analysis.derive, *analysis.contrasts, *_MADE}
    rules = analysis.derive.values()
    used = (
        *(name for rule in rules for name in _sources(rule)),
        *(str(rule["otherwise"]) for rule in rules if "otherwise" in rule),
        *(str(rule["from"]) for rule in analysis.contrasts.values()),
        *(*analysis.split, *analysis.average, *analysis.responses),
        *(name for model in analysis.models for name in model.variables),
        *(*analysis.predictors, analysis.measured),
        *(("item",) if analysis.test == "within_item" else ()),
    )
    return [column for column in dict.fromkeys(used) if column not in made]


def _sources(rule: Mapping[str, Any]) -> list[str]:
    source = rule["from"]
    return [source] if isinstance(source, str) else [str(name) for name in source]


def _selected(analysis: Analysis, table: pd.DataFrame) -> pd.DataFrame:
    rows = table
    for column, wanted in analysis.where.items():
        values = [wanted] if isinstance(wanted, str) else list(wanted)
        patterns = [key(pattern) for pattern in values]
        # A label that no suite of the table has is empty in all rows.
        labels = rows[column] if column in rows.columns else pd.Series("", index=rows.index)
        keys = _keys(labels)
        fitting = {name for name in keys.unique() if any(fnmatchcase(name, p) for p in patterns)}
        chosen = rows[keys.isin(fitting).to_numpy()]
        if chosen.empty and column not in rows.columns:
            raise StatisticsError(f"the table has no column {column}")
        if chosen.empty:
            names = " or ".join(str(value) or "(empty)" for value in values)
            raise StatisticsError(f"no row has {column} {names} (it has {_listed(labels)})")
        rows = chosen
    return rows.copy()


def _keys(column: pd.Series) -> pd.Series:
    """Return values as they are compared with patterns; missing ones are empty."""
    return column.astype(object).where(column.notna(), "").map(key)


def _listed(column: pd.Series) -> str:
    names = [str(value) or "(empty)" for value in column.unique()]
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f"{', '.join(names[:_MOST_LISTED])}{more}" if names else "nothing"


def _derived(analysis: Analysis, column: str, rows: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Add a derived column; rows that have no value in it are dropped, with a note."""
    rule = analysis.derive[column]
    sources = _sources(rule)
    joined = _keys(rows[sources[0]])
    for name in sources[1:]:
        joined = joined + "/" + _keys(rows[name])
    patterns = {key(name): value for name, value in rule["values"].items()}
    values = joined.map({name: _first_match(name, patterns) for name in joined.unique()})
    if "otherwise" in rule:
        values = values.where(values.notna(), rows[str(rule["otherwise"])])
    known = values.notna().to_numpy()
    if not known.any():
        raise StatisticsError(
            f"no row has {' and '.join(sources)} {' or '.join(map(str, rule['values']))} "
            f"(it has {_listed(joined)})"
        )
    if not known.all():
        names = _listed(joined[~known])
        notes.append(f"rows with {' and '.join(sources)} {names} were left out: no {column}")
    result = rows.assign(**{column: values})[known]
    # None marks rows that are left out.
    listed = [value for value in rule["values"].values() if value is not None]
    is_numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in listed)
    if is_numeric and "otherwise" not in rule:
        result[column] = result[column].astype(np.float64)
    return result


def _first_match(value: str, patterns: Mapping[str, Any]) -> Any:
    if value in patterns:
        return patterns[value]
    return next((made for name, made in patterns.items() if fnmatchcase(value, name)), None)


def _averaged(rows: pd.DataFrame, analysis: Analysis) -> pd.DataFrame:
    made = [METRIC] if analysis.responses else []
    kept = list(dict.fromkeys([*analysis.average, *analysis.split, *made, *analysis.derive]))
    groups = rows.groupby(kept, sort=False, dropna=False, observed=True)
    means = groups[analysis.measured].mean().reset_index()
    if analysis.is_weighted:
        # The errors of different items and runs count as independent.
        squares = rows.assign(**{RESPONSE_SE: rows[RESPONSE_SE] ** 2})
        sums = squares.groupby(kept, sort=False, dropna=False, observed=True)[RESPONSE_SE]
        means[RESPONSE_SE] = (np.sqrt(sums.sum(min_count=1)) / groups.size()).to_numpy()
    return means


def parts(analysis: Analysis, rows: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield each combination of the split columns with its rows."""
    by = list(analysis.parts_by)
    if not by:
        yield {}, rows
        return
    for values, part in rows.groupby(by, sort=True, observed=True):
        named = values if isinstance(values, tuple) else (values,)
        names = dict(zip(by, map(str, named), strict=True))
        yield names, part.reset_index(drop=True)


def mean_table(
    analysis: Analysis,
    rows: pd.DataFrame,
    answered: Sequence[Mapping[str, str]],
    min_items: int,
) -> pd.DataFrame:
    """Return mean responses by part and predictor, with bootstrap intervals over items.

    Means of fewer items than ``min_items``, and those of parts that were not ``answered``, have no
    interval.
    """
    predictors = [name for name in analysis.predictors if rows[name].nunique() <= _FEW_VALUES]
    by = list(dict.fromkeys([*analysis.parts_by, *predictors]))
    groups = rows.groupby(by, sort=True, observed=True).indices if by else {(): slice(None)}
    responses, items = rows[analysis.measured].to_numpy(), None
    if "item" in rows.columns:  # rows are about single items
        item = [name for name in ("class", "suite", "item") if name in rows.columns]
        items = rows.groupby(item, sort=False, dropna=False).ngroup().to_numpy()
    means = []
    for values, places in groups.items():
        chosen = responses[places]
        interval = bootstrap_mean(chosen, items=None if items is None else items[places])
        named = dict(zip(by, values if len(by) != 1 else (values,), strict=True))
        part = {name: str(named[name]) for name in analysis.parts_by}
        is_known = part in answered and (items is None or interval.n >= min_items)
        means.append(
            {
                **named,
                "mean": interval.mean,
                "low": interval.low if is_known else np.nan,
                "high": interval.high if is_known else np.nan,
                "items": interval.n,
                "rows": len(chosen),
            }
        )
    return pd.DataFrame(means, columns=[*by, "mean", "low", "high", "items", "rows"])
