"""Tests of mixed models and of their likelihoods, which are computed the slow way too."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import expit, roots_hermite
from scipy.stats import binom, multivariate_normal

from gardenpath.data.arrays import Floats
from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics import mixed
from gardenpath.eval.statistics.design import Design, build_design
from gardenpath.eval.statistics.formulas import Distribution
from gardenpath.eval.statistics.likelihoods import LaplaceLikelihood, ProfiledLikelihood
from gardenpath.eval.statistics.mixed import Objective, Optimum, fit_mixed, search
from tests.eval.statistics.r_program import r_table
from tests.eval.statistics.tables import item_table, loaded_matrix, slopes_table

SCALE = np.array([True])


def _slopes_design(family: str) -> Design:
    dice = np.random.default_rng(3)
    table = pd.DataFrame({"g": np.repeat(list("abcdef"), 8), "h": np.tile(list("uvwx"), 12)})
    table["x"] = dice.normal(size=48)
    table["y"] = dice.normal(size=48) + table["x"]
    if family == "binomial":
        table["y"] = (table["y"] > 0).astype(float)
    return build_design("y ~ x + (1 + x | g) + (1 | h)", table)


def test_gradient_of_the_laplace_likelihood() -> None:
    likelihood = LaplaceLikelihood(_slopes_design("binomial"))
    parameters = np.array([0.8, -0.3, 0.5, 0.4, 0.2, 0.9])
    _, gradient = likelihood.deviance(parameters)
    for number, step in enumerate(np.eye(6) * 1e-5):
        up, down = likelihood.deviance(parameters + step), likelihood.deviance(parameters - step)
        assert gradient[number] == pytest.approx((up[0] - down[0]) / 2e-5, abs=1e-4)


@pytest.mark.parametrize("restricted", [True, False])
def test_gradient_of_the_profiled_likelihood(restricted: bool) -> None:
    likelihood = ProfiledLikelihood(_slopes_design("gaussian"), restricted=restricted)
    theta = np.array([0.8, -0.3, 0.5, 0.4])
    value, gradient = likelihood.with_gradient(theta)
    assert value == likelihood.deviance(theta)
    for number, step in enumerate(np.eye(4) * 1e-5):
        slope = (likelihood.deviance(theta + step) - likelihood.deviance(theta - step)) / 2e-5
        assert gradient[number] == pytest.approx(slope, abs=1e-6)


def test_degrees_of_freedom_by_differences() -> None:
    """Satterthwaite's formula, with every derivative taken by differences of values."""
    design = build_design("y ~ x + (x | g)", slopes_table())
    likelihood = ProfiledLikelihood(design, restricted=True)
    theta = search(likelihood.with_gradient, np.array([1.0, 0.0, 1.0]), design.is_scale).parameters
    parameters = np.append(theta, likelihood.solve(theta).sigma)

    def deviance(around: Floats) -> float:
        solution = likelihood.solve(around[:-1])
        profiled = likelihood.deviance(around[:-1])
        freedom, ratio = solution.rss / solution.sigma**2, around[-1] / solution.sigma
        return float(profiled + freedom * (2 * np.log(ratio) + 1 / ratio**2 - 1))

    def variances(around: Floats) -> Floats:
        return np.diag(likelihood.covariance(around[:-1], float(around[-1])))

    steps = np.eye(len(parameters)) * 1e-3
    slopes = [(variances(parameters + s) - variances(parameters - s)) / 2e-3 for s in steps]
    inverse = np.linalg.inv(_difference_hessian(deviance, parameters, 1e-3) / 2)
    expected = 2 * variances(parameters) ** 2 / np.einsum("pc,pq,qc->c", slopes, inverse, slopes)
    assert likelihood.degrees_of_freedom(theta) == pytest.approx(expected, rel=1e-2)


def _difference_hessian(function: Any, at: Floats, step: float) -> Floats:
    steps = np.eye(len(at)) * step
    return np.array(
        [
            [
                function(at + a + b) - function(at + a - b)
                - function(at - a + b) + function(at - a - b)
                for b in steps
            ]
            for a in steps
        ]
    ) / (4 * step**2)  # fmt: skip


def test_laplace_likelihood_is_near_the_integral() -> None:
    dice = np.random.default_rng(1)
    table = pd.DataFrame({"g": np.repeat(list("abcd"), 10), "x": dice.normal(size=40)})
    table["share"] = dice.integers(0, 21, size=40) / 20
    table["trials"] = 20
    design = build_design("share ~ x + (1 | g)", table, weights="trials")
    likelihood = LaplaceLikelihood(design)
    theta, beta = 0.6, np.array([0.1, 0.3])
    found = likelihood.deviance(np.array([theta, *beta]))[0] + likelihood.constant
    nodes, weights = roots_hermite(80)
    exact = 0.0
    for name in "abcd":
        rows = table[table["g"] == name]
        predictor = beta[0] + beta[1] * rows["x"].to_numpy()[:, None] + theta * math.sqrt(2) * nodes
        probs = binom.pmf(20 * rows["share"].to_numpy()[:, None].round(2), 20, expit(predictor))
        exact += -2 * math.log(np.sum(weights * probs.prod(axis=0)) / math.sqrt(math.pi))
    assert found == pytest.approx(exact, rel=1e-3)


