"""Confidence intervals of means: bootstrap over items, within items, and one-sample t tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.choices import WithinMethod
from gardenpath.eval.statistics.statistics_error import StatisticsError

RESAMPLES = 2000
LEVEL = 0.95
# The factor of a standard error that papers use for 95 %.
NORMAL = 1.96

# Maximum number of resampled values in memory.
_BLOCK = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The mean of ``n`` units and its confidence interval."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TTest:
    """A two-sided one-sample t test with the confidence interval of the mean."""

    mean: float
    deviation: float
    n: int
    statistic: float
    df: int
    p: float
    low: float
    high: float

    @property
    def standard_error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / math.sqrt(self.n)


def normal_interval(values: ArrayLike) -> Interval:
    """Return the mean with an interval of 1.96 standard errors; missing values are dropped.

    A single value, which has no standard error, has no interval either (NaN).
    """
    flat = np.asarray(values, dtype=np.float64)
    flat = flat[np.isfinite(flat)]
    if not len(flat):
        raise StatisticsError("there are no values")
    mean = float(flat.mean())
    error = float(flat.std(ddof=1)) / math.sqrt(len(flat)) if len(flat) > 1 else math.nan
    return Interval(mean=mean, low=mean - NORMAL * error, high=mean + NORMAL * error, n=len(flat))


def bootstrap_mean(
    values: ArrayLike,
    *,
    items: Sequence[Any] | NDArray[Any] | None = None,
    samples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> Interval:
    """Compute the percentile bootstrap interval of a mean.

    If ``items`` are given (one per value), values are averaged by item and items are resampled,
    because several seeds or comparisons of an item are not independent. Missing values are dropped.
    """
    units = _units(values, items)
    if not len(units):
        return Interval(mean=math.nan, low=math.nan, high=math.nan, n=0)
    dice = np.random.default_rng(seed)
    size = len(units)
    rows = max(1, _BLOCK // size)
    means = np.concatenate(
        [
            units[dice.integers(size, size=(min(rows, samples - start), size))].mean(axis=1)
            for start in range(0, samples, rows)
        ]
    )
    low, high = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(mean=float(units.mean()), low=float(low), high=float(high), n=size)


def _units(values: ArrayLike, items: Sequence[Any] | NDArray[Any] | None) -> np.ndarray[Any, Any]:
    flat = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(flat)
    if items is None:
        return flat[finite]
    places, _ = pd.factorize(np.asarray(items)[finite])
    return np.bincount(places, flat[finite]) / np.bincount(places)


def t_test(values: ArrayLike, *, against: float = 0.0, level: float = LEVEL) -> TTest:
    """Test whether the mean differs from ``against``; missing values are dropped."""
    flat = np.asarray(values, dtype=np.float64)
    flat = flat[np.isfinite(flat)]
    if len(flat) < 2:
        raise StatisticsError(f"a t test needs at least two values, not {len(flat)}")
    deviation = float(flat.std(ddof=1))
    if deviation == 0.0:
        raise StatisticsError(f"every value is the same, {flat[0]:g}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nearly constant values
        found = ttest_1samp(flat, against)
    interval = found.confidence_interval(level)
    return TTest(
        mean=float(flat.mean()),
        deviation=deviation,
        n=len(flat),
        statistic=float(found.statistic),
        df=int(found.df),
        p=float(found.pvalue),
        low=float(interval.low),
        high=float(interval.high),
    )


def within_item_intervals(
    table: pd.DataFrame,
    *,
    value: str,
    condition: str,
    item: str,
    method: WithinMethod = "masson_loftus",
    level: float = LEVEL,
) -> dict[str, Interval]:
    """Compute intervals of condition means that exclude the variance between items.

    *Loftus and Masson (1994)*: the half-width ``t · sqrt(MS / n)``, with (n − 1)(J − 1) degrees of
    freedom, is the same for all conditions; MS is the mean square of the interaction of items and
    conditions. *Cousineau (2005) with the correction of Morey (2008)*: each condition has its own
    width, from values centred by item, with their variance multiplied by J / (J − 1).
    *Item-centred*: 1.96 standard errors of values centred by item, without the correction, as some
    papers report; it is too narrow, by a factor of sqrt(1/2) with two conditions. Items that lack a
    condition are dropped.
    """
    wide = table.pivot_table(index=item, columns=condition, values=value, aggfunc="mean").dropna()
    count, conditions = wide.shape
    if count < 2 or conditions < 2:
        raise StatisticsError(
            f"within-item intervals need two items and two conditions, not {count} and {conditions}"
        )
    cells = wide.to_numpy(dtype=np.float64)
    reaches = _within_reaches(cells, method, level)
    means = cells.mean(axis=0)
    return {
        str(name): Interval(
            mean=float(means[k]),
            low=float(means[k] - reaches[k]),
            high=float(means[k] + reaches[k]),
            n=count,
        )
        for k, name in enumerate(wide.columns)
    }


def _within_reaches(cells: Floats, method: WithinMethod, level: float) -> Floats:
    """Return the half-width of each condition's interval; ``cells`` is (items, conditions)."""
    count, conditions = cells.shape
    normed = cells - cells.mean(axis=1, keepdims=True)
    squares = (normed - normed.mean(axis=0)) ** 2
    if method == "masson_loftus":
        df = (count - 1) * (conditions - 1)
        variances = np.full(conditions, squares.sum() / df)
    elif method == "item_centred":
        return np.asarray(NORMAL * np.sqrt(squares.sum(axis=0) / (count - 1) / count))
    else:
        df = count - 1
        variances = squares.sum(axis=0) / df * conditions / (conditions - 1)
    return np.asarray(student.ppf((1.0 + level) / 2.0, df) * np.sqrt(variances / count))
