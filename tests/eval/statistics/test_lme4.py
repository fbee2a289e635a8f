"""Tests against values of lme4 1.1-31, on item outcomes of published models and on textbook data.

Standard errors of ``glmer`` are from differences of a deviance whose inner iterations stop early.
Computed as it computes them, they are those that it printed; with inner iterations that go on until
they have converged, as in our R scripts, they are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mixedlm
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from gardenpath.eval.statistics.mixed.coding import Coding, Floats
from gardenpath.eval.statistics.mixed.design_matrix import Design, build_design
from gardenpath.eval.statistics.mixed.laplace import LaplaceLikelihood
from gardenpath.eval.statistics.mixed.mixed_fit import MixedFit
from gardenpath.eval.statistics.mixed.mixed_model import fit_mixed
from gardenpath.eval.statistics.mixed.optimum import search
from gardenpath.eval.statistics.mixed.second_opinion import second_opinion
from gardenpath.eval.statistics.questions.rscript import TOLERANCE
from tests.eval.statistics.lme4_deviance import DEFAULT_TOLERANCE, Lme4Deviance
from tests.eval.statistics.tables import mandarin_outcomes

OUTCOME = "outcome ~ syntax + (1 | modifier) + (1 | item) + (1 | seed)"

# Class, models, and what lme4 estimates: b, standard error, p.
LME4 = {
    "verb-noun recurrent": ("vo", ("lstm", "rnng"), 0.507, 0.195, 0.0095),
    "verb-noun attention": ("vo", ("transformer", "plm"), 0.041, 0.165, 0.80),
    "subordination recurrent": ("sd", ("lstm", "rnng"), 0.525, 0.310, 0.090),
    "subordination attention": ("sd", ("transformer", "plm"), 0.193, 0.227, 0.40),
    "missing object recurrent": ("mobj", ("lstm", "rnng"), -0.091, 0.246, 0.71),
    "missing object attention": ("mobj", ("transformer", "plm"), 0.098, 0.195, 0.61),
}
ROUNDED = 5.1e-4


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
        second = Lme4Deviance(self.design, tolerance=tolerance).hessian(self.optimum)
        return float(np.sqrt(2.0 * np.linalg.inv(second)[-1, -1]))


@pytest.fixture(scope="module", params=LME4)
def case(request: pytest.FixtureRequest, reference_data: Path) -> Case:
    key, models, estimate, error, p = LME4[request.param]
    surprisals = reference_data / "published" / "mandarin" / "surprisals"
    table = mandarin_outcomes(surprisals, key, models)
    design, _ = build_design(OUTCOME, table)
    is_scale = np.array([True, True, True, False, False])
    start = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    best = search(LaplaceLikelihood(design).deviance, start, is_scale)
    fit = fit_mixed(OUTCOME, table, family="binomial")
    return Case(fit, table, design, best.parameters, estimate, error, p)


def test_estimates_are_those_of_lme4(case: Case) -> None:
    effect = case.fit.effect("syntax")
    assert case.fit.converged and case.fit.engine == "laplace"
    assert effect.estimate == pytest.approx(case.estimate, abs=ROUNDED)
    # Its standard errors are equal, or up to 4 % smaller, for the reason below.
    assert -ROUNDED < effect.standard_error - case.error < 0.04 * case.error
    assert effect.p == pytest.approx(case.p, abs=0.013)


def test_computed_as_in_lme4_standard_errors_are_those_it_prints(case: Case) -> None:
    error = case.error_of_lme4(DEFAULT_TOLERANCE)
    assert error == pytest.approx(case.error, abs=ROUNDED)
    p = 2 * norm.sf(abs(case.fit.effect("syntax").estimate) / error)
    assert p == pytest.approx(case.p, abs=1e-4 if case.p < 0.01 else 6e-3)


def test_where_inner_iterations_converge_standard_errors_are_ours(case: Case) -> None:
    error = case.error_of_lme4(float(TOLERANCE))
    assert error == pytest.approx(case.fit.effect("syntax").standard_error, rel=5e-4)


def test_linear_model_with_slopes() -> None:
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
    assert fit.converged and not fit.singular and fit.engine == "profiled"


def test_grouped_binomial_model() -> None:
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


def test_the_likelihood_is_at_least_that_of_mixedlm(case: Case) -> None:
    likelihood = LaplaceLikelihood(case.design)
    theirs = second_opinion(case.design, case.table, "binomial", {})
    assert theirs is not None
    assert case.fit.log_likelihood >= -likelihood.deviance(theirs)[0] / 2 - 1e-6