def test_profiled_likelihood_is_that_of_the_marginal_normal() -> None:
    design = _slopes_design("gaussian")
    theta = np.array([0.8, -0.3, 0.5, 0.4])
    likelihood = ProfiledLikelihood(design, restricted=False)
    solution = likelihood.solve(theta)
    loadings = loaded_matrix(design, theta)
    covariance = solution.sigma**2 * (loadings @ loadings.T + np.eye(design.rows))
    exact = multivariate_normal.logpdf(design.response, design.fixed @ solution.beta, covariance)
    assert likelihood.deviance(theta) == pytest.approx(-2 * exact, abs=1e-8)
    inverse = np.linalg.inv(covariance)
    information = design.fixed.T @ inverse @ design.fixed
    expected = np.linalg.solve(information, design.fixed.T @ inverse @ design.response)
    assert solution.beta == pytest.approx(expected, abs=1e-10)
    assert likelihood.covariance(theta, solution.sigma) == pytest.approx(
        np.linalg.inv(information), abs=1e-10
    )


def test_restricted_likelihood_integrates_the_fixed_effects_out() -> None:
    design = _slopes_design("gaussian")
    theta = np.array([0.8, -0.3, 0.5, 0.4])
    likelihood = ProfiledLikelihood(design, restricted=True)
    sigma = likelihood.solve(theta).sigma
    loadings = loaded_matrix(design, theta)
    covariance = sigma**2 * (loadings @ loadings.T + np.eye(design.rows))
    # Contrasts of the response that no fixed effect reaches, orthonormal, have the restricted
    # likelihood up to log |X'X|.
    contrasts = scipy.linalg.null_space(design.fixed.T)
    exact = multivariate_normal.logpdf(
        contrasts.T @ design.response, None, contrasts.T @ covariance @ contrasts
    )
    constant = np.linalg.slogdet(design.fixed.T @ design.fixed)[1]
    assert likelihood.deviance(theta) == pytest.approx(-2 * exact + constant, abs=1e-8)


