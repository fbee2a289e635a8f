"""Tests of the coding of factors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics.formulas import Coding, coding_of

LEVELS = ("none", "adjective", "rc")


def test_treatment_coding_compares_with_the_first_level() -> None:
    coding = Coding(levels=LEVELS)
    assert coding.names == ("adjective", "rc")
    assert coding.columns(["rc", "none", "adjective"]).tolist() == [[0, 1], [0, 0], [1, 0]]


def test_sum_coding_compares_with_the_mean() -> None:
    coding = Coding(levels=LEVELS, kind="sum")
    assert coding.names == ("none", "adjective")
    assert coding.columns(["rc", "none", "adjective"]).tolist() == [[-1, -1], [1, 0], [0, 1]]


def test_indicators_have_a_column_for_each_level() -> None:
    coding = Coding(levels=LEVELS, kind="sum")
    assert coding.indicators(["rc", "none"]).tolist() == [[0, 0, 1], [1, 0, 0]]


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=6))
def test_sum_coded_coefficients_are_deviations_from_the_mean_of_levels(means: list[float]) -> None:
    coding = Coding(levels=tuple(f"l{number}" for number in range(len(means))), kind="sum")
    design = np.column_stack([np.ones(len(means)), coding.matrix])
    solved = np.linalg.solve(design, np.array(means))
    assert solved[0] == pytest.approx(np.mean(means), abs=1e-9)
    assert solved[1:] == pytest.approx(np.array(means[:-1]) - np.mean(means), abs=1e-9)


def test_levels_that_are_not_there_are_not_coded() -> None:
    coding = coding_of(["rc", "none", "rc"], kind="treatment", order=LEVELS)
    assert coding is not None and coding.levels == ("none", "rc")
    assert coding_of(["rc", "rc"], kind="sum") is None


def test_unknown_levels_and_single_levels_are_refused() -> None:
    with pytest.raises(StatisticsError, match="pp"):
        Coding(levels=LEVELS).columns(["pp"])
    with pytest.raises(StatisticsError, match="two different levels"):
        Coding(levels=("a", "a"))
