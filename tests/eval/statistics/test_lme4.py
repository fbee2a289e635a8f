"""Tests against lme4, on item outcomes of published models, on textbook data and on hard cases.

Standard errors of ``glmer`` are from differences of a deviance whose inner iterations stop early.
Computed as it computes them, they are those that it printed; with inner iterations that go on until
they have converged, as in our R scripts, they are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics import rscript as r
from gardenpath.eval.statistics.analysis import MixedFit
from gardenpath.eval.statistics.design import Design, build_design, identifiable
from gardenpath.eval.statistics.formulas import Coding, Distribution
from gardenpath.eval.statistics.likelihoods import (
    DEFAULT_TOLERANCE,
    LaplaceLikelihood,
    Lme4Deviance,
)
from gardenpath.eval.statistics.mixed import fit_mixed, search
from tests.eval.statistics.r_program import r_table
from tests.eval.statistics.released import mandarin_items
from tests.eval.statistics.tables import slopes_table

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
    """A fit, what lme4 prints of it, and the parameters at the highest likelihood."""

    fit: MixedFit
    table: pd.DataFrame
    design: Design
    optimum: Floats
    estimate: float
    error: float
    p: float

    def error_of_lme4(self, tolerance: float) -> float:
        """The standard error of syntax that lme4 gets with a tolerance of inner iterations."""
        theta = np.abs(self.optimum[:3])
        deviance = Lme4Deviance(self.design, theta, tolerance=tolerance)
        return float(deviance.fixed(np.append(theta, self.optimum[3:]))[1][-1])


@pytest.fixture(scope="module", params=LME4)
def case(request: pytest.FixtureRequest, reference_data: Path) -> Case:
    key, models, estimate, error, p = LME4[request.param]
    table = mandarin_items(reference_data / "published" / "mandarin")
    table = table[
        (table["class"] == key) & table["model"].isin(models) & (table["corpus"] == "ctb")
    ]
    table = table.assign(syntax=table["model"].isin(["rnng", "plm"]).astype(float))
    design = build_design(OUTCOME, table)
    is_scale = np.array([True, True, True, False, False])
    start = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    best = search(LaplaceLikelihood(design).deviance, start, is_scale)
    fit = fit_mixed(OUTCOME, table, family="binomial")
    return Case(fit, table, design, best.parameters, estimate, error, p)


def test_estimates_are_those_of_lme4(case: Case) -> None:
    effect = case.fit.effect("syntax")
    assert case.fit.converged and case.fit.engine == "laplace"
    # Its estimates differ in the fourth digit, for the reason below.
    assert effect.estimate == pytest.approx(case.estimate, abs=1e-3)
    # Its standard errors are equal, or up to 4 % smaller, for the reason below.
    assert -ROUNDED < effect.standard_error - case.error < 0.04 * case.error
    assert effect.p == pytest.approx(case.p, abs=0.013)


def test_computed_as_in_lme4_standard_errors_are_those_it_prints(case: Case) -> None:
    error = case.error_of_lme4(DEFAULT_TOLERANCE)
    assert error == pytest.approx(case.error, abs=ROUNDED)
    p = 2 * norm.sf(abs(case.fit.effect("syntax").estimate) / error)
    assert p == pytest.approx(case.p, abs=1e-4 if case.p < 0.01 else 6e-3)


def test_where_inner_iterations_converge_standard_errors_are_ours(case: Case) -> None:
    error = case.error_of_lme4(STRICT_TOLERANCE)
    assert error == pytest.approx(case.fit.effect("syntax").standard_error, rel=5e-4)


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
    code = "\n".join([r.LME4, r.LMER_TEST, r.ADD, r.REPORT, *lines])
    return r_table(folder, code, "do.call(rbind, rows)", **tables)


SEARCH = 'optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 1e5)'
LMER = f"lmerControl({SEARCH})"
GLMER = f"family = binomial, control = glmerControl({SEARCH}, tolPwrss = {STRICT_TOLERANCE})"


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
