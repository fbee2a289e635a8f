"""Tests and effect sizes that need no mixed model.

Adjusted p values (as in R's ``p.adjust``), Pearson's correlation, t tests, intervals within items,
effect sizes and the exact permutation test, for ``answering`` and the studies. Means with bootstrap
and normal intervals are in ``gardenpath.eval.means``. Functions take numbers and give numbers: what
they are about is not known here.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gardenpath.data.arrays import Floats
from gardenpath.errors import StatisticsError
from gardenpath.eval.means import LEVEL, NORMAL, Interval
from gardenpath.eval.statistics.formulas import Correction, WithinMethod

CORRECTION_NAMES: dict[Correction, str] = {
    "none": "",
    "bonferroni": "Bonferroni",
    "holm": "Holm",
    "benjamini_hochberg": "Benjamini-Hochberg",
}


def adjusted(p_values: ArrayLike, correction: Correction) -> Floats:
    """Return adjusted p values; missing ones stay missing and are not counted as tests.

    Bonferroni and Holm (1979) control the probability of any false positive, Benjamini and Hochberg
    (1995) the expected share of false positives among all positives.
    """
    result = np.array(p_values, dtype=np.float64)
    places = np.flatnonzero(~np.isnan(result))
    count = len(places)
    if correction == "none" or not count:
        return result
    order = places[np.argsort(result[places], kind="stable")]
    ascending, ranks = result[order], np.arange(count)
    if correction == "bonferroni":
        raised = count * ascending
    elif correction == "holm":
        raised = np.maximum.accumulate((count - ranks) * ascending)
    else:
        raised = np.minimum.accumulate((count / (ranks + 1.0) * ascending)[::-1])[::-1]
    result[order] = np.minimum(raised, 1.0)
    return result


# Pearson's correlation, with an interval.


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Pearson's r with Fisher's z interval, which is NaN for fewer than four pairs."""

    r: float
    n: int
    df: int
    p: float
    low: float
    high: float


def pearson(first: ArrayLike, second: ArrayLike) -> Correlation:
    """Compute Pearson's correlation; pairs with a missing value are dropped."""
    import scipy.stats

    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(x) < 3:
        raise StatisticsError(f"a correlation needs at least three pairs, not {len(x)}")
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        raise StatisticsError("one of the two variables is the same in every pair")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nearly constant values
        result = scipy.stats.pearsonr(x, y)
    r, df = float(result.statistic), len(x) - 2
    low = high = math.nan
    if len(x) > 3 and abs(r) < 1.0:
        low, high = map(float, result.confidence_interval(LEVEL))
    return Correlation(r=r, n=len(x), df=df, p=float(result.pvalue), low=low, high=high)


# One-sample t tests, and intervals within items.


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


