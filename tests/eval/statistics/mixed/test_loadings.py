"""Tests of random effects row by row, and of factors, against whole matrices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gardenpath.eval.statistics.mixed.design_matrix import Design, build_design
from gardenpath.eval.statistics.mixed.factor import CrossPattern

THETA = np.array([0.8, -0.3, 0.5, 0.4, 1.3])


@pytest.fixture(scope="module")
def design() -> Design:
    dice = np.random.default_rng(5)
    table = pd.DataFrame({"g": dice.integers(0, 5, 40), "h": dice.integers(0, 4, 40)})
    # Zeros leave rows without an entry in the slopes of h, which has no intercept.
    table["x"] = dice.integers(-1, 2, size=40).astype(float)
    table["y"] = dice.normal(size=40)
    return build_design("y ~ x + (1 + x | g) + (0 + x | h) + (1 | g:h)", table)


def test_sums_over_entries_are_products_of_matrices(design: Design) -> None:
    loadings = design.loadings
    whole = (design.random @ design.factor(THETA)).toarray()
    entries = loadings.scaled(THETA)
    dice = np.random.default_rng(1)
    effects, rows = dice.normal(size=loadings.size), dice.normal(size=design.rows)
    assert loadings.forward(entries, effects) == pytest.approx(whole @ effects)
    assert loadings.backward(entries, rows) == pytest.approx(whole.T @ rows)
    inverse = dice.normal(size=(loadings.size, loadings.size))
    expected = np.take_along_axis(whole @ inverse, loadings.columns, axis=1)
    assert loadings.spread(entries, inverse) == pytest.approx(expected)


@pytest.mark.parametrize("is_dense", [True, False])
def test_factors_are_those_of_the_whole_matrix(design: Design, is_dense: bool) -> None:
    loadings = design.loadings
    weights = np.random.default_rng(2).uniform(size=design.rows)
    pattern = CrossPattern(loadings.columns, loadings.size, is_dense=is_dense)
    factor = pattern.factor(loadings.scaled(THETA), weights)
    whole = (design.random @ design.factor(THETA)).toarray()
    matrix = whole.T @ (weights[:, None] * whole) + np.eye(loadings.size)
    assert factor.logdet == pytest.approx(np.linalg.slogdet(matrix)[1])
    assert factor.inverse() == pytest.approx(np.linalg.inv(matrix))
    right = np.random.default_rng(3).normal(size=(loadings.size, 2))
    assert factor.solve(right) == pytest.approx(np.linalg.solve(matrix, right))
    assert factor.solve(right[:, 0]) == pytest.approx(np.linalg.solve(matrix, right[:, 0]))


def test_without_random_effects_there_is_nothing_to_factor() -> None:
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0], "y": [1.0, 3.0, 2.0]})
    loadings = build_design("y ~ x", table).loadings
    entries = loadings.scaled(np.zeros(0))
    factor = loadings.factor(entries, np.ones(3))
    assert (factor.logdet, factor.inverse().shape) == (0.0, (0, 0))
    assert loadings.forward(entries, np.zeros(0)).tolist() == [0.0, 0.0, 0.0]
