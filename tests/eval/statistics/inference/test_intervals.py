"""Tests of intervals against published numbers and slow ways."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics.inference import (
    bootstrap_mean,
    normal_interval,
    t_test,
    within_item_intervals,
)

# The example of Loftus and Masson (1994): words recalled by ten subjects after 1, 2 and 5 seconds.
RECALL = [
    (10, 13, 13), (6, 8, 8), (11, 14, 14), (22, 23, 25), (16, 18, 20),
    (15, 17, 17), (1, 1, 4), (12, 15, 17), (9, 12, 12), (8, 9, 12),
]  # fmt: skip


def _recall() -> pd.DataFrame:
    rows = [
        {"item": number, "condition": name, "value": value}
        for number, row in enumerate(RECALL)
        for name, value in zip(("1s", "2s", "5s"), row, strict=True)
    ]
    return pd.DataFrame(rows)


def test_within_item_intervals_as_published() -> None:
    found = within_item_intervals(_recall(), value="value", condition="condition", item="item")
    assert [found[name].mean for name in ("1s", "2s", "5s")] == pytest.approx([11.0, 13.0, 14.2])
    for interval in found.values():
        assert interval.high - interval.mean == pytest.approx(0.52, abs=5e-3)


def test_morey_corrects_the_variance_of_each_condition() -> None:
    cells = np.array(RECALL, dtype=float)
    normed = cells - cells.mean(axis=1, keepdims=True)
    expected = scipy.stats.t.ppf(0.975, 9) * np.sqrt(normed.var(axis=0, ddof=1) * 3 / 2 / 10)
    found = within_item_intervals(
        _recall(), value="value", condition="condition", item="item", method="cousineau_morey"
    )
    reaches = [interval.high - interval.mean for interval in found.values()]
    assert reaches == pytest.approx(expected.tolist())


def test_item_centred_intervals_are_standard_errors_of_what_items_do_not_share() -> None:
    table = _recall()
    found = within_item_intervals(
        table, value="value", condition="condition", item="item", method="item_centred"
    )
    own = table["value"] - table.groupby("item")["value"].transform("mean")
    for name, values in own.groupby(table["condition"]):
        error = statistics.stdev(values) / math.sqrt(len(values))
        interval = found[str(name)]
        assert interval.high - interval.mean == pytest.approx(1.96 * error)
        assert interval.mean - interval.low == pytest.approx(1.96 * error)


def test_normal_intervals() -> None:
    values = [0.5, 0.75, math.nan, 1.0]
    found = normal_interval(values)
    assert (found.mean, found.n) == (0.75, 3)
    assert found.high - found.mean == pytest.approx(1.96 * 0.25 / math.sqrt(3))
    alone = normal_interval([0.5])
    assert alone.mean == 0.5 and math.isnan(alone.low) and math.isnan(alone.high)
    with pytest.raises(StatisticsError, match="no values"):
        normal_interval([math.nan])


def test_items_without_a_condition_are_left_out() -> None:
    table = _recall().iloc[:-1]
    found = within_item_intervals(table, value="value", condition="condition", item="item")
    assert found["1s"].n == 9
    with pytest.raises(StatisticsError, match="not 1 and 3"):
        within_item_intervals(table[:3], value="value", condition="condition", item="item")


def test_bootstrap_quantiles_are_those_of_all_samples() -> None:
    values = [0.0, 1.0, 5.0, 11.0]
    exact = [np.mean(sample) for sample in itertools.product(values, repeat=4)]
    found = bootstrap_mean(values, samples=200_000)
    low, high = np.quantile(exact, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.3)
    assert (found.mean, found.n) == (4.25, 4)


def test_bootstrap_draws_items_not_rows() -> None:
    values = np.repeat([0.0, 1.0, 0.0, 1.0, 1.0], 40)
    items = np.repeat(list("abcde"), 40).tolist()
    by_item = bootstrap_mean(values, items=items)
    assert by_item == bootstrap_mean([0.0, 1.0, 0.0, 1.0, 1.0])
    by_row = bootstrap_mean(values)
    assert by_item.high - by_item.low > 3 * (by_row.high - by_row.low)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20), st.integers(0, 5))
def test_bootstrap_is_repeatable_and_within_the_data(values: list[float], seed: int) -> None:
    found = bootstrap_mean(values, samples=200, seed=seed)
    assert found == bootstrap_mean(values, samples=200, seed=seed)
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9


def test_bootstrap_of_nothing_is_unknown() -> None:
    found = bootstrap_mean([math.nan])
    assert found.n == 0 and math.isnan(found.mean)


@given(st.lists(st.floats(-50, 50), min_size=3, max_size=30, unique=True))
def test_t_test_by_its_definition(values: list[float]) -> None:
    if np.std(values) < 1e-6:
        return
    found = t_test(values, against=1.0)
    mean, error = np.mean(values), np.std(values, ddof=1) / math.sqrt(len(values))
    assert (found.n, found.df) == (len(values), len(values) - 1)
    assert found.mean == pytest.approx(mean)
    assert found.deviation == pytest.approx(error * math.sqrt(len(values)))
    assert found.statistic == pytest.approx((mean - 1.0) / error, abs=1e-9)
    tail = scipy.stats.t.sf(abs(found.statistic), len(values) - 1)
    assert found.p == pytest.approx(2.0 * tail, abs=1e-12)
    reach = scipy.stats.t.ppf(0.975, len(values) - 1) * error
    assert (found.low, found.high) == pytest.approx((mean - reach, mean + reach))


def test_t_test_needs_values_that_differ() -> None:
    with pytest.raises(StatisticsError, match="at least two values"):
        t_test([1.0, math.nan])
    with pytest.raises(StatisticsError, match="the same, 2"):
        t_test([2.0, 2.0])
