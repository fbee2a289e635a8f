"""Tests of effect sizes against the noncentral t distribution and simple formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import nct

from gardenpath.eval.statistics.inference import cohens_d, cohens_dz, odds_ratio, t_test


@pytest.mark.parametrize("mean", [-3.0, -0.4, 0.0, 0.4, 3.0, 12.0])
@pytest.mark.parametrize("count", [3, 12, 400])
def test_ends_of_the_interval_are_sizes_at_which_t_would_be_extreme(
    mean: float, count: int
) -> None:
    values = np.random.default_rng(count).normal(size=count) + mean
    test = t_test(values)
    size = cohens_dz(test)
    assert size.value == pytest.approx(values.mean() / values.std(ddof=1))
    assert size.low < size.value < size.high
    for end, share in ((size.low, 0.975), (size.high, 0.025)):
        # t and noncentrality with the opposite sign have the other tail.
        sign = math.copysign(1.0, test.statistic)
        tail = nct.cdf(sign * test.statistic, test.df, sign * end * math.sqrt(test.n))
        assert tail == pytest.approx(share if sign > 0 else 1.0 - share, abs=1e-6)


def test_ratios() -> None:
    size = odds_ratio(math.log(2.0), 0.0, math.log(4.0))
    assert (size.value, size.low, size.high) == pytest.approx((2.0, 1.0, 4.0))
    size = cohens_d(0.5, -0.5, 1.5, 2.0)
    assert (size.value, size.low, size.high) == (0.25, -0.25, 0.75)
    assert math.isfinite(odds_ratio(1e6, 1e6, 1e6).value)
