"""Exact permutation test of a predictor, stratified by grouping factors.

Rows that agree in all grouping factors (for example, item and seed) form a stratum. If the
predictor has no effect, outcomes are exchangeable within strata. The test compares the sum of
predictor times outcome with its distribution under all permutations within strata. For pairs it is
McNemar's exact test; for a predictor with two values it is the exact Cochran-Mantel-Haenszel test.
The null hypothesis follows from a mixed model without the predictor and with random effects of the
same grouping factors.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gardenpath.data.arrays import Floats

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
        """Return the distribution of the sum of two independent variables."""
        if len(self.values) * len(other.values) > 100 * _MANY:
            raise _TooManyError
        totals = np.add.outer(self.values, other.values).ravel()
        shares = np.multiply.outer(self.shares, other.shares).ravel()
        values, places = np.unique(np.round(totals, _DECIMALS), return_inverse=True)
        if len(values) > _MANY:
            raise _TooManyError
        return _Sums(np.asarray(values, np.float64), _totals(places, shares))


def _totals(places: NDArray[np.intp], shares: Floats) -> Floats:
    return np.asarray(np.bincount(places, shares), dtype=np.float64)


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
    try:
        sums = _all_sums(informative)
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


def _all_sums(strata: Counter[tuple[Counts, Counts]]) -> _Sums:
    """Return the distribution over all strata; identical strata are combined."""
    total = _Sums(np.zeros(1), np.ones(1))
    for (predictor, outcomes), number in strata.items():
        total = total.plus(_times(_stratum_sums(predictor, outcomes), number))
    return total


def _times(one: _Sums, number: int) -> _Sums:
    """Return the sum of ``number`` independent copies, by repeated doubling."""
    if number == 1:
        return one
    half = _times(one, number // 2)
    return half.plus(half).plus(one) if number % 2 else half.plus(half)


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
