"""Tests of separated outcomes, against definitions and against likelihoods that keep growing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.statistics.design import build_design, separated_effects
from gardenpath.eval.statistics.formulas import Coding
from gardenpath.eval.statistics.likelihoods import LaplaceLikelihood

Rows = list[tuple[float, float]]


def _effects(rows: Rows, formula: str = "y ~ x") -> tuple[str, ...]:
    table = pd.DataFrame(rows, columns=["x", "y"]).assign(g=np.arange(len(rows)) % 3)
    return separated_effects(build_design(formula, table))


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=4)
)
def test_two_groups_are_separated_where_one_has_no_exception(rows: Rows) -> None:
    groups = [{y for x, y in rows if x == value} for value in (0.0, 1.0)]
    if not all(groups):
        return
    plain = [outcomes in ({0.0}, {1.0}) for outcomes in groups]
    # The intercept is that of the first group; the difference takes both.
    expected = ("(Intercept)",) * plain[0] + ("x",) * (plain[0] or plain[1])
    assert _effects(rows) == expected


def test_a_slope_is_separated_by_a_threshold() -> None:
    rows = [(float(x), float(x > 4)) for x in range(10)]
    assert _effects(rows) == ("(Intercept)", "x")
    assert _effects([*rows, (3.0, 1.0)]) == ()
    # One exception at the threshold itself: the slope is endless all the same.
    assert _effects([*rows[:5], (4.5, 0.0), (4.5, 1.0), *rows[5:]]) == ("(Intercept)", "x")


def test_only_the_level_without_exception_is_endless() -> None:
    table = pd.DataFrame({"f": list("aabbcc"), "y": [0.0, 1.0, 0.0, 1.0, 1.0, 1.0]})
    design = build_design("y ~ f", table, codings={"f": Coding(levels=("a", "b", "c"))})
    assert separated_effects(design) == ("f[c]",)


@pytest.mark.parametrize("theta", [0.0, 1.0, 3.0])
def test_with_random_effects_the_likelihood_still_grows_for_ever(theta: float) -> None:
    rows = [(0.0, 1.0), (0.0, 0.0), (1.0, 1.0)] * 6
    table = pd.DataFrame(rows, columns=["x", "y"]).assign(g=np.arange(18) // 6)
    design = build_design("y ~ x + (1 | g)", table)
    assert separated_effects(design) == ("x",)
    likelihood = LaplaceLikelihood(design)
    values = [likelihood.deviance(np.array([theta, 0.0, b]))[0] for b in (1.0, 4.0, 8.0, 12.0)]
    assert values == sorted(values, reverse=True)