def t_test(values: ArrayLike) -> TTest:
    """Test whether the mean differs from zero; missing values are dropped."""
    import scipy.stats

    flat = np.asarray(values, dtype=np.float64)
    flat = flat[np.isfinite(flat)]
    if len(flat) < 2:
        raise StatisticsError(f"a t test needs at least two values, not {len(flat)}")
    deviation = float(flat.std(ddof=1))
    if deviation == 0.0:
        raise StatisticsError(f"every value is the same, {flat[0]:g}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nearly constant values
        result = scipy.stats.ttest_1samp(flat, 0.0)
    interval = result.confidence_interval(LEVEL)
    return TTest(
        mean=float(flat.mean()),
        deviation=deviation,
        n=len(flat),
        statistic=float(result.statistic),
        df=int(result.df),
        p=float(result.pvalue),
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
    import scipy.stats

    wide = table.pivot_table(index=item, columns=condition, values=value, aggfunc="mean").dropna()
    count, conditions = wide.shape
    if count < 2 or conditions < 2:
        raise StatisticsError(
            f"within-item intervals need two items and two conditions, not {count} and {conditions}"
        )
    cells = wide.to_numpy(dtype=np.float64)
    normed = cells - cells.mean(axis=1, keepdims=True)
    squares = (normed - normed.mean(axis=0)) ** 2
    df = count - 1
    if method == "masson_loftus":
        df *= conditions - 1
        variances = np.full(conditions, squares.sum() / df)
    elif method == "item_centred":
        variances = squares.sum(axis=0) / df
    else:
        variances = squares.sum(axis=0) / df * conditions / (conditions - 1)
    factor = NORMAL if method == "item_centred" else scipy.stats.t.ppf((1.0 + LEVEL) / 2.0, df)
    means, reaches = cells.mean(axis=0), factor * np.sqrt(variances / count)
    return {
        str(name): Interval(
            mean=float(mean), low=float(mean - reach), high=float(mean + reach), n=count
        )
        for name, mean, reach in zip(wide.columns, means, reaches, strict=True)
    }


# Standardised effect sizes with 95 % intervals.
#
# - *Cohen's d_z* of a t test: the mean divided by the standard deviation. Its interval comes from
#   the noncentral t distribution: its ends are the sizes at which the observed t would be the 2.5
#   % or 97.5 % quantile.
# - *Odds ratio* of a coefficient of a binomial model: exp(b), with the ends of the interval of b.
# - *Cohen's d* of a coefficient of a linear mixed model (Westfall, Kenny and Judd 2014): b divided
#   by the standard deviation of single responses given the fixed effects, from all random effects
#   and the residual. The ends of the interval of b are divided by the same deviation, as if known.


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSize:
    """A standardised effect with its confidence interval; ``kind`` is the name of the measure."""

    kind: str
    value: float
    low: float
    high: float


def cohens_dz(test: TTest) -> EffectSize:
    """Return the effect size of a one-sample or paired t test."""
    root = math.sqrt(test.n)
    low, high = (
        _noncentrality(test.statistic, test.df, share) / root
        for share in ((1.0 + LEVEL) / 2.0, (1.0 - LEVEL) / 2.0)
    )
    return EffectSize(kind="Cohen's d_z", value=test.statistic / root, low=low, high=high)


def _noncentrality(statistic: float, df: float, share: float) -> float:
    """Return the noncentrality for which ``statistic`` is the quantile of ``share``."""
    import scipy.optimize
    import scipy.special

    if statistic < 0.0:  # the distribution function is accurate for positive t
        return -_noncentrality(-statistic, df, 1.0 - share)
    # The root is about two standard deviations from t. Further away, the distribution function
    # can be undefined for numerical reasons, so the bracket grows step by step.
    step = math.sqrt(1.0 + statistic**2 / (2.0 * df)) * (-1.0 if share > 0.5 else 1.0)

    def excess(noncentrality: float) -> float:
        return float(scipy.special.nctdtr(df, noncentrality, statistic)) - share

    start = excess(statistic)
    for steps in range(1, 9):
        end = statistic + steps * step
        if excess(end) * start <= 0.0:
            return float(scipy.optimize.brentq(excess, statistic, end, xtol=1e-10))
    return math.nan


def odds_ratio(estimate: float, low: float, high: float) -> EffectSize:
    """Return the effect size of a coefficient of a binomial model."""
    value, low, high = (math.exp(min(log_odds, 700.0)) for log_odds in (estimate, low, high))
    return EffectSize(kind="odds ratio", value=value, low=low, high=high)


def cohens_d(estimate: float, low: float, high: float, deviation: float) -> EffectSize:
    """Return the effect size of a coefficient of a linear model; ``deviation`` of responses."""
    return EffectSize(
        kind="Cohen's d", value=estimate / deviation, low=low / deviation, high=high / deviation
    )


# Exact permutation test of a predictor, stratified by grouping factors.
#
# Rows that agree in all grouping factors (for example, item and seed) form a stratum. If the
# predictor has no effect, outcomes are exchangeable within strata. The test compares the sum of
# predictor times outcome with its distribution under all permutations within strata. For pairs it
# is McNemar's exact test; for a predictor with two values it is the exact Cochran-Mantel-Haenszel
# test. The null hypothesis follows from a mixed model without the predictor and with random
# effects of the same grouping factors.

# Maximum number of distinct sums, and of arrangements of a stratum.
_MANY = 50_000
_DECIMALS = 9
_SLACK = 1e-7

Counts = tuple[tuple[float, int], ...]


class _TooManyError(Exception):
    """There are too many permutations to enumerate."""


@dataclass(frozen=True, slots=True)
class _Sums:
    """The distribution of the sum: values in ascending order and their probabilities."""

    values: Floats
    shares: Floats

    def plus(self, other: _Sums) -> _Sums:
        if len(self.values) * len(other.values) > 100 * _MANY:
            raise _TooManyError
        totals = np.add.outer(self.values, other.values).ravel()
        shares = np.multiply.outer(self.shares, other.shares).ravel()
        values, places = np.unique(np.round(totals, _DECIMALS), return_inverse=True)
        if len(values) > _MANY:
            raise _TooManyError
        totals = np.asarray(np.bincount(places, shares), np.float64)
        return _Sums(np.asarray(values, np.float64), totals)

    def times(self, number: int) -> _Sums:
        """Return the sum of ``number`` independent copies, by repeated doubling."""
        if number == 1:
            return self
        half = self.times(number // 2)
        return half.plus(half).plus(self) if number % 2 else half.plus(half)


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationTest:
    """A two-sided test: p is twice the smaller tail; ``excess`` is sum minus expectation."""

    excess: float
    p: float
    strata: int  # informative strata: both predictor and outcome vary


def permutation_test(
    predictor: ArrayLike, outcomes: ArrayLike, strata: Sequence[str] | NDArray[Any]
) -> PermutationTest | None:
    """Test whether outcomes are associated with a predictor within strata.

    Return None if the predictor is constant within every stratum, or if there are too many
    permutations to enumerate.
    """
    table = pd.DataFrame({"x": np.asarray(predictor), "y": np.asarray(outcomes)})
    informative: Counter[tuple[Counts, Counts]] = Counter()
    observed, comparable = 0.0, False
    for _, rows in table.groupby(np.asarray(strata, dtype=object), sort=False):
        varies = rows["x"].nunique() > 1
        comparable |= varies
        if varies and rows["y"].nunique() > 1:
            informative[_counts(rows["x"]), _counts(rows["y"])] += 1
            observed += float(rows["x"] @ rows["y"])
    if not comparable:
        return None
    sums = _Sums(np.zeros(1), np.ones(1))
    try:
        for (values, results), number in informative.items():
            sums = sums.plus(_stratum_sums(values, results).times(number))
    except _TooManyError:
        return None
    lower = float(sums.shares[sums.values <= observed + _SLACK].sum())
    upper = float(sums.shares[sums.values >= observed - _SLACK].sum())
    return PermutationTest(
        excess=observed - float(sums.values @ sums.shares),
        p=min(1.0, 2.0 * min(lower, upper)),
        strata=informative.total(),
    )


def _counts(values: pd.Series) -> Counts:
    return tuple(sorted(Counter(values.tolist()).items()))


def _stratum_sums(predictor: Counts, outcomes: Counts) -> _Sums:
    """Return the distribution of one stratum.

    Outcomes are assigned to the values of the predictor one after another; the numbers of each
    outcome that a value receives have a multivariate hypergeometric distribution.
    """
    levels = [level for level, _ in outcomes]
    states = {(tuple(count for _, count in outcomes), 0.0): 1.0}
    for value, places in predictor:
        dealt: dict[tuple[tuple[int, ...], float], float] = {}
        for (left, so_far), share in states.items():
            ways = math.comb(sum(left), places)
            for hand in _hands(left, places):
                rest = tuple(a - b for a, b in zip(left, hand, strict=True))
                gain = value * sum(map(math.prod, zip(levels, hand, strict=True)))
                chance = math.prod(map(math.comb, left, hand)) / ways
                state = (rest, round(so_far + gain, _DECIMALS))
                dealt[state] = dealt.get(state, 0.0) + share * chance
        if len(dealt) > _MANY:
            raise _TooManyError
        states = dealt
    pairs = sorted((sum_, share) for (_, sum_), share in states.items())
    return _Sums(*np.array(pairs).T)


def _hands(left: tuple[int, ...], places: int) -> Iterator[tuple[int, ...]]:
    """Yield all counts of outcomes that sum to ``places`` and do not exceed ``left``."""
    *others, last = left
    if math.prod(min(count, places) + 1 for count in others) > _MANY:
        raise _TooManyError
    for hand in itertools.product(*(range(min(count, places) + 1) for count in others)):
        if 0 <= places - sum(hand) <= last:
            yield (*hand, places - sum(hand))