def _stops_at_once(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let the search give up where it starts, so many times."""
    left = iter(range(times))

    def searched(objective: Objective, start: Floats, is_scale: NDArray[np.bool_]) -> Optimum:
        if next(left, None) is None:
            return search(objective, start, is_scale)
        return Optimum(start, objective(start)[0])

    monkeypatch.setattr(mixed, "search", searched)


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize(
    ("formula", "family"),
    [
        ("outcome ~ syntax + (1 | item)", "binomial"),
        ("difference_bits ~ syntax + (1 | item)", "gaussian"),
    ],
)
def test_a_search_that_does_not_settle_gets_other_starts(
    monkeypatch: pytest.MonkeyPatch, formula: str, family: Distribution, times: int
) -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    plain = fit_mixed(formula, table, family=family)
    _stops_at_once(monkeypatch, times)
    helped = fit_mixed(formula, table, family=family)
    assert helped.converged
    assert helped.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-9)
    for one, other in zip(plain.fixed, helped.fixed, strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=1e-5)
        assert one.standard_error == pytest.approx(other.standard_error, abs=1e-5)


def test_without_any_start_that_settles_there_is_no_convergence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    _stops_at_once(monkeypatch, 100)
    fit = fit_mixed("difference_bits ~ 1 + (1 | item)", table, family="gaussian")
    assert fit.failure == "no convergence" and not fit.converged and fit.engine == "profiled"


def test_scales_that_are_almost_zero_are_found() -> None:
    def objective(parameters: Floats) -> tuple[float, Floats]:
        """Even, with a hill at zero and valleys at ±0.05."""
        x = float(parameters[0])
        return (x**2 - 0.0025) ** 2, np.array([4 * x * (x**2 - 0.0025)])

    best = search(lambda p: (1e6 * objective(p)[0], 1e6 * objective(p)[1]), np.zeros(1), SCALE)
    assert abs(best.parameters[0]) == pytest.approx(0.05, abs=1e-5)


def test_a_negative_column_of_the_factor_says_the_same() -> None:
    design = _slopes_design("gaussian")
    theta = np.array([-0.8, 0.3, 0.5, -0.4])
    turned = design.with_positive_scales(theta)
    assert turned.tolist() == [0.8, -0.3, 0.5, 0.4]
    for (_, one), (_, other) in zip(
        design.covariances(theta), design.covariances(turned), strict=True
    ):
        assert one == pytest.approx(other)


def test_without_random_effects_it_is_a_plain_regression(tmp_path: Path) -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    code = """
    logistic <- coef(summary(glm(outcome ~ syntax, data = d, family = binomial)))
    linear <- coef(summary(lm(difference_bits ~ syntax, data = d)))
    found <- data.frame(rbind(logistic, linear))
    """
    found = r_table(tmp_path, code, "found", d=table).to_numpy(dtype=np.float64)
    binomial = fit_mixed("outcome ~ syntax", table, family="binomial")
    linear = fit_mixed("difference_bits ~ syntax", table, family="gaussian")
    ours = [
        (effect.estimate, effect.standard_error, effect.statistic, effect.p)
        for effect in (*binomial.fixed, *linear.fixed)
    ]
    assert np.array(ours) == pytest.approx(found, rel=1e-5)


def test_singular_fits_are_reported() -> None:
    table = pd.DataFrame({"g": np.repeat(list("abcdefgh"), 6), "x": np.tile(np.arange(6.0), 8)})
    # Groups with exactly equal means: less variance between them than chance would give.
    table["y"] = np.tile([0.3, -0.2, 0.5, 0.1, -0.4, 0.2], 8) + table["x"]
    fit = fit_mixed("y ~ x + (1 | g)", table, family="gaussian")
    assert fit.singular and fit.random[0].variance == pytest.approx(0.0, abs=1e-6)


def test_separated_outcomes_have_no_estimate() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    table.loc[table["model"] == "rnng", "outcome"] = 1.0
    fit = fit_mixed("outcome ~ syntax + (1 | item)", table, family="binomial")
    assert fit.failure == "separation" and not fit.converged
    assert all(math.isnan(effect.estimate) and math.isnan(effect.p) for effect in fit.fixed)
    assert any(remark.endswith("no finite estimate of syntax") for remark in fit.warnings)


def test_items_without_exception_have_no_finite_variance() -> None:
    # Not separated by model, but every item is always right or always wrong.
    table = item_table({"lstm": 0.6, "rnng": 0.6})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    table["outcome"] = (table["item"] % 2).astype(float)
    fit = fit_mixed("outcome ~ syntax + (1 | item)", table, family="binomial")
    assert fit.failure == "divergence"


def test_effects_that_others_determine_are_left_out() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    table["again"] = 1.0 - table["syntax"]
    fit = fit_mixed("difference_bits ~ syntax + again + (1 | item)", table, family="gaussian")
    assert [effect.name for effect in fit.fixed] == ["(Intercept)", "syntax"]
    assert any(remark.startswith("again left out: not separable") for remark in fit.warnings)


def test_ties_count_as_parts_of_a_success() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    table.loc[:3, "outcome"] = 0.5
    halves = fit_mixed("outcome ~ syntax", table, family="binomial")
    assert halves.warnings == ("4 outcomes are ties, which count as fractions of a success",)
    whole = [table.assign(outcome=rounded(table["outcome"])) for rounded in (np.ceil, np.floor)]
    split = pd.concat(whole)
    doubled = fit_mixed("outcome ~ syntax", split, family="binomial")
    assert halves.effect("syntax").estimate == pytest.approx(
        doubled.effect("syntax").estimate, abs=1e-4
    )


@pytest.mark.parametrize(
    ("formula", "problem"),
    [
        ("outcome ~ sintax + (1 | item)", "did you mean 'syntax'"),
        ("outcome ~ (1 | ", "is invalid at its end"),
        ("constant ~ syntax + (1 | item)", "every response is the same"),
        ("difference_bits ~ syntax + (1 | item)", r"must be in \[0, 1\]"),
    ],
)
def test_mistakes_are_named(formula: str, problem: str) -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8}).assign(constant=1.0)
    table["syntax"] = (table["model"] == "rnng").astype(float)
    with pytest.raises(StatisticsError, match=problem):
        fit_mixed(formula, table, family="binomial")


def test_rows_with_missing_values_are_left_out() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table.loc[[0, 5], "difference_bits"] = np.nan
    fit = fit_mixed("difference_bits ~ 1 + (1 | item)", table, family="gaussian")
    assert fit.n == len(table) - 2
    assert "2 rows with missing values were left out" in fit.warnings
    assert [effect.name for effect in fit.fixed] == ["(Intercept)"]
    assert [row["group"] for row in fit.random_rows()] == ["item", "Residual"]


def test_values_without_residual_are_refused_and_not_a_crash() -> None:
    table = pd.DataFrame(
        {"y": [1.0, 1.0, 2.0, 2.0] * 4, "x": [0, 0, 1, 1] * 4, "item": list("aabb") * 4}
    )
    with pytest.raises(StatisticsError, match="nothing can be tested"):
        fit_mixed("y ~ x + (1 | item)", table, family="gaussian")


def test_fewer_rows_than_effects_are_refused() -> None:
    table = pd.DataFrame({"y": [1.0, 2.0], "x": [0.0, 1.0], "z": [1.0, 3.0], "g": ["a", "b"]})
    with pytest.raises(StatisticsError, match="2 rows are too few for 2 fixed effects"):
        fit_mixed("y ~ x * z + (1 | g)", table, family="gaussian")
