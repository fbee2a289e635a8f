"""Prior weights of linear models, against dense matrices and against lme4."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from gardenpath.data.arrays import Floats
from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics import rscript as r
from gardenpath.eval.statistics.design import Design, build_design
from gardenpath.eval.statistics.likelihoods import ProfiledLikelihood
from gardenpath.eval.statistics.mixed import fit_mixed
from tests.eval.statistics.r_program import r_table

FORMULA = "y ~ x + (1 + x | g) + (1 | h)"
THETA = np.array([0.8, -0.3, 0.5, 0.4])


def _table(rows: int = 60) -> pd.DataFrame:
    """Responses that are less precise where their weight is small."""
    dice = np.random.default_rng(5)
    table = pd.DataFrame({"g": np.arange(rows) % 10, "h": np.arange(rows) // 10})
    table["x"] = dice.normal(size=rows)
    table["w"] = dice.uniform(0.05, 2.0, size=rows)
    slopes, others = dice.normal(1.0, 1.0, size=10), dice.normal(size=rows // 10)
    noise = dice.normal(size=rows) / np.sqrt(table["w"])
    own = dice.normal(size=10)[table["g"]] + slopes[table["g"]] * table["x"]
    table["y"] = own + others[table["h"]] + noise
    return table


def _design(formula: str = FORMULA) -> Design:
    return build_design(formula, _table(), weights="w")


def _covariance(design: Design, theta: Floats) -> Floats:
    """That of the responses, relative to σ²: W⁻¹ + ZΛΛ'Z'."""
    loadings = (design.random @ design.factor(theta)).toarray()
    return np.asarray(loadings @ loadings.T + np.diag(1.0 / design.weights))


def _restricted(design: Design, theta: Floats, sigma: float) -> float:
    """−2 log restricted likelihood: that of contrasts of which no fixed effect is a part."""
    contrasts = scipy.linalg.null_space(design.fixed.T)
    covariance = sigma**2 * contrasts.T @ _covariance(design, theta) @ contrasts
    exact = multivariate_normal.logpdf(contrasts.T @ design.response, None, covariance)
    return float(-2.0 * exact + np.linalg.slogdet(design.fixed.T @ design.fixed)[1])


def test_likelihood_is_that_of_the_marginal_normal() -> None:
    design = _design()
    likelihood = ProfiledLikelihood(design, restricted=False)
    solution = likelihood.solve(THETA)
    covariance = solution.sigma**2 * _covariance(design, THETA)
    exact = multivariate_normal.logpdf(design.response, design.fixed @ solution.beta, covariance)
    assert likelihood.deviance(THETA) == pytest.approx(-2.0 * exact, abs=1e-8)
    inverse = np.linalg.inv(covariance)
    information = design.fixed.T @ inverse @ design.fixed
    expected = np.linalg.solve(information, design.fixed.T @ inverse @ design.response)
    assert solution.beta == pytest.approx(expected, abs=1e-10)
    assert likelihood.covariance(THETA, solution.sigma) == pytest.approx(
        np.linalg.inv(information), abs=1e-10
    )


def test_restricted_likelihood_of_contrasts() -> None:
    design = _design()
    likelihood = ProfiledLikelihood(design, restricted=True)
    sigma = likelihood.solve(THETA).sigma
    assert likelihood.deviance(THETA) == pytest.approx(_restricted(design, THETA, sigma), abs=1e-8)


@pytest.mark.parametrize("restricted", [True, False])
def test_gradient(restricted: bool) -> None:
    likelihood = ProfiledLikelihood(_design(), restricted=restricted)
    value, gradient = likelihood.with_gradient(THETA)
    assert value == likelihood.deviance(THETA)
    for number, step in enumerate(np.eye(4) * 1e-5):
        slope = (likelihood.deviance(THETA + step) - likelihood.deviance(THETA - step)) / 2e-5
        assert gradient[number] == pytest.approx(slope, abs=1e-6)


def test_the_fit_has_the_highest_likelihood() -> None:
    design = _design("y ~ x + (1 | g) + (1 | h)")
    fit = fit_mixed(design.formula, _table(), family="gaussian", weights="w")

    def deviance(logs: Floats) -> float:
        return _restricted(design, np.exp(logs[:2]), math.exp(logs[2]))

    best = minimize(deviance, np.zeros(3), method="Nelder-Mead", options={"maxiter": 2000})
    assert fit.log_likelihood == pytest.approx(-best.fun / 2.0, abs=1e-5)
    assert list(fit.theta.values()) == pytest.approx(np.exp(best.x[:2]), rel=1e-2)
    assert fit.random[-1].deviation == pytest.approx(math.exp(best.x[2]), rel=1e-3)


def test_without_random_effects_it_is_weighted_least_squares() -> None:
    table = _table()
    fit = fit_mixed("y ~ x", table, family="gaussian", weights="w")
    x = np.column_stack([np.ones(len(table)), table["x"]])
    weights, y = table["w"].to_numpy(), table["y"].to_numpy()
    information = x.T @ (weights[:, None] * x)
    beta = np.linalg.solve(information, x.T @ (weights * y))
    variance = float(weights @ (y - x @ beta) ** 2) / (len(table) - 2)
    assert [one.estimate for one in fit.fixed] == pytest.approx(beta)
    errors = np.sqrt(variance * np.diag(np.linalg.inv(information)))
    assert [one.standard_error for one in fit.fixed] == pytest.approx(errors)
    assert [one.df for one in fit.fixed] == pytest.approx([58.0, 58.0])


def test_only_the_ratios_of_weights_matter() -> None:
    table = _table()
    once = fit_mixed(FORMULA, table, family="gaussian", weights="w")
    more = fit_mixed(FORMULA, table.assign(w=9.0 * table["w"]), family="gaussian", weights="w")
    for one, other in zip(once.fixed, more.fixed, strict=True):
        assert (one.estimate, one.standard_error, one.df) == pytest.approx(
            (other.estimate, other.standard_error, other.df), rel=1e-4
        )
    assert once.log_likelihood == pytest.approx(more.log_likelihood, abs=1e-6)
    assert once.random[-1].variance * 9.0 == pytest.approx(more.random[-1].variance, rel=1e-4)
    same = fit_mixed(FORMULA, table.assign(w=1.0), family="gaussian", weights="w")
    assert same == fit_mixed(FORMULA, table, family="gaussian")


def test_weights_must_be_positive() -> None:
    table = _table().assign(w=0.0)
    with pytest.raises(StatisticsError, match="weights must be positive"):
        fit_mixed(FORMULA, table, family="gaussian", weights="w")


def test_estimates_are_those_of_lme4(tmp_path: Path) -> None:
    table = _table()
    search = 'lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 1e5))'
    formulas = ["y ~ x + (1 | g)", "y ~ x + (1 | g) + (1 | h)", FORMULA, "y ~ x"]
    settings = {one: f", control = {search}" if "|" in one else "" for one in formulas}
    calls = [
        f'report(list(name = "{one}"), {"lmer" if more else "lm"}({one}, d, weights = w{more}))'
        for one, more in settings.items()
    ]
    code = "\n".join([r.LME4, r.LMER_TEST, r.ADD, r.REPORT, *calls])
    found = r_table(tmp_path, code, "do.call(rbind, rows)", d=table)
    for formula in formulas:
        fit = fit_mixed(formula, table, family="gaussian", weights="w")
        theirs = found[found["name"] == formula]
        facts = theirs[theirs["kind"] == "fit"].set_index("term")["estimate"]
        assert fit.log_likelihood == pytest.approx(facts["log_likelihood"], abs=1e-5), formula
        fixed = theirs[theirs["kind"] == "fixed"]
        for column in ("estimate", "standard_error", "df"):
            ours = [getattr(one, column) for one in fit.fixed]
            assert ours == pytest.approx(fixed[column].to_numpy(), rel=1e-3), (formula, column)
        sizes = [one.estimate / fit.total_deviation for one in fit.fixed]
        assert sizes == pytest.approx(fixed["effect_size"].to_numpy(), rel=1e-3)
        variances = theirs[theirs["kind"] == "variance"]["estimate"]
        if len(variances):
            assert [one.variance for one in fit.random] == pytest.approx(
                variances.to_numpy(), rel=1e-3
            )
