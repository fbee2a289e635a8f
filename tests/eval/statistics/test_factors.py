"""Tests of random effects row by row, and of factors, against whole matrices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gardenpath.eval.statistics.design import (
    ArrowPattern,
    DensePattern,
    Design,
    Loadings,
    build_design,
)
from gardenpath.eval.statistics.likelihoods import ProfiledLikelihood
from tests.eval.statistics.tables import loaded_matrix

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
    whole = loaded_matrix(design, THETA)
    entries = loadings.scaled(THETA)
    dice = np.random.default_rng(1)
    effects, rows = dice.normal(size=loadings.size), dice.normal(size=design.rows)
    assert loadings.forward(entries, effects) == pytest.approx(whole @ effects)
    assert loadings.backward(entries, rows) == pytest.approx(whole.T @ rows)
    weights = dice.uniform(size=design.rows)
    inverse = np.linalg.inv(whole.T @ (weights[:, None] * whole) + np.eye(loadings.size))
    expected = np.take_along_axis(whole @ inverse, loadings.columns, axis=1)
    assert loadings.spread(entries, loadings.factor(entries, weights)) == pytest.approx(expected)


def _patterns(loadings: Loadings) -> dict[str, ArrowPattern | DensePattern]:
    """All kinds of factors; every term may be the one whose blocks form the shaft of the arrow."""
    columns, size = loadings.columns, loadings.size
    return {
        "dense": DensePattern(columns, size),
        "arrow 0": ArrowPattern(columns, size, start=0, size=2, levels=5),
        "arrow 1": ArrowPattern(columns, size, start=10, size=1, levels=4),
        "arrow 2": ArrowPattern(columns, size, start=14, size=1, levels=size - 14),
    }


@pytest.mark.parametrize("kind", ["dense", "arrow 0", "arrow 1", "arrow 2"])
def test_factors_are_those_of_the_whole_matrix(design: Design, kind: str) -> None:
    loadings = design.loadings
    weights = np.random.default_rng(2).uniform(size=design.rows)
    factor = _patterns(loadings)[kind].factor(loadings.scaled(THETA), weights)
    whole = loaded_matrix(design, THETA)
    matrix = whole.T @ (weights[:, None] * whole) + np.eye(loadings.size)
    assert factor.logdet == pytest.approx(np.linalg.slogdet(matrix)[1])
    inverse, columns = np.linalg.inv(matrix), loadings.columns
    expected = inverse[columns[:, :, None], columns[:, None, :]]
    assert factor.cells(columns) == pytest.approx(expected)
    right = np.random.default_rng(3).normal(size=(loadings.size, 2))
    assert factor.solve(right) == pytest.approx(np.linalg.solve(matrix, right))
    assert factor.solve(right[:, 0]) == pytest.approx(np.linalg.solve(matrix, right[:, 0]))


def test_without_random_effects_there_is_nothing_to_factor() -> None:
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0], "y": [1.0, 3.0, 2.0]})
    loadings = build_design("y ~ x", table).loadings
    entries = loadings.scaled(np.zeros(0))
    factor = loadings.factor(entries, np.ones(3))
    assert (factor.logdet, factor.cells(loadings.columns).shape) == (0.0, (3, 0, 0))
    assert loadings.forward(entries, np.zeros(0)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("formula", ["y ~ x + (1 + x | i)", "y ~ x + (1 | s) + (1 + x | i)"])
def test_with_many_items_the_likelihood_and_its_gradient_are_the_same(formula: str) -> None:
    dice = np.random.default_rng(6)
    table = pd.DataFrame({"i": np.repeat(np.arange(90), 4), "s": np.tile(np.arange(4), 90)})
    table["x"], table["y"] = dice.normal(size=(2, len(table)))
    design = build_design(formula, table)
    likelihood = ProfiledLikelihood(design, restricted=True)
    theta = dice.uniform(0.2, 1.0, size=len(design.is_scale))
    whole = loaded_matrix(design, theta)
    covariance = np.eye(design.rows) + whole @ whole.T
    deviance, gradient = likelihood.with_gradient(theta)
    weighted = np.linalg.solve(covariance, design.fixed)
    residuals = design.response - design.fixed @ np.linalg.solve(
        design.fixed.T @ weighted, weighted.T @ design.response
    )
    freedom = design.rows - design.fixed.shape[1]
    variance = residuals @ np.linalg.solve(covariance, residuals) / freedom
    expected = np.linalg.slogdet(covariance)[1] + freedom * (1 + np.log(2 * np.pi * variance))
    expected += np.linalg.slogdet(design.fixed.T @ weighted)[1]
    assert deviance == pytest.approx(expected)
    for number, step in enumerate(np.eye(len(theta)) * 1e-5):
        change = likelihood.deviance(theta + step) - likelihood.deviance(theta - step)
        assert gradient[number] == pytest.approx(change / 2e-5, abs=1e-4)
