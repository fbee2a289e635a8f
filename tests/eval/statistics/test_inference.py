"""Tests of adjusted p values against their definitions."""

from __future__ import annotations

import itertools
import math
import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, hypergeom, nct, norm
from scipy.stats import t as student

from gardenpath.errors import StatisticsError
from gardenpath.eval.means import bootstrap_mean, normal_interval
from gardenpath.eval.statistics.corpora import Construction
from gardenpath.eval.statistics.inference import (
    adjusted,
    cohens_d,
    cohens_dz,
    odds_ratio,
    pearson,
    permutation_test,
    t_test,
    within_item_intervals,
)
from tests.eval.statistics.r_program import r_table

P_VALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


@given(P_VALUES)
def test_holm_rejects_step_by_step(values: list[float]) -> None:
    """At any level, those are rejected that precede the first that is not small enough."""
    found = adjusted(values, "holm")
    order = np.argsort(values, kind="stable")
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for rank, place in enumerate(order):
            if values[place] * (len(values) - rank) > level:
                break
            rejected.add(int(place))
        assert {place for place, p in enumerate(found) if p <= level} == rejected


@given(P_VALUES)
def test_benjamini_and_hochberg_reject_up_to_the_last_that_is_small_enough(
    values: list[float],
) -> None:
    found = adjusted(values, "benjamini_hochberg")
    ordered = sorted(values)
    for level in (0.01, 0.05, 0.3):
        fitting = [p for k, p in enumerate(ordered, 1) if len(values) / k * p <= level]
        limit = max(fitting, default=-1.0)
        assert [p <= level for p in found] == [p <= limit for p in values]


def test_missing_values_are_not_tests() -> None:
    found = adjusted([0.02, math.nan, 0.03], "bonferroni")
    assert found[[0, 2]].tolist() == pytest.approx([0.04, 0.06]) and math.isnan(found[1])
    assert adjusted([0.02, 0.5], "none").tolist() == [0.02, 0.5]
    assert adjusted([0.7, 0.8], "bonferroni").tolist() == [1.0, 1.0]
    assert adjusted([], "holm").tolist() == []


# ----------------------------------------------------------------------------
# Tests of correlations.


PAIRS = st.lists(st.tuples(st.floats(-10, 10), st.floats(-10, 10)), min_size=5, max_size=20)


@given(PAIRS)
def test_pearson_by_its_definition(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    if np.std(x) < 1e-3 or np.std(y) < 1e-3:
        return
    found = pearson(x, y)
    r = float(np.mean((x - x.mean()) * (y - y.mean())) / (x.std() * y.std()))
    assert found.r == pytest.approx(r, abs=1e-9)
    if abs(r) < 0.999:
        statistic = r * math.sqrt(found.df / (1.0 - r * r))
        assert found.p == pytest.approx(2.0 * student.sf(abs(statistic), len(x) - 2), abs=1e-9)
        reach = norm.ppf(0.975) / math.sqrt(len(x) - 3)
        ends = (math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach))
        assert (found.low, found.high) == pytest.approx(ends, abs=1e-9)


def test_pearson_is_that_of_r(tmp_path: Path) -> None:
    x, y = np.random.default_rng(4).normal(size=(2, 12)).round(4)
    y = y + 0.8 * x
    code = """
    test <- cor.test(d$x, d$y)
    found <- data.frame(r = test$estimate, df = test$parameter, p = test$p.value,
                        low = test$conf.int[1], high = test$conf.int[2])
    """
    found = r_table(tmp_path, code, "found", d=pd.DataFrame({"x": x, "y": y}))
    ours = pearson(x, y)
    assert [ours.r, ours.df, ours.p, ours.low, ours.high] == pytest.approx(
        found.iloc[0].tolist(), rel=1e-6
    )


def test_too_few_or_equal_values_are_refused() -> None:
    with pytest.raises(StatisticsError, match="not 2"):
        pearson([1.0, 2.0, math.nan], [1.0, 3.0, 4.0])
    with pytest.raises(StatisticsError, match="the same in every pair"):
        pearson([1.0, 1.0, 1.0], [1.0, 3.0, 4.0])


def test_perfect_correlation() -> None:
    found = pearson([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0])
    assert (found.r, found.p) == (1.0, 0.0)
    assert math.isnan(found.low)


def _constructions(names: str) -> list[Construction]:
    return [Construction(name=n, annotated="S", plain="S", modifiers=(f"{n}1",)) for n in names]


# ----------------------------------------------------------------------------
# Tests of effect sizes against the noncentral t distribution and simple formulas.


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


