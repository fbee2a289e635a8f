"""Means with 95 % bootstrap intervals over items, for tables and figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gardenpath.eval.suites.scoring.aggregation import (
    LEVELS,
    Stratum,
    bootstrap_interval,
    item_outcomes,
)


def accuracies(items: pd.DataFrame, *, by: Sequence[str]) -> pd.DataFrame:
    """Return one row per group: its columns, then mean, low, high and counts.

    The values equal those of ``summarise``. A report needs hundreds of groups, so all of them are
    averaged in one pass over the table.
    """
    keys = list(by)
    levels = [one for one in reversed(LEVELS) if one in items.columns and one not in keys]
    outcomes = item_outcomes(items, [*keys, *levels])
    single = list(dict.fromkeys([*keys, *levels, "suite", "item"]))
    over_runs = outcomes.groupby(single, sort=False, dropna=False)["outcome"].mean()
    by_run = _nested(outcomes, keys, ["run", *levels])
    pooled = _nested(over_runs.reset_index(), keys, levels)
    rows = [
        (*group, _mean_of_means(by_run[group]), *bootstrap_interval(list(_strata(tree))))
        for group, tree in pooled.items()
    ]
    found = pd.DataFrame(rows, columns=[*keys, "mean", "low", "high"])
    return found.merge(_counts(items, keys), on=keys, how="left")


def _nested(
    table: pd.DataFrame, by: Sequence[str], keys: Sequence[str], *, value: str = "outcome"
) -> dict[Any, Any]:
    """Return, for each group, a tree of its values: one level per key, lists as leaves."""
    found: dict[Any, Any] = {}
    groups = zip(*(table[name].tolist() for name in by), strict=True)
    paths = zip(*(table[name].tolist() for name in keys), strict=True)
    for group, path, one in zip(groups, paths, table[value].tolist(), strict=True):
        branch = found.setdefault(group, {})
        for key in path[:-1]:
            branch = branch.setdefault(key, {})
        branch.setdefault(path[-1], []).append(one)
    return found


def _mean_of_means(tree: Any) -> float:
    """Return the mean of the means at each level; missing values are skipped."""
    below = tree if isinstance(tree, list) else [_mean_of_means(one) for one in tree.values()]
    known = [value for value in below if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def _strata(tree: Any, weight: float = 1.0) -> Iterator[Stratum]:
    """Yield the lists of a tree, each with its weight in the mean of means."""
    if isinstance(tree, list):
        values = np.array(tree, dtype=np.float64)
        yield Stratum(values[~np.isnan(values)], weight)
        return
    for branch in tree.values():
        yield from _strata(branch, weight / len(tree))


def _counts(items: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Count distinct items, runs, ties, missing values and out-of-vocabulary items per group."""
    known = [*by, "suite", "item"]
    single = items[[*known, "unknown"]].assign(unknown=items["unknown"] > 0)
    single = single.sort_values("unknown", ascending=False, kind="stable").drop_duplicates(known)
    groups = items.assign(missing=items["outcome"].isna()).groupby(by, sort=False, dropna=False)
    of_items = single.groupby(by, sort=False, dropna=False)["unknown"]
    columns = {
        "items": of_items.size(),
        "seeds": groups["run"].nunique(),
        "ties": groups["tie"].sum(),
        "missing": groups["missing"].sum(),
        "unknown": of_items.sum(),
    }
    return pd.DataFrame(columns).astype("int64").reset_index()


def bit_means(table: pd.DataFrame, *, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Return one row per group: its columns, mean, low, high, items and excluded values.

    Every item has the same weight, regardless of seeds and predictions, and every suite has the
    same weight, regardless of its items. Values that are not finite are excluded: the exact grammar
    assigns zero probability to some words.
    """
    by = list(by)
    finite = np.isfinite(table[value].astype("float64"))
    keys = list(dict.fromkeys([*by, "suite", "item"]))
    per_item = table[finite].groupby(keys, sort=False, dropna=False)[value].mean().reset_index()
    lost = (~finite).groupby([table[key] for key in by], sort=False, dropna=False).sum()
    rows = []
    for group, suites in _nested(per_item, by, ["suite"], value=value).items():
        interval = bootstrap_interval(list(_strata(suites)))
        items = sum(map(len, suites.values()))
        out = int(lost.loc[group if len(by) > 1 else group[0]])
        rows.append((*group, _mean_of_means(suites), *interval, items, out))
    return pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "items", "infinite"])
