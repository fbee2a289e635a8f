"""Tests of predictors of unusual size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from gardenpath.data.arrays import Floats
from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics.analysis import MixedFit
from gardenpath.eval.statistics.design import (
    Design,
    build_design,
    identifiable,
    in_usual_units,
    separated_effects,
)
from gardenpath.eval.statistics.formulas import Coding, Distribution
from gardenpath.eval.statistics.likelihoods import (
    LaplaceLikelihood,
    ProfiledLikelihood,
)
from gardenpath.eval.statistics.mixed import fit_mixed
from tests.eval.statistics.r_program import r_functions, r_table
from tests.eval.statistics.released import mandarin_items
from tests.eval.statistics.tables import loaded_matrix, slopes_table


@pytest.mark.parametrize("size", [1e-4, 1e4])
@pytest.mark.parametrize(
    ("formula", "family"),
    [
        ("y ~ x + (x | g) + (1 | h)", "gaussian"),
        ("y ~ x + (0 + x | g)", "gaussian"),
        ("o ~ x + (x | g)", "binomial"),
        ("o ~ x + (1 | g)", "binomial"),
    ],
)
def test_estimates_do_not_depend_on_the_size_of_a_predictor(
    formula: str, family: Distribution, size: float
) -> None:
    table = slopes_table()
    plain = fit_mixed(formula, table, family=family)
    other = fit_mixed(formula, table.assign(x=size * table["x"]), family=family)
    assert plain.converged and other.converged
    one, two = plain.effect("x"), other.effect("x")
    assert size * two.estimate == pytest.approx(one.estimate, rel=1e-5)
    assert size * two.standard_error == pytest.approx(one.standard_error, rel=1e-5)
    assert two.p == pytest.approx(one.p, rel=1e-4)
    for before, after in zip(plain.random, other.random, strict=True):
        scale = size**2 if after.name == "x" else 1.0
        assert scale * after.variance == pytest.approx(before.variance, rel=1e-4)
        assert after.correlations == pytest.approx(before.correlations, abs=1e-4)
    # The restricted likelihood changes with the units of fixed effects.
    shift = math.log(size) if family == "gaussian" else 0.0
    assert other.log_likelihood + shift == pytest.approx(plain.log_likelihood, abs=1e-7)


def test_a_shift_of_a_predictor_leaves_its_slope_as_it_is() -> None:
    table = slopes_table()
    plain = fit_mixed("y ~ x + (x | g)", table, family="gaussian").effect("x")
    table["x"] += 30.0
    shifted = fit_mixed("y ~ x + (x | g)", table, family="gaussian").effect("x")
    assert shifted.estimate == pytest.approx(plain.estimate, rel=1e-5)
    assert shifted.standard_error == pytest.approx(plain.standard_error, rel=1e-5)
    assert shifted.df == pytest.approx(plain.df, rel=1e-2)


def test_usual_predictors_stay_as_they_are() -> None:
    design = build_design("y ~ x + (x | g)", slopes_table())
    scaled, units = in_usual_units(design)
    assert (scaled.fixed == design.fixed).all()
    assert (scaled.loadings.values == design.loadings.values).all()
    assert units.fixed.tolist() == [1.0, 1.0] and units.theta.tolist() == [1.0, 1.0, 1.0]


def test_units_are_root_mean_squares() -> None:
    table = slopes_table()
    table["x"] *= 1000.0
    scaled, units = in_usual_units(build_design("y ~ x + (x | g)", table))
    size = float(np.sqrt(np.mean(table["x"] ** 2)))
    assert units.fixed == pytest.approx([1.0, size])
    # Intercept; slope by intercept, and slope, both in the row of the slope.
    assert units.theta == pytest.approx([1.0, size, size])
    assert np.mean(scaled.fixed[:, 1] ** 2) == pytest.approx(1.0)


# ----------------------------------------------------------------------------
# Prior weights of linear models, against dense matrices and against lme4.


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
    loadings = loaded_matrix(design, theta)
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


@pytest.mark.slow
def test_estimates_are_those_of_lme4(tmp_path: Path) -> None:
    table = _table()
    search = 'lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 1e5))'
    formulas = ["y ~ x + (1 | g)", "y ~ x + (1 | g) + (1 | h)", FORMULA, "y ~ x"]
    settings = {one: f", control = {search}" if "|" in one else "" for one in formulas}
    calls = [
        f'report(list(name = "{one}"), {"lmer" if more else "lm"}({one}, d, weights = w{more}))'
        for one, more in settings.items()
    ]
    code = "\n".join([r_functions("lme4", "lmer_test", "add", "report"), *calls])
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


# ----------------------------------------------------------------------------
# Tests of separated outcomes, against definitions and against likelihoods that keep growing.


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


# ----------------------------------------------------------------------------
# Tests against lme4, on item outcomes of published models, on textbook data and on hard cases.
#
# Standard errors of ``glmer`` are from differences of a deviance whose inner iterations stop
# early; with inner iterations that go on until they have converged, as in our R scripts, they are
# ours.


OUTCOME = "outcome ~ syntax + (1 | modifier) + (1 | item) + (1 | seed)"

# Class, models, and what lme4 estimates: b, standard error, p.
LME4 = {
    "verb-noun recurrent": ("verb_noun", ("lstm", "rnng"), 0.507, 0.195, 0.0095),
    "verb-noun attention": ("verb_noun", ("transformer", "plm"), 0.041, 0.165, 0.80),
    "subordination recurrent": ("subordination", ("lstm", "rnng"), 0.976, 0.315, 0.0019),
    "subordination attention": ("subordination", ("transformer", "plm"), 0.193, 0.227, 0.40),
    "missing object recurrent": ("missing_object", ("lstm", "rnng"), -0.091, 0.246, 0.71),
    "missing object attention": ("missing_object", ("transformer", "plm"), 0.098, 0.195, 0.61),
}
ROUNDED = 5.1e-4
# Of inner iterations; see the R scripts of analyses.
STRICT_TOLERANCE = 1e-13


@dataclass(frozen=True)
class Case:
    """A fit, its table, and what lme4 prints of it."""

    fit: MixedFit
    table: pd.DataFrame
    estimate: float
    error: float
    p: float


@pytest.fixture(scope="module", params=LME4)
def case(request: pytest.FixtureRequest, reference_data: Path) -> Case:
    key, models, estimate, error, p = LME4[request.param]
    table = mandarin_items(reference_data / "published" / "mandarin")
    table = table[
        (table["class"] == key) & table["model"].isin(models) & (table["corpus"] == "ctb")
    ]
    table = table.assign(syntax=table["model"].isin(["rnng", "plm"]).astype(float))
    return Case(fit_mixed(OUTCOME, table, family="binomial"), table, estimate, error, p)


def test_estimates_are_those_of_lme4_lme4(case: Case) -> None:
    effect = case.fit.effect("syntax")
    assert case.fit.converged and case.fit.engine == "laplace"
    # Its estimates differ in the fourth digit, for the reason below.
    assert effect.estimate == pytest.approx(case.estimate, abs=1e-3)
    # Its standard errors are equal, or up to 4 % smaller, for the reason below.
    assert -ROUNDED < effect.standard_error - case.error < 0.04 * case.error
    assert effect.p == pytest.approx(case.p, abs=0.013)


def test_linear_model_with_slopes(tmp_path: Path) -> None:
    sleepstudy = r_table(tmp_path, "library(lme4)", "sleepstudy")
    fit = fit_mixed("Reaction ~ Days + (Days | Subject)", sleepstudy, family="gaussian")
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
    assert fit.converged and not fit.singular and fit.engine == "profiled"


def test_grouped_binomial_model(tmp_path: Path) -> None:
    table = r_table(tmp_path, "library(lme4)", "cbpp")
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


def _r_fits(folder: Path, calls: Mapping[str, str], **tables: pd.DataFrame) -> pd.DataFrame:
    """What scripts report of the models of some calls, by the name of each call."""
    lines = [f'report(list(name = "{name}"), {call})' for name, call in calls.items()]
    code = "\n".join([r_functions("lme4", "lmer_test", "add", "report"), *lines])
    return r_table(folder, code, "do.call(rbind, rows)", **tables)


SEARCH = 'optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 1e5)'
LMER = f"lmerControl({SEARCH})"
GLMER = f"family = binomial, control = glmerControl({SEARCH}, tolPwrss = {STRICT_TOLERANCE})"


@pytest.mark.slow
def test_the_likelihood_is_at_least_that_of_lme4(case: Case, tmp_path: Path) -> None:
    table = case.table[["outcome", "syntax", "modifier", "item", "seed"]]
    found = _r_fits(tmp_path, {"": f"glmer({OUTCOME}, d, {GLMER})"}, d=table)
    likelihood = found.set_index("term").loc["log_likelihood", "estimate"]
    assert case.fit.log_likelihood >= likelihood - 1e-6
    assert case.fit.log_likelihood == pytest.approx(likelihood, abs=1e-3)


# Models of one table, from easy to hard: predictors of other sizes, slopes that correlate with
# their intercepts, and more random effects than the table can tell anything about.
LINEAR = [
    *("y ~ x + (1 | g)", "y ~ x + (x | g)", "y ~ x + (x || g)", "y ~ x + (x | g) + (1 | h)"),
    *("y ~ x * z + (1 | g) + (0 + x | g) + (1 | h)", "y ~ z + (z | g) + (1 | h)"),
    *("y ~ small + (small | g)", "y ~ large + (1 | g)", "y ~ shifted + (1 + shifted | g)"),
    *("y ~ I(x^2) + x + (1 | g)", "y ~ 1 + (1 | g:h)", "y ~ b * x + (b | g)"),
]
BINOMIAL = [
    *("o ~ x + (1 | g)", "o ~ x + (1 | g) + (1 | h)", "o ~ x + (x | g)", "o ~ x * z + (x || g)"),
    *("o ~ small + (small | g)", "o ~ large + (1 | g)", "o ~ b + (b | g) + (1 | h)", "o ~ z"),
]


@pytest.fixture(scope="module")
def hard_table() -> pd.DataFrame:
    dice = np.random.default_rng(12)
    table = slopes_table()
    table["z"] = dice.normal(size=len(table))
    table["b"] = dice.integers(0, 2, size=len(table)).astype(float)
    return table.assign(small=table["x"] / 1000, large=1000 * table["x"], shifted=table["x"] + 20)


def _call(formula: str) -> str:
    """What fits a model of the table d in R."""
    if formula == "y ~ 1 + (1 | g:h)":  # as many groups as rows: no random effects
        return "lm(y ~ 1, d)"
    if formula.startswith("y"):
        return f"lmer({formula}, d, control = {LMER})"
    return f"glmer({formula}, d, {GLMER})" if "|" in formula else f"glm({formula}, binomial, d)"


@pytest.mark.slow
def test_hard_models_have_the_estimates_of_lme4(tmp_path: Path, hard_table: pd.DataFrame) -> None:
    """Only likelihoods are compared where lme4 is singular or stops too early.

    So they are where predictors are of unusual size, for then lme4's second derivatives are not
    accurate, nor are lmerTest's degrees of freedom.
    """
    calls = {formula: _call(formula) for formula in (*LINEAR, *BINOMIAL)}
    found = _r_fits(tmp_path, calls, d=hard_table)
    compared = 0
    for formula in calls:
        family: Distribution = "gaussian" if formula.startswith("y") else "binomial"
        chosen, _ = identifiable(formula, hard_table, family=family)
        fit = fit_mixed(chosen, hard_table, family=family)
        theirs = found[found["name"] == formula]
        facts = theirs[theirs["kind"] == "fit"].set_index("term")["estimate"]
        gain = fit.log_likelihood - facts["log_likelihood"]
        assert fit.converged and gain > -1e-5, formula
        is_usual = not any(name in formula for name in ("small", "large", "shifted"))
        if gain < 1e-5 and facts.get("singular", 0.0) == 0.0 and is_usual:
            compared += 1
            _check_fixed(fit, theirs[theirs["kind"] == "fixed"])
    assert compared >= 10


def _check_fixed(fit: MixedFit, theirs: pd.DataFrame) -> None:
    errors = np.array([effect.standard_error for effect in fit.fixed])
    estimates = np.array([effect.estimate for effect in fit.fixed])
    assert theirs["term"].tolist() == [effect.name for effect in fit.fixed]
    assert np.abs(estimates - theirs["estimate"].to_numpy()).max() < 1e-4 * errors.max()
    assert errors == pytest.approx(theirs["standard_error"].to_numpy(), rel=5e-4)
    if fit.family == "gaussian":
        degrees = np.array([effect.df for effect in fit.fixed])
        assert degrees == pytest.approx(theirs["df"].to_numpy(), rel=1e-3)


def _two_slopes(seed: int) -> pd.DataFrame:
    """Outcomes of a few groups, which do not differ in their mean but in their slope of b."""
    dice = np.random.default_rng(seed)
    groups, rows = 10, 8
    group, row = np.repeat(np.arange(groups), rows), np.tile(np.arange(rows), groups)
    b = dice.integers(0, 2, size=len(group)).astype(float)
    slopes, others = dice.normal(size=groups), dice.normal(size=rows)
    chances = 1 / (1 + np.exp(-(0.5 * b + slopes[group] * b + others[row])))
    outcomes = (dice.uniform(size=len(group)) < chances).astype(float)
    return pd.DataFrame({"g": group, "h": row, "b": b, "o": outcomes})


@pytest.mark.slow
def test_flat_likelihoods_of_singular_models_are_no_failure(tmp_path: Path) -> None:
    """With an intercept of no variance, θ may turn without any change of the likelihood."""
    formula, seeds = "o ~ b + (1 + b | g) + (1 | h)", range(6)
    tables = {f"d{seed}": _two_slopes(seed) for seed in seeds}
    calls = {name: f"glmer({formula}, {name}, {GLMER})" for name in tables}
    found = _r_fits(tmp_path, calls, **tables)
    is_singular = []
    for name, table in tables.items():
        fit = fit_mixed(formula, table, family="binomial")
        theirs = found[(found["name"] == name) & (found["term"] == "log_likelihood")]
        assert fit.converged
        assert fit.log_likelihood >= theirs["estimate"].item() - 1e-5
        is_singular.append(fit.singular)
    assert any(is_singular)
