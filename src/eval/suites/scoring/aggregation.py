"""Accuracies, averaged the way the studies do, with bootstrap intervals over items.

The comparisons of an item are averaged first, then the items of a suite, then what a study keeps
apart: reflexives average over pronouns, the Mandarin suites over modifier types, all over seeds. An
average of averages weighs a small suite like a large one. (Counterbalanced sentences are averaged
before any comparison, where region surprisals are computed.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gardenpath.store.tables import SUMMARY_KEYS

# What is averaged over one after the other, where a table has it and does not show it apart.
LEVELS = ("suite", "pronoun", "modifier", "class")

BOOTSTRAP_SAMPLES = 2000


def item_outcomes(items: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """One row per run and item: its mean outcome over comparisons, beside the columns ``keys``."""
    columns = list(dict.fromkeys([*keys, "run", "suite", "item"]))
    return items.groupby(columns, dropna=False, sort=False)["outcome"].mean().reset_index()


def accuracy(outcomes: pd.DataFrame, levels: Sequence[str]) -> float:
    """Mean over items, then over each level in turn, then over runs."""
    keys = ["run", *reversed(levels)]
    means = outcomes.groupby(keys, dropna=False, sort=False)["outcome"].mean()
    while len(keys) > 1:
        keys.pop()
        means = means.groupby(level=keys, dropna=False, sort=False).mean()
    return float(means.mean())


@dataclass(frozen=True, slots=True)
class Stratum:
    """Values of which a mean is taken, and the weight of that mean in the whole."""

    values: NDArray[np.float64]
    weight: float = 1.0


def bootstrap_interval(
    strata: Sequence[Stratum], *, samples: int = BOOTSTRAP_SAMPLES, seed: int = 0
) -> tuple[float, float]:
    """A 95 % interval of the weighted mean of the strata's means, items drawn anew within each.

    Percentiles of ``samples`` replicates; NaN where there is no value at all.
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
    low, high = np.percentile(replicates / sum(one.weight for one in kept), [2.5, 97.5])
    return float(low), float(high)


def summarise(
    items: pd.DataFrame,
    *,
    by: Sequence[str] = SUMMARY_KEYS,
    samples: int = BOOTSTRAP_SAMPLES,
    seed: int = 0,
) -> pd.DataFrame:
    """One row per group: accuracy with its interval, and what stands behind it.

    ``items`` is a table of items (see ``results``). Columns after the groups': ``accuracy``,
    ``low``, ``high`` (95 %), ``items`` (different ones), ``seeds`` (runs), ``ties`` and ``missing``
    (comparisons of all runs that were tied, and that lacked a surprisal), ``unknown`` (items with
    critical words that a model does not know).
    """
    keys = list(by)
    levels = [level for level in LEVELS if level in items.columns and level not in by]
    outcomes = item_outcomes(items, [*keys, *levels])
    rows = []
    for key, group in outcomes.groupby(keys, dropna=False, sort=False):
        low, high = bootstrap_interval(_strata(group, levels), samples=samples, seed=seed)
        rows.append((*key, accuracy(group, levels), low, high))
    summary = pd.DataFrame(rows, columns=[*keys, "accuracy", "low", "high"])
    # Both are in the order of first appearance, so that keys with missing values need no join.
    return pd.concat([summary, _counts(items, keys)], axis=1)


def _strata(outcomes: pd.DataFrame, levels: Sequence[str]) -> list[Stratum]:
    """The outcomes of items, averaged over runs, in each combination of the levels."""
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
    """What stands behind each group, in the order of their first appearance."""
    marked = items.assign(missing=items["outcome"].isna(), is_unknown=items["unknown"] > 0)
    groups = marked.groupby(keys, dropna=False, sort=False)
    per_item = list(dict.fromkeys([*keys, "suite", "item"]))
    single = marked.groupby(per_item, dropna=False, sort=False)["is_unknown"].any().reset_index()
    of_items = single.groupby(keys, dropna=False, sort=False)["is_unknown"]
    columns = {
        "items": of_items.size(),
        "seeds": groups["run"].nunique(dropna=False),
        "ties": groups["tie"].sum(),
        "missing": groups["missing"].sum(),
        "unknown": of_items.sum(),
    }
    return pd.DataFrame(
        {name: column.to_numpy().astype("int64") for name, column in columns.items()}
    )
