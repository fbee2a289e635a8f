"""Thinning: thresholds, expectations, and random numbers."""

from __future__ import annotations

import math

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.eval.search.replicates import drawn, mixed, threshold, uniforms
from gardenpath.eval.search.unbiased import thinned_scores

WEIGHTS = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12)


@given(weights=WEIGHTS, width=st.integers(1, 8))
def test_the_threshold_keeps_so_many_on_average(weights: list[float], width: int) -> None:
    weight = torch.tensor([weights], dtype=torch.float64)
    bar = float(threshold(weight, width))
    if len(weights) <= width:
        assert bar == 0
    else:
        assert sum(min(1.0, w / bar) for w in weights) == np.float64(width).item() or math.isclose(
            sum(min(1.0, w / bar) for w in weights), width, rel_tol=1e-9
        )


def test_zero_weights_take_no_place() -> None:
    weight = torch.tensor([[0.5, 0.0, 0.25, 0.0, 0.0]], dtype=torch.float64)
    assert float(threshold(weight, 3)) == 0
    found = drawn(weight, threshold(weight, 3), torch.zeros((1, 1), dtype=torch.float64))
    assert torch.equal(found.weight, weight)


@given(weights=WEIGHTS, width=st.integers(1, 8))
@settings(max_examples=30)
def test_expected_weights_are_what_they_were(weights: list[float], width: int) -> None:
    # Over all random numbers, each weight is kept in proportion to its size: a grid of them sums up
    # the expectation, up to the distance of its points.
    points = 2000
    uniform = (torch.arange(points, dtype=torch.float64) + 0.5).unsqueeze(1) / points
    weight = torch.tensor([weights], dtype=torch.float64).expand(points, -1)
    bar = threshold(weight, width)
    found = drawn(weight, bar, uniform)
    largest = max(*weights, float(bar[0]))
    np.testing.assert_allclose(found.weight.mean(0), weights, rtol=0, atol=2 * largest / points)
    # As many are kept as expected, so that the total does not change.
    np.testing.assert_allclose(found.weight.sum(1), sum(weights), rtol=1e-6)
    assert (found.is_kept.sum(1) <= width).all() or len(weights) <= width


@given(weights=WEIGHTS, bar=st.floats(1e-3, 2.0))
@settings(max_examples=30)
def test_what_is_below_a_bar_is_kept_at_random(weights: list[float], bar: float) -> None:
    points = 2000
    uniform = (torch.arange(points, dtype=torch.float64) + 0.5).unsqueeze(1) / points
    score = torch.tensor([weights], dtype=torch.float64).log().expand(points, -1)
    low = torch.full((points, 1), math.log(bar), dtype=torch.float64)
    found = thinned_scores(score, 20, uniform, low).exp()
    np.testing.assert_allclose(found.mean(0), weights, rtol=0, atol=2 * max(bar, *weights) / points)
    # Either gone, or at least as heavy as the bar.
    assert ((found == 0) | (found >= min(bar, *weights) * (1 - 1e-9))).all()
    assert ((found == 0) | (found >= bar * (1 - 1e-9)) | (score.exp() >= bar)).all()


def test_nothing_remains_of_nothing() -> None:
    score = torch.full((2, 5), -torch.inf, dtype=torch.float64)
    found = thinned_scores(score, 3, torch.full((2, 1), 0.5, dtype=torch.float64))
    assert (found == -torch.inf).all()


def test_random_numbers_are_uniform_and_belong_to_their_key() -> None:
    keys = [mixed(mixed(0, seed), number) for seed in range(40) for number in range(5)]
    assert len(set(keys)) == len(keys)
    found = uniforms(keys, 300)
    assert ((found >= 0) & (found < 1)).all()
    assert abs(found.mean() - 0.5) < 0.005
    # Neither neighbours in a row nor rows are correlated.
    assert abs(np.corrcoef(found[:, :-1].ravel(), found[:, 1:].ravel())[0, 1]) < 0.02
    assert np.abs(np.corrcoef(found) - np.eye(len(keys))).max() < 0.35
    np.testing.assert_array_equal(uniforms(keys[7:8], 10)[0], found[7, :10])
