"""Means and their intervals: the one place that computes them.

*Nested means* average the outcomes of an item over its predictions, then over the items of a
suite, then over the factors of a study (pronouns for reflexives, modifiers for the Mandarin
suites), then over random seeds. Small and large suites thus have the same weight. (Counterbalanced
sentences are averaged earlier, when region surprisals are computed.) *Bootstrap intervals* resample
items; *normal intervals* are 1.96 standard errors. Suites, analyses, reports and studies call this
module. It reads tables of items, and neither scores nor writes anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gardenpath.data.arrays import Floats
from gardenpath.errors import StatisticsError
from gardenpath.eval.suites.outcomes import MIN_ITEMS, is_enough, usable_counts
from gardenpath.store.tables import COULD_FLIP, NEAR_TIE, NEAR_TIES, SUMMARY_KEYS

# Factors to average over, the outermost first, if a table has the column and is not grouped by it.
LEVELS = ("class", "modifier", "pronoun", "suite")

BOOTSTRAP_SAMPLES = 2000
LEVEL = 0.95
# The factor of a standard error that papers use for 95 %.
NORMAL = 1.96
# Maximum number of resampled values in memory.
_BLOCK = 2_000_000

# Values by one level of keys after the other; the leaves are sequences.
Tree = Mapping[Any, "Tree"] | Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The mean of ``n`` units and its confidence interval."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Stratum:
    """Values of a stratum and the weight of their mean in the overall mean."""

    values: Floats
    weight: float = 1.0


def normal_interval(values: ArrayLike) -> Interval:
    """Return the mean with an interval of 1.96 standard errors; missing values are dropped.

    A single value, which has no standard error, has no interval either (NaN).
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        raise StatisticsError("there are no values")
    mean = float(known.mean())
    reach = math.nan
    if len(known) > 1:
        reach = NORMAL * (float(known.std(ddof=1)) / math.sqrt(len(known)))
    return Interval(mean=mean, low=mean - reach, high=mean + reach, n=len(known))