# ----------------------------------------------------------------------------
# Tests of intervals against published numbers and slow ways.


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
    found = t_test(values)
    mean, error = np.mean(values), np.std(values, ddof=1) / math.sqrt(len(values))
    assert (found.n, found.df) == (len(values), len(values) - 1)
    assert found.mean == pytest.approx(mean)
    assert found.deviation == pytest.approx(error * math.sqrt(len(values)))
    assert found.statistic == pytest.approx(mean / error, abs=1e-9)
    tail = scipy.stats.t.sf(abs(found.statistic), len(values) - 1)
    assert found.p == pytest.approx(2.0 * tail, abs=1e-12)
    reach = scipy.stats.t.ppf(0.975, len(values) - 1) * error
    assert (found.low, found.high) == pytest.approx((mean - reach, mean + reach))


def test_t_test_needs_values_that_differ() -> None:
    with pytest.raises(StatisticsError, match="at least two values"):
        t_test([1.0, math.nan])
    with pytest.raises(StatisticsError, match="the same, 2"):
        t_test([2.0, 2.0])


# ----------------------------------------------------------------------------
# Tests of the permutation test against all exchanges one by one, and against tests by name.


Row = tuple[float, float, str]


def _by_enumeration(rows: list[Row]) -> tuple[float, float]:
    """Excess and p, by writing out every exchange."""
    strata = [[row for row in rows if row[2] == name] for name in sorted({r[2] for r in rows})]
    totals = [
        sum(sums)
        for sums in itertools.product(
            *(
                [
                    sum(x * y for (x, _, _), y in zip(part, outcomes, strict=True))
                    for outcomes in itertools.permutations([y for _, y, _ in part])
                ]
                for part in strata
            )
        )
    ]
    observed = sum(x * y for x, y, _ in rows)
    lower = sum(t <= observed + 1e-7 for t in totals) / len(totals)
    upper = sum(t >= observed - 1e-7 for t in totals) / len(totals)
    return float(observed - np.mean(totals)), min(1.0, 2 * lower, 2 * upper)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, 3.0]),
            st.sampled_from([0.0, 0.5, 1.0]),
            st.sampled_from(["a", "b", "c"]),
        ),
        min_size=2,
        max_size=9,
    ).filter(lambda rows: all([r[2] for r in rows].count(name) <= 4 for name in "abc"))
)
def test_it_counts_all_exchanges(rows: list[Row]) -> None:
    found = permutation_test(*map(list, zip(*rows, strict=True)))
    if found is None:
        assert all(len({x for x, _, s in rows if s == name}) < 2 for name in "abc")
        return
    excess, p = _by_enumeration(rows)
    assert found.excess == pytest.approx(excess, abs=1e-7)
    assert found.p == pytest.approx(p, abs=1e-9)


def test_in_pairs_it_is_the_test_of_mcnemar() -> None:
    # Of thirty pairs seven differ, all in the same direction.
    outcomes = [1.0, 1.0] * 20 + [0.0, 0.0] * 3 + [1.0, 0.0] * 7
    pairs = [str(number // 2) for number in range(60)]
    found = permutation_test([0.0, 1.0] * 30, outcomes, pairs)
    assert found is not None and found.strata == 7
    assert found.p == pytest.approx(binomtest(0, 7).pvalue)
    assert found.excess == pytest.approx(-3.5)


def test_in_one_stratum_its_tails_are_hypergeometric() -> None:
    predictor = [0.0] * 40 + [1.0] * 40
    outcomes = [0.0] * 40 + [1.0] * 21 + [0.0] * 19
    found = permutation_test(predictor, outcomes, [""] * 80)
    assert found is not None
    assert found.p == pytest.approx(2 * hypergeom.sf(20, 80, 21, 40), rel=1e-9)


def test_the_shift_of_all_outcomes_of_a_stratum_says_nothing() -> None:
    """What is common to a stratum, such as an easy item, does not count."""
    strata = [str(number // 2) for number in range(20)]
    easy = [1.0] * 10 + [0.0] * 10
    found = permutation_test([0.0, 1.0] * 10, easy, strata)
    assert found is not None and (found.p, found.excess, found.strata) == (1.0, 0.0, 0)


def test_nothing_to_compare_or_too_much() -> None:
    assert permutation_test([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0], list("aabb")) is None
    dice = np.random.default_rng(0)
    many = dice.normal(size=60)
    assert permutation_test(many, dice.integers(0, 2, size=60), [""] * 60) is None
