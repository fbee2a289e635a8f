"""Linear and generalised linear mixed models with the formulas of lme4.

The likelihoods of ``laplace`` and ``profiled`` have exact derivatives, so that one search of a few
dozen steps finds their maximum; standard errors are exact to many digits. Only where that search
does not settle another program is asked where its own ends (``second_opinion``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from gardenpath.eval.statistics.mixed.coding import Coding, Floats, StatisticsError
from gardenpath.eval.statistics.mixed.design_matrix import Design, build_design
from gardenpath.eval.statistics.mixed.estimates import (
    fixed_effects,
    group_levels,
    random_effects,
    remarks,
)
from gardenpath.eval.statistics.mixed.laplace import LaplaceLikelihood
from gardenpath.eval.statistics.mixed.mixed_fit import (
    RESIDUAL,
    Engine,
    Failure,
    Family,
    MixedFit,
    RandomEffect,
)
from gardenpath.eval.statistics.mixed.optimum import Optimum, hessian, is_settled, search
from gardenpath.eval.statistics.mixed.profiled import ProfiledLikelihood
from gardenpath.eval.statistics.mixed.second_opinion import second_opinion
from gardenpath.eval.statistics.mixed.separation import separated_effects

# A residual this small, beside the responses, is rounding.
_NO_RESIDUAL = 1e-7
# Log odds that no share of a finite table can stand behind.
_ENDLESS = 15.0
# Beyond this mixedlm takes minutes.
_MANY_ROWS = 20_000


def fit_mixed(
    formula: str,
    table: pd.DataFrame,
    *,
    family: Family,
    codings: Mapping[str, Coding] | None = None,
    weights: str | None = None,
) -> MixedFit:
    """Fit a model; ``weights`` names the column of numbers of trials, for a binomial one."""
    design, coded = build_design(formula, table, codings=codings, weights=weights)
    if design.rows <= design.fixed.shape[1]:
        raise StatisticsError(
            f"{design.rows} rows are too few for {design.fixed.shape[1]} fixed effects"
        )
    if np.ptp(design.response) == 0.0:
        raise StatisticsError(f"every response is the same, {design.response[0]:g}")
    if family == "binomial" and not 0.0 <= design.response.min() <= design.response.max() <= 1.0:
        raise StatisticsError("the responses of a binomial model must lie from 0 to 1")
    fit = _binomial_fit if family == "binomial" else _linear_fit
    try:
        first = fit(design, None)
        if first.failure != "no convergence" or design.rows > _MANY_ROWS or not design.terms:
            return first
        start = second_opinion(design, coded, family, codings or {})
        return first if start is None else fit(design, start)
    except (np.linalg.LinAlgError, RuntimeError) as error:  # SuperLU says singular by the latter
        raise StatisticsError(f"the model cannot be fitted: {error}") from error


def _binomial_fit(design: Design, start: Floats | None) -> MixedFit:
    if separated := separated_effects(design):
        return _separated_fit(design, separated)
    likelihood = LaplaceLikelihood(design)
    count = len(design.entries)
    is_scale = np.append(design.is_scale, np.zeros(design.fixed.shape[1], dtype=bool))
    plain = np.append(design.is_scale.astype(np.float64), _plain_start(design))
    best = search(likelihood.deviance, plain if start is None else start, is_scale)
    theta, beta = design.with_positive_scales(best.parameters[:count]), best.parameters[count:]
    second = hessian(likelihood.deviance, best.parameters)
    covariance, is_minimum = _binomial_covariance(likelihood, best, second, count)
    errors = np.sqrt(np.diag(covariance))
    gradient = likelihood.deviance(best.parameters)[1]
    failure: Failure | None = None
    if max(np.abs(best.parameters).max(), errors.max()) > _ENDLESS:
        failure = "divergence"
    elif not is_minimum or not is_settled(gradient, np.diag(second)):
        failure = "no convergence"
    return MixedFit(
        formula=design.formula,
        family="binomial",
        fixed=fixed_effects(design, beta, errors, None),
        random=random_effects(design, theta, 1.0),
        groups=group_levels(design),
        log_likelihood=-(best.deviance + likelihood.constant) / 2.0,
        n=design.rows,
        failure=failure,
        singular=design.is_singular(theta),
        engine=_engine("laplace", start),
        warnings=(*remarks(design), *_binomial_remarks(design, is_minimum)),
    )


def _separated_fit(design: Design, effects: tuple[str, ...]) -> MixedFit:
    """What can be said of a model whose likelihood has no maximum: nothing in numbers."""
    unknown = np.full(len(design.names), math.nan)
    endless = f"some outcomes are all right or all wrong: no finite value of {', '.join(effects)}"
    return MixedFit(
        formula=design.formula,
        family="binomial",
        fixed=fixed_effects(design, unknown, unknown, None),
        random=(),
        groups=group_levels(design),
        log_likelihood=math.nan,
        n=design.rows,
        failure="separation",
        singular=False,
        engine="laplace",
        warnings=(*remarks(design), endless, *_binomial_remarks(design, True)),
    )


def _binomial_remarks(design: Design, is_minimum: bool) -> list[str]:
    found = []
    if not is_minimum:
        found.append("standard errors are from expected information at fixed variances")
    successes = design.response * design.weights
    shares = int(np.sum(np.abs(successes - np.round(successes)) > 1e-9))
    if shares:
        found.append(f"{shares} outcomes are shares (ties), taken as parts of a success")
    return found


def _plain_start(design: Design) -> Floats:
    """Log odds of the mean as the intercept, if there is one, and no effects."""
    mean = float(np.average(design.response, weights=design.weights))
    start = np.zeros(design.fixed.shape[1])
    constant = np.flatnonzero(np.all(design.fixed == 1.0, axis=0))
    if len(constant):
        start[constant[0]] = math.log(mean / (1.0 - mean))
    return start


def _binomial_covariance(
    likelihood: LaplaceLikelihood, best: Optimum, second: Floats, count: int
) -> tuple[Floats, bool]:
    """The covariance of β from all second derivatives, and whether they are those of a minimum."""
    try:
        np.linalg.cholesky(second)
        return np.asarray(2.0 * np.linalg.inv(second)[count:, count:]), True
    except np.linalg.LinAlgError:
        return likelihood.expected_covariance(best.parameters), False


def _linear_fit(design: Design, start: Floats | None) -> MixedFit:
    likelihood = ProfiledLikelihood(design, restricted=True)
    theta = design.is_scale.astype(np.float64) if start is None else start
    if design.terms:
        found = search(likelihood.with_gradient, theta, design.is_scale)
        theta = design.with_positive_scales(found.parameters)
    solution = likelihood.solve(theta)
    if solution.sigma < _NO_RESIDUAL * (1.0 + float(np.abs(design.response).max())):
        raise StatisticsError("the values do not vary beyond what the model says: nothing to test")
    deviance, gradient = likelihood.with_gradient(theta)
    settled = is_settled(gradient, np.diag(hessian(likelihood.with_gradient, theta)))
    errors = np.sqrt(np.diag(likelihood.covariance(theta, solution.sigma)))
    residual = RandomEffect(group=RESIDUAL, name="", variance=solution.sigma**2)
    freedom = likelihood.degrees_of_freedom(theta)
    return MixedFit(
        formula=design.formula,
        family="gaussian",
        fixed=fixed_effects(design, solution.beta, errors, freedom),
        random=(*random_effects(design, theta, solution.sigma**2), residual),
        groups=group_levels(design),
        log_likelihood=-deviance / 2.0,
        n=design.rows,
        failure=None if settled else "no convergence",
        singular=design.is_singular(theta),
        engine=_engine("profiled", start),
        warnings=tuple(remarks(design)),
    )


def _engine(own: Engine, start: Floats | None) -> Engine:
    return own if start is None else "mixedlm"