def bootstrap_interval(
    strata: Sequence[Stratum],
    *,
    samples: int = BOOTSTRAP_SAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> tuple[float, float]:
    """Return a bootstrap interval of the weighted mean of the means of the strata.

    Items are resampled within each stratum. The interval is given by percentiles of ``samples``
    replicates; it is NaN without values.
    """
    filled = [stratum for stratum in strata if len(stratum.values)]
    if not filled:
        return math.nan, math.nan
    dice = np.random.default_rng(seed)
    replicates = np.zeros(samples)
    for stratum in filled:
        size = len(stratum.values)
        rows = max(1, _BLOCK // size)
        for start in range(0, samples, rows):
            drawn = dice.integers(size, size=(min(rows, samples - start), size))
            means = stratum.values[drawn].mean(axis=1)
            replicates[start : start + rows] += stratum.weight * means
    outside = 50.0 * (1.0 - level)
    total = sum(stratum.weight for stratum in filled)
    low, high = np.percentile(replicates / total, [outside, 100.0 - outside])
    return float(low), float(high)


def bootstrap_mean(
    values: ArrayLike,
    *,
    items: Sequence[Any] | NDArray[Any] | None = None,
    samples: int = BOOTSTRAP_SAMPLES,
    seed: int = 0,
) -> Interval:
    """Return a mean with its bootstrap interval; missing values are dropped.

    If ``items`` are given (one per value), values are averaged by item and items are resampled,
    because several seeds or comparisons of an item are not independent.
    """
    units = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(units)
    units = units[finite]
    if items is not None:
        places, _ = pd.factorize(np.asarray(items)[finite])
        units = np.bincount(places, units) / np.bincount(places)
    mean = float(units.mean()) if len(units) else math.nan
    low, high = bootstrap_interval([Stratum(units)], samples=samples, seed=seed)
    return Interval(mean=mean, low=low, high=high, n=len(units))


def nested(
    table: pd.DataFrame, by: Sequence[str], keys: Sequence[str], *, value: str = "outcome"
) -> dict[Any, Any]:
    """Return the tree of values of each group, in order of appearance: one level per key."""
    groups: dict[Any, Any] = {}
    # Missing keys are None, because NaN would not be equal to itself.
    columns = [
        table[name].astype(object).where(table[name].notna(), None).tolist()
        for name in (*by, *keys)
    ]
    for number, leaf in enumerate(table[value].tolist()):
        path = [column[number] for column in columns]
        group, place = tuple(path[: len(by)]), path[len(by) :]
        branch, key = groups, group
        for below in place:
            branch, key = branch.setdefault(key, {}), below
        branch.setdefault(key, []).append(leaf)
    return groups


def mean_of_means(tree: Tree) -> float:
    """Return the mean of the means at each level of a tree; missing values are skipped."""
    below = list(map(mean_of_means, tree.values())) if isinstance(tree, Mapping) else tree
    known = [value for value in below if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def strata_of(tree: Tree, weight: float = 1.0) -> Iterator[Stratum]:
    """Yield the leaves of a tree, each with its weight in the mean of means."""
    if isinstance(tree, Mapping):
        for branch in tree.values():
            yield from strata_of(branch, weight / len(tree))
    else:
        values = np.array(tree, dtype=np.float64)
        yield Stratum(values[~np.isnan(values)], weight)


def levels_of(table: pd.DataFrame, by: Sequence[str]) -> list[str]:
    """Return the factors over which a table that is grouped by ``by`` is averaged."""
    return [level for level in LEVELS if level in table.columns and level not in by]


def item_outcomes(items: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return the mean outcome of each run and item over predictions, with columns ``keys``."""
    columns = list(dict.fromkeys([*keys, "run", "suite", "item"]))
    return items.groupby(columns, dropna=False, sort=False)["outcome"].mean().reset_index()


def summarise(
    items: pd.DataFrame,
    *,
    by: Sequence[str] = SUMMARY_KEYS,
    samples: int = BOOTSTRAP_SAMPLES,
    min_items: int = MIN_ITEMS,
) -> pd.DataFrame:
    """Return one row per group: accuracy with its interval, and counts.

    ``items`` is a table of items (see ``results``). Columns after those of the groups:
    ``accuracy``, ``low``, ``high`` (95 %), ``items`` (distinct items), ``seeds`` (runs), ``ties``,
    ``near_ties`` and ``missing`` (predictions of all runs that were tied, exactly or nearly, or
    lacked a surprisal), ``unknown`` (items with out-of-vocabulary critical words), ``usable``
    (items without these whose surprisals are present for all runs) and, if the table has search
    errors, ``could_flip`` (predictions of all runs whose outcome is within its error; missing if
    no error is known). Groups with fewer usable items than ``min_items``, or than half, have no
    interval.
    """
    keys = list(by)
    levels = levels_of(items, keys)
    outcomes = item_outcomes(items, [*keys, *levels])
    of_item = list(dict.fromkeys([*keys, *levels, "suite", "item"]))
    over_runs = outcomes.groupby(of_item, sort=False, dropna=False)["outcome"].mean().reset_index()
    pooled = nested(over_runs, keys, levels)
    accuracies = _nested_means(outcomes, keys, ["run", *levels])
    # All are in order of first appearance, so no join is needed, which missing keys would break.
    counts = _counts(items, keys)
    rows = []
    for (group, tree), accuracy, usable, of in zip(
        pooled.items(), accuracies, counts["usable"], counts["items"], strict=True
    ):
        strata = list(strata_of(tree)) if is_enough(usable, of, min_items) else []
        low, high = bootstrap_interval(strata, samples=samples)
        rows.append((*group, accuracy, low, high))
    summary = pd.DataFrame(rows, columns=[*keys, "accuracy", "low", "high"])
    return pd.concat([summary, counts], axis=1)


def _nested_means(outcomes: pd.DataFrame, by: Sequence[str], levels: Sequence[str]) -> list[float]:
    """Return the mean of means of each group, the last level first."""
    path = list(dict.fromkeys([*by, *levels]))
    means = outcomes.groupby(path, dropna=False, sort=False)["outcome"].mean()
    for end in range(len(path) - 1, len(by), -1):
        means = means.groupby(level=path[:end], dropna=False, sort=False).mean()
    groups = means.groupby(level=list(by), dropna=False, sort=False)
    return [float(values.mean()) for _, values in groups]


def _counts(items: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the counts of each group, in order of first appearance."""
    marked = items.assign(missing=items["outcome"].isna(), **{NEAR_TIE: near_tied(items)})
    groups = marked.groupby(keys, dropna=False, sort=False)
    of_items = usable_counts(items, keys)
    columns = {
        "items": of_items["items"],
        "seeds": groups["run"].nunique(dropna=False),
        "ties": groups["tie"].sum(),
        NEAR_TIES: groups[NEAR_TIE].sum(),
        "missing": groups["missing"].sum(),
        "unknown": of_items["unknown"],
        "usable": of_items["usable"],
    }
    counts = pd.DataFrame(
        {name: column.to_numpy().astype("int64") for name, column in columns.items()}
    )
    if COULD_FLIP in items.columns:
        # The number of outcomes within their error; missing if no error is known.
        counts[COULD_FLIP] = groups[COULD_FLIP].sum(min_count=1).astype("Int64").array
    return counts


def near_tied(table: pd.DataFrame) -> pd.Series:
    """Return which rows of items or effects are near ties; none in tables without the column."""
    if NEAR_TIE in table.columns:
        return table[NEAR_TIE].astype(bool)
    return pd.Series(False, index=table.index)
