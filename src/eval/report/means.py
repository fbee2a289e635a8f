"""Means with 95 % bootstrap intervals over items, the way tables and figures show them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from src.eval.suites.aggregation import summarise

RESAMPLES = 2000


def accuracies(items: pd.DataFrame, *, by: Sequence[str]) -> pd.DataFrame:
    """One row per group: its columns, then mean, low, high and the counts behind them."""
    return summarise(items, by=by).rename(columns={"accuracy": "mean"})


def bit_means(table: pd.DataFrame, *, value: str, by: Sequence[str]) -> pd.DataFrame:
    """One row per group: its columns, then mean, low, high, items and how many were left out.

    An item counts once, whatever its seeds and comparisons, and a suite once, whatever its items.
    Values that are not finite are left out: the exact grammar finds some words impossible.
    """
    by = list(by)
    finite = np.isfinite(table[value].astype("float64"))
    keys = list(dict.fromkeys([*by, "suite", "item"]))
    per_item = table[finite].groupby(keys, sort=False, dropna=False)[value].mean().reset_index()
    lost = (~finite).groupby([table[key] for key in by], sort=False, dropna=False).sum()
    rows = []
    for key, group in per_item.groupby(by, sort=False, dropna=False):
        suites = [
            values.to_numpy(dtype=np.float64)
            for _, values in group.groupby("suite", sort=False)[value]
        ]
        mean = float(np.mean([values.mean() for values in suites]))
        out = int(lost.loc[key if len(by) > 1 else key[0]])
        rows.append((*key, mean, *_interval(suites), len(group), out))
    return pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "items", "infinite"])


def _interval(suites: Sequence[npt.NDArray[np.float64]]) -> tuple[float, float]:
    """95 % percentile interval of the mean of the suites' means, items drawn anew in each."""
    dice = np.random.default_rng(0)
    means = np.zeros(RESAMPLES)
    for values in suites:
        drawn = dice.integers(len(values), size=(RESAMPLES, len(values)))
        means += values[drawn].mean(axis=1)
    low, high = np.percentile(means / len(suites), [2.5, 97.5])
    return float(low), float(high)
