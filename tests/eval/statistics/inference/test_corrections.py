"""Tests of adjusted p values against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.statistics.inference import adjusted

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
