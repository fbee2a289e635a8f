"""Accuracies, averaged as in the published studies, with bootstrap intervals over items.

Averages are taken over the predictions of an item, then over the items of a suite, then over the
factors of a study: pronouns for reflexives, modifiers for the Mandarin suites, and random seeds for
all. Small and large suites thus have the same weight. (Counterbalanced sentences are averaged
earlier, when region surprisals are computed.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gardenpath.eval.suites.outcomes import MIN_ITEMS, is_enough, usable_counts
from gardenpath.store.tables import COULD_FLIP, NEAR_TIE, NEAR_TIES, SUMMARY_KEYS

# Factors to average over, in this order, if a table has the column and is not grouped by it.
LEVELS = ("suite", "pronoun", "modifier", "class")

BOOTSTRAP_SAMPLES = 2000


def item_outcomes(items: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return the mean outcome of each run and item over predictions, with columns ``keys``."""
    columns = list(dict.fromkeys([*keys, "run", "suite", "item"]))
    return items.groupby(columns, dropna=False, sort=False)["outcome"].mean().reset_index()


def accuracy(outcomes: pd.DataFrame, levels: Sequence[str]) -> float:
    """Return the mean over items, then over each level in turn, then over runs."""
    keys = ["run", *reversed(levels)]
    means = outcomes.groupby(keys, dropna=False, sort=False)["outcome"].mean()
    while len(keys) > 1:
        keys.pop()
        means = means.groupby(level=keys, dropna=False, sort=False).mean()
    return float(means.mean())


@dataclass(frozen=True, slots=True)
class Stratum:
    """Values of a stratum and the weight of their mean in the overall mean."""

    values: NDArray[np.float64]
    weight: float = 1.0


def bootstrap_interval(
    strata: Sequence[Stratum],
    *,
    samples: int = BOOTSTRAP_SAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return a bootstrap interval of the weighted mean of the means of the strata.

    Items are resampled within each stratum. The interval is given by percentiles of ``samples``
    replicates; it is NaN without values.
    """
    kept = [stratum for stratum in strata if len(stratum.values)]
    if not kept:
        return float("nan"), float("nan")
    dice = np.random.default_rng(seed)
    replicates = np.zeros(samples)
    for stratum in kept:
        size = len(stratum.values)
        drawn = dice.integers(size, size=(samples, size))
        replicates += stratum.weight * stratum.values[drawn].mean(axis=1)
    outside = 50.0 * (1.0 - level)
    limits = [outside, 100.0 - outside]
    low, high = np.percentile(replicates / sum(one.weight for one in kept), limits)
    return float(low), float(high)


def summarise(
    items: pd.DataFrame,
    *,
    by: Sequence[str] = SUMMARY_KEYS,
    samples: int = BOOTSTRAP_SAMPLES,
    seed: int = 0,
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
    levels = [level for level in LEVELS if level in items.columns and level not in by]
    outcomes = item_outcomes(items, [*keys, *levels])
    # Both are in order of first appearance, so no join is needed, which missing keys would break.
    counts = _counts(items, keys)
    groups = outcomes.groupby(keys, dropna=False, sort=False)
    rows = []
    for (key, group), usable, of in zip(groups, counts["usable"], counts["items"], strict=True):
        low = high = float("nan")
        if is_enough(usable, of, min_items):
            low, high = bootstrap_interval(_strata(group, levels), samples=samples, seed=seed)
        rows.append((*key, accuracy(group, levels), low, high))
    summary = pd.DataFrame(rows, columns=[*keys, "accuracy", "low", "high"])
    return pd.concat([summary, counts], axis=1)


def _strata(outcomes: pd.DataFrame, levels: Sequence[str]) -> list[Stratum]:
    """Return the outcomes of items, averaged over runs, for each combination of the levels."""
    if not levels:
        return [Stratum(_over_runs(outcomes))]
    outermost = levels[-1]
    parts = [part for _, part in outcomes.groupby(outermost, dropna=False, sort=False)]
    return [
        Stratum(stratum.values, stratum.weight / len(parts))
        for part in parts
        for stratum in _strata(part, levels[:-1])
    ]


def _over_runs(outcomes: pd.DataFrame) -> NDArray[np.float64]:
    keys = ["suite", "item"]
    means = outcomes.groupby(keys, dropna=False, sort=False)["outcome"].mean().dropna()
    return np.asarray(means.to_numpy(dtype=np.float64))


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
        counts[COULD_FLIP] = flip_counts(groups).array
    return counts


def near_tied(table: pd.DataFrame) -> pd.Series:
    """Return which rows of items or effects are near ties; none in tables without the column."""
    if NEAR_TIE in table.columns:
        return table[NEAR_TIE].astype(bool)
    return pd.Series(False, index=table.index)


def flip_counts(groups: pd.api.typing.DataFrameGroupBy) -> pd.Series:
    """Return the number of outcomes within their error in each group; missing if none is known."""
    return groups[COULD_FLIP].sum(min_count=1).astype("Int64")
