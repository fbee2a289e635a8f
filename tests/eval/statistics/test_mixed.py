"""Tests of mixed models against lme4, statsmodels, and likelihoods computed the slow way."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mixedlm
import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from scipy.optimize import minimize
from scipy.special import expit, roots_hermite
from scipy.stats import binom, multivariate_normal

from src.eval.statistics import mixed
from src.eval.statistics.coding import Coding, Floats, StatisticsError
from src.eval.statistics.design import Design, build_design
from src.eval.statistics.laplace import LaplaceLikelihood
from src.eval.statistics.mixed import fit_mixed
from src.eval.statistics.profiled import ProfiledLikelihood
from tests.eval.statistics.tables import item_table, mandarin_outcomes

OUTCOME = "outcome ~ syntax + (1 | modifier) + (1 | item) + (1 | seed)"

# Class, models, and what lme4 1.1-31 estimates: b, standard error, p.
LME4 = {
    "verb-noun recurrent": ("vo", ("lstm", "rnng"), 0.507, 0.195, 0.0095),
    "verb-noun attention": ("vo", ("transformer", "plm"), 0.041, 0.165, 0.80),
    "subordination recurrent": ("sd", ("lstm", "rnng"), 0.525, 0.310, 0.090),
    "subordination attention": ("sd", ("transformer", "plm"), 0.193, 0.227, 0.40),
    "missing object recurrent": ("mobj", ("lstm", "rnng"), -0.091, 0.246, 0.71),
    "missing object attention": ("mobj", ("transformer", "plm"), 0.098, 0.195, 0.61),
}


@pytest.fixture(scope="module")
def surprisals(reference_data: Path) -> Path:
    return reference_data / "published" / "mandarin" / "surprisals"


@pytest.mark.parametrize("case", LME4)
def test_published_outcomes_give_the_estimates_of_lme4(surprisals: Path, case: str) -> None:
    key, models, estimate, error, p = LME4[case]
    fit = fit_mixed(OUTCOME, mandarin_outcomes(surprisals, key, models), family="binomial")
    effect = fit.effect("syntax")
    assert fit.converged
    assert effect.estimate == pytest.approx(estimate, abs=6e-4)
    # lme4's second derivatives are of values whose inner iteration stops early: see below.
    assert effect.standard_error == pytest.approx(error, rel=0.04)
    assert effect.p == pytest.approx(p, abs=0.013)


@pytest.mark.parametrize("case", ["missing object recurrent", "missing object attention"])
def test_standard_errors_differ_from_lme4_by_its_early_stopping(
    surprisals: Path, case: str
) -> None:
    key, models, _, error, _ = LME4[case]
    design, _ = build_design(OUTCOME, mandarin_outcomes(surprisals, key, models))
    likelihood = LaplaceLikelihood(design)
    start = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    bounds = [(0, None)] * 3 + [(None, None)] * 2
    best = minimize(likelihood.deviance, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    second = _difference_hessian(_early_stopping(design, best), best)
    assert np.sqrt(2.0 * np.linalg.inv(second)[4, 4]) == pytest.approx(error, abs=6e-4)


def _early_stopping(design: Design, parameters: Floats) -> Any:
    """The deviance as lme4 computes it near given parameters.

    The modes of the random effects start where they were and stop when the penalised deviance
    changes by less than one part in ten million; log |H| is that of the step before.
    """
    count = len(design.entries)
    modes = _modes(design, parameters)

    def deviance(around: Floats) -> float:
        loadings = (design.random @ design.factor(around[:count])).toarray()
        offset, effects, old = design.fixed @ around[count:], modes, math.inf
        inner = np.eye(len(effects))
        while True:
            predictor = offset + loadings @ effects
            means = expit(predictor)
            value = 2 * np.sum(np.logaddexp(0, predictor) - design.response * predictor)
            value += effects @ effects
            if abs(old - value) < 1e-7 * value:
                return float(value + np.linalg.slogdet(inner)[1])
            inner = loadings.T @ ((means * (1 - means))[:, None] * loadings) + np.eye(len(effects))
            slope = loadings.T @ (design.response - means) - effects
            effects, old = effects + np.linalg.solve(inner, slope), value

    return deviance


def _modes(design: Design, parameters: Floats) -> Floats:
    count = len(design.entries)
    loadings = (design.random @ design.factor(parameters[:count])).toarray()
    offset = design.fixed @ parameters[count:]

    def penalised(effects: Floats) -> tuple[float, Floats]:
        predictor = offset + loadings @ effects
        value = np.sum(np.logaddexp(0, predictor) - design.response * predictor)
        slope = loadings.T @ (expit(predictor) - design.response) + effects
        return float(value + effects @ effects / 2), slope

    start = np.zeros(loadings.shape[1])
    return np.asarray(minimize(penalised, start, jac=True, options={"gtol": 1e-9}).x)


def _difference_hessian(function: Any, at: Floats, step: float = 1e-4) -> Floats:
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


def test_linear_model_with_slopes_as_in_lme4() -> None:
    fit = fit_mixed(
        "Reaction ~ Days + (Days | Subject)", mixedlm.load_sleepstudy(), family="gaussian"
    )
    intercept, days = fit.fixed
    assert (intercept.estimate, days.estimate) == pytest.approx((251.405, 10.467), abs=1e-3)
    assert (intercept.standard_error, days.standard_error) == pytest.approx(
        (6.825, 1.546), abs=1e-3
    )
    assert days.df == pytest.approx(17.0, abs=1e-2)
    assert days.p == pytest.approx(3.26e-6, rel=1e-2)
    assert [effect.variance for effect in fit.random] == pytest.approx(
        [612.10, 35.07, 654.94], rel=1e-3
    )
    assert fit.random[1].correlations == pytest.approx((0.066,), abs=1e-3)
    assert fit.log_likelihood == pytest.approx(-871.814, abs=1e-3)
    assert fit.converged and not fit.singular and fit.engine == "mixedlm"


def test_grouped_binomial_model_as_in_lme4() -> None:
    table = mixedlm.load_cbpp()
    table["share"] = table["incidence"] / table["size"]
    fit = fit_mixed(
        "share ~ period + (1 | herd)",
        table,
        family="binomial",
        codings={"period": Coding(levels=("1", "2", "3", "4"))},
        weights="size",
    )
    assert [effect.name for effect in fit.fixed[1:]] == ["period[2]", "period[3]", "period[4]"]
    assert [effect.estimate for effect in fit.fixed] == pytest.approx(
        [-1.398, -0.992, -1.128, -1.580], abs=2e-3
    )
    assert [effect.standard_error for effect in fit.fixed] == pytest.approx(
        [0.231, 0.303, 0.323, 0.422], rel=0.02
    )
    assert fit.random[0].deviation == pytest.approx(0.642, abs=1e-3)
    assert fit.log_likelihood == pytest.approx(-92.026, abs=1e-3)


def _slopes_design(family: str) -> Design:
    dice = np.random.default_rng(3)
    table = pd.DataFrame({"g": np.repeat(list("abcdef"), 8), "h": np.tile(list("uvwx"), 12)})
    table["x"] = dice.normal(size=48)
    table["y"] = dice.normal(size=48) + table["x"]
    if family == "binomial":
        table["y"] = (table["y"] > 0).astype(float)
    return build_design("y ~ x + (1 + x | g) + (1 | h)", table)[0]


def test_gradient_of_the_laplace_likelihood() -> None:
    likelihood = LaplaceLikelihood(_slopes_design("binomial"))
    parameters = np.array([0.8, -0.3, 0.5, 0.4, 0.2, 0.9])
    _, gradient = likelihood.deviance(parameters)
    for number, step in enumerate(np.eye(6) * 1e-5):
        up, down = likelihood.deviance(parameters + step), likelihood.deviance(parameters - step)
        assert gradient[number] == pytest.approx((up[0] - down[0]) / 2e-5, abs=1e-4)


def test_laplace_likelihood_is_near_the_integral() -> None:
    dice = np.random.default_rng(1)
    table = pd.DataFrame({"g": np.repeat(list("abcd"), 10), "x": dice.normal(size=40)})
    table["share"] = dice.integers(0, 21, size=40) / 20
    table["trials"] = 20
    design, _ = build_design("share ~ x + (1 | g)", table, weights="trials")
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
    loadings = (design.random @ design.factor(theta)).toarray()
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
    loadings = (design.random @ design.factor(theta)).toarray()
    covariance = sigma**2 * (loadings @ loadings.T + np.eye(design.rows))
    # Contrasts of the response that no fixed effect reaches, orthonormal, have the restricted
    # likelihood up to log |X'X|.
    contrasts = scipy.linalg.null_space(design.fixed.T)
    exact = multivariate_normal.logpdf(
        contrasts.T @ design.response, None, contrasts.T @ covariance @ contrasts
    )
    constant = np.linalg.slogdet(design.fixed.T @ design.fixed)[1]
    assert likelihood.deviance(theta) == pytest.approx(-2 * exact + constant, abs=1e-8)


def test_a_failing_solver_is_replaced_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    formula = "outcome ~ syntax + (1 | item)"
    first = fit_mixed(formula, table, family="binomial")

    def fail(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(mixed, "_mixedlm", fail)
    second = fit_mixed(formula, table, family="binomial")
    assert (first.engine, second.engine) == ("mixedlm", "laplace")
    assert second.warnings[0] == "mixedlm failed: no"
    for one, other in zip(first.fixed, second.fixed, strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=1e-4)
        assert one.standard_error == pytest.approx(other.standard_error, abs=1e-4)
    linear = fit_mixed("difference_bits ~ syntax + (1 | item)", table, family="gaussian")
    assert linear.engine == "profiled" and linear.converged


def test_linear_model_agrees_with_statsmodels() -> None:
    formula_api = pytest.importorskip("statsmodels.formula.api")
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    fit = fit_mixed("difference_bits ~ syntax + (1 | item)", table, family="gaussian")
    model = formula_api.mixedlm("difference_bits ~ syntax", table, groups=table["item"])
    other = model.fit(method="powell")
    assert fit.effect("syntax").estimate == pytest.approx(other.params["syntax"], abs=1e-4)
    assert fit.effect("syntax").standard_error == pytest.approx(other.bse["syntax"], rel=1e-3)
    assert fit.log_likelihood == pytest.approx(other.llf, abs=1e-3)


def test_without_random_effects_it_is_a_plain_regression() -> None:
    formula_api = pytest.importorskip("statsmodels.formula.api")
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    fit = fit_mixed("outcome ~ syntax", table, family="binomial")
    other = formula_api.logit("outcome ~ syntax", table).fit(disp=0)
    assert [effect.estimate for effect in fit.fixed] == pytest.approx(other.params.to_list(), 1e-4)
    assert [e.standard_error for e in fit.fixed] == pytest.approx(other.bse.to_list(), 1e-4)
    linear = fit_mixed("difference_bits ~ syntax", table, family="gaussian")
    plain = formula_api.ols("difference_bits ~ syntax", table).fit()
    assert [effect.p for effect in linear.fixed] == pytest.approx(plain.pvalues.to_list(), 1e-3)


def test_singular_fits_are_reported() -> None:
    table = pd.DataFrame({"g": np.repeat(list("abcdefgh"), 6), "x": np.tile(np.arange(6.0), 8)})
    # Groups with exactly equal means: less variance between them than chance would give.
    table["y"] = np.tile([0.3, -0.2, 0.5, 0.1, -0.4, 0.2], 8) + table["x"]
    fit = fit_mixed("y ~ x + (1 | g)", table, family="gaussian")
    assert fit.singular and fit.random[0].variance == pytest.approx(0.0, abs=1e-6)


def test_separated_outcomes_do_not_converge() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    table.loc[table["model"] == "rnng", "outcome"] = 1.0
    fit = fit_mixed("outcome ~ syntax + (1 | item)", table, family="binomial")
    assert not fit.converged
    assert any("no finite value" in remark for remark in fit.warnings)


def test_effects_that_others_determine_are_left_out() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    table["again"] = 1.0 - table["syntax"]
    fit = fit_mixed("difference_bits ~ syntax + again + (1 | item)", table, family="gaussian")
    assert [effect.name for effect in fit.fixed] == ["(Intercept)", "syntax"]
    assert any(remark.startswith("again cannot be told") for remark in fit.warnings)


def test_ties_count_as_parts_of_a_success() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table["syntax"] = (table["model"] == "rnng").astype(float)
    table.loc[:3, "outcome"] = 0.5
    halves = fit_mixed("outcome ~ syntax", table, family="binomial")
    assert halves.warnings == ("4 outcomes are shares (ties), taken as parts of a success",)
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
        ("outcome ~ (1 | ", "cannot be read"),
        ("constant ~ syntax + (1 | item)", "every response is the same"),
        ("difference_bits ~ syntax + (1 | item)", "must lie from 0 to 1"),
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
    assert list(fit.fixed_table()["term"]) == ["(Intercept)"]
    assert list(fit.random_table()["group"]) == ["item", "Residual"]


def test_values_without_residual_are_refused_and_not_a_crash() -> None:
    table = pd.DataFrame(
        {"y": [1.0, 1.0, 2.0, 2.0] * 4, "x": [0, 0, 1, 1] * 4, "item": list("aabb") * 4}
    )
    with pytest.raises(StatisticsError, match="nothing to test"):
        fit_mixed("y ~ x + (1 | item)", table, family="gaussian")
