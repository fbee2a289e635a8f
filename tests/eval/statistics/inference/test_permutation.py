"""Tests of the permutation test against all exchanges one by one, and against tests by name."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, hypergeom

from gardenpath.eval.statistics.inference import permutation_test

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
