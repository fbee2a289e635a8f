"""Pearson's correlation, with an interval."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import pearsonr

from gardenpath.eval.statistics.questions import wording
from gardenpath.eval.statistics.statistics_error import StatisticsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Pearson's r with Fisher's z interval, which is NaN for fewer than four pairs."""

    r: float
    n: int
    df: int
    p: float
    low: float
    high: float

    def in_words(self) -> str:
        """Format as ``r(4) = 0.62, 95 % interval −0.37 to 0.95, p = .190``."""
        interval = (
            f", 95 % interval {wording.rounded(self.low)} to {wording.rounded(self.high)}"
            if math.isfinite(self.low)
            else ""
        )
        return f"r({self.df}) = {wording.rounded(self.r)}{interval}, {wording.p_value(self.p)}"


def pearson(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Compute Pearson's correlation; pairs with a missing value are dropped."""
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(x) < 3:
        raise StatisticsError(f"a correlation needs at least three pairs, not {len(x)}")
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        raise StatisticsError("one of the two variables is the same in every pair")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nearly constant values
        found = pearsonr(x, y)
    r, df = float(found.statistic), len(x) - 2
    low = high = math.nan
    if len(x) > 3 and abs(r) < 1.0:
        low, high = map(float, found.confidence_interval(level))
    return Correlation(r=r, n=len(x), df=df, p=float(found.pvalue), low=low, high=high)
