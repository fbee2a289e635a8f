"""Fitting of linear and generalised linear mixed models with lme4 formulas.

``fit_mixed`` is called by ``answering`` and by users. The likelihoods have exact gradients, so a
quasi-Newton search finds the maximum in a few dozen steps, with accurate standard errors. What a
table does not identify is said in the warnings of the fit, never hidden.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri, stdtr, stdtrit
from threadpoolctl import ThreadpoolController

from gardenpath.data.arrays import Floats
from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics.analysis import (
    CONFIDENCE,
    RESIDUAL,
    FitFailure,
    FixedEffect,
    MixedFit,
    RandomEffect,
)
from gardenpath.eval.statistics.design import (
    Design,
    build_design,
    in_usual_units,
    separated_effects,
)
from gardenpath.eval.statistics.formulas import Coding, Distribution
from gardenpath.eval.statistics.likelihoods import (
    LaplaceLikelihood,
    ProfiledLikelihood,
    hessian,
)

_FEW_LEVELS = 5


def fixed_effects(
    design: Design, estimates: Floats, errors: Floats, freedom: Floats | None
) -> tuple[FixedEffect, ...]:
    """Return coefficients with z tests, or with t tests if degrees of freedom are given."""
    effects = []
    for number, name in enumerate(design.names):
        estimate, error = float(estimates[number]), float(errors[number])
        df = None if freedom is None else float(freedom[number])
        statistic = estimate / error if error > 0 else math.nan
        reach = error * float(
            ndtri(0.5 + CONFIDENCE / 2.0) if df is None else stdtrit(df, 0.5 + CONFIDENCE / 2.0)
        )
        tail = float(ndtr(-abs(statistic)) if df is None else stdtr(df, -abs(statistic)))
        effects.append(
            FixedEffect(
                name=name,
                estimate=estimate,
                standard_error=error,
                statistic=statistic,
                df=df,
                p=2.0 * tail,
                low=estimate - reach,
                high=estimate + reach,
            )
        )
    return tuple(effects)


def random_effects(design: Design, theta: Floats, scale: float) -> tuple[RandomEffect, ...]:
    """Return variances, multiplied by ``scale``, and correlations of all random terms."""
    effects = []
    for term, covariance in design.covariances(theta):
        deviations = np.sqrt(np.diag(covariance))
        for row, name in enumerate(term.names):
            products = np.maximum(deviations[row] * deviations[:row], 1e-300)
            correlations = covariance[row, :row] / products
            effects.append(
                RandomEffect(
                    group=term.group,
                    name=name,
                    variance=float(covariance[row, row] * scale),
                    correlations=tuple(float(value) for value in correlations),
                )
            )
    return tuple(effects)


def named_theta(design: Design, theta: Floats) -> dict[str, float]:
    """Return θ by the names of lme4's ``getME(model, "theta")``."""
    places = [
        (term.group, term.names[row], term.names[column])
        for term in design.terms
        for row, column in term.places
    ]
    names = [f"{g}.{row}" if row == column else f"{g}.{row}.{column}" for g, row, column in places]
    return dict(zip(names, map(float, theta), strict=True))


def group_levels(design: Design) -> dict[str, int]:
    """Return the number of levels of each grouping factor."""
    return {term.group: term.levels for term in design.terms}


def remarks(design: Design) -> list[str]:
    """Return warnings that hold for every model with this design."""
    few = [f"{name} ({n})" for name, n in group_levels(design).items() if n < _FEW_LEVELS]
    poorly = f"few levels, so variance estimates are imprecise: {', '.join(few)}"
    return [*design.notes, *([poorly] if few else [])]


# Minimisation of deviances, some of whose parameters are scales with an arbitrary sign.

# Displacement of a scale from zero to test whether the deviance decreases there.
_NUDGE = 0.01

Objective = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True, slots=True)
class Optimum:
    """The parameters at a minimum, and the deviance there."""

    parameters: Floats
    deviance: float


def search(objective: Objective, start: Floats, is_scale: NDArray[np.bool_]) -> Optimum:
    """Minimise a deviance by L-BFGS-B, starting at ``start``.

    Deviances are even functions of scales, so scales may become negative during the search, and
    zero is always a stationary point. Each scale that ends at zero is therefore displaced slightly,
    and the search is repeated from there if the deviance decreases.
    """

    def descend(begin: Floats) -> Optimum:
        options = {"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-6}
        end = minimize(objective, begin, jac=True, method="L-BFGS-B", options=options)
        return Optimum(np.asarray(end.x), float(end.fun))

    best = descend(start)
    for number in np.flatnonzero(is_scale):
        if abs(best.parameters[number]) < _NUDGE / 10.0:
            moved = best.parameters.copy()
            moved[number] = _NUDGE
            if objective(moved)[1][number] < 0.0:
                best = min(best, descend(moved), key=lambda optimum: optimum.deviance)
    return best


def _second(objective: Objective, parameters: Floats) -> Floats:
    sizes = np.maximum(1.0, np.abs(parameters))
    return hessian(lambda moved: objective(moved)[1], parameters, sizes)


def is_settled(gradient: Floats, curvatures: Floats) -> bool:
    """Whether a Newton step would decrease the deviance by less than about 0.001."""
    return bool(np.sum(gradient**2 / np.maximum(curvatures, 1e-3)) < 1e-3)


# Models.

# A residual deviation this small, relative to the responses, is rounding error.
_NO_RESIDUAL = 1e-7
# Log odds this large cannot be supported by a table of realistic size.
_ENDLESS = 15.0
# Initial standard deviations of the random effects, relative to the residual.
_STARTS = (1.0, 0.1, 4.0, 0.4)
# Second derivatives this small, relative to the largest, are rounding error.
_FLAT = 1e-6
# A direction does not involve the fixed effects if their components are below this.
_TOUCHED = 1e-3


def fit_mixed(
    formula: str,
    table: pd.DataFrame,
    *,
    family: Distribution,
    codings: Mapping[str, Coding] | None = None,
    weights: str | None = None,
) -> MixedFit:
    """Fit a model; ``weights`` names a column, with the same meaning as in lme4.

    It has the numbers of trials of a binomial model, or the prior weights of a linear model, whose
    residual variance is inversely proportional to them.
    A search that does not converge is repeated from other standard deviations of the random
    effects.
    """
    design = build_design(formula, table, codings=codings, weights=weights)
    _check(design, family)
    fit = _binomial_fit if family == "binomial" else _linear_fit
    tried: list[MixedFit] = []
    problem: Exception | None = None
    # The matrices are small: threads of the linear algebra library cost more than they save.
    with _libraries().limit(limits=1, user_api="blas"):
        for start in _STARTS if design.terms else _STARTS[:1]:
            try:
                tried.append(fit(design, start))
            except np.linalg.LinAlgError as error:
                problem = error
            else:
                if tried[-1].failure != "no convergence":
                    return tried[-1]
    if not tried:
        raise StatisticsError(f"the model cannot be fitted: {problem}") from problem
    return max(tried, key=lambda fit: fit.log_likelihood)


# Finding the libraries takes longer than most fits.
_libraries = cache(ThreadpoolController)


def _check(design: Design, family: Distribution) -> None:
    if design.rows <= design.fixed.shape[1]:
        raise StatisticsError(
            f"{design.rows} rows are too few for {design.fixed.shape[1]} fixed effects"
        )
    if np.ptp(design.response) == 0.0:
        raise StatisticsError(f"every response is the same, {design.response[0]:g}")
    if family == "binomial" and not 0.0 <= design.response.min() <= design.response.max() <= 1.0:
        raise StatisticsError("the responses of a binomial model must be in [0, 1]")
    if design.weights.min() <= 0.0:
        what = "numbers of trials" if family == "binomial" else "weights"
        raise StatisticsError(f"{what} must be positive")


def _binomial_fit(design: Design, start: float) -> MixedFit:
    """Maximise the Laplace approximation; all random effects start with one deviation."""
    if separated := separated_effects(design):
        unknown = np.full(len(design.names), math.nan)
        endless = f"predictors separate the outcomes: no finite estimate of {', '.join(separated)}"
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
    scaled, units = in_usual_units(design)
    likelihood = LaplaceLikelihood(scaled)
    count = len(design.is_scale)
    is_scale = np.append(design.is_scale, np.zeros(design.fixed.shape[1], dtype=bool))
    begin = np.append(start * design.is_scale, _plain_start(scaled))
    best = search(likelihood.deviance, begin, is_scale)
    theta, beta = design.with_positive_scales(best.parameters[:count]), best.parameters[count:]
    second = _second(likelihood.deviance, best.parameters)
    covariance, is_minimum = _binomial_covariance(likelihood, best, second, count)
    errors = np.sqrt(np.diag(covariance))
    gradient = likelihood.deviance(best.parameters)[1]
    failure: FitFailure | None = None
    if max(np.abs(best.parameters).max(), errors.max()) > _ENDLESS:
        failure = "divergence"
    elif not is_minimum or not is_settled(gradient, np.diag(second)):
        failure = "no convergence"
    return MixedFit(
        formula=design.formula,
        family="binomial",
        fixed=fixed_effects(design, beta / units.fixed, errors / units.fixed, None),
        random=random_effects(design, theta / units.theta, 1.0),
        groups=group_levels(design),
        log_likelihood=-(best.deviance + likelihood.constant) / 2.0,
        n=design.rows,
        failure=failure,
        singular=scaled.is_singular(theta),
        engine="laplace",
        warnings=(*remarks(design), *_binomial_remarks(design, is_minimum)),
        theta=named_theta(design, theta / units.theta),
    )


def _binomial_remarks(design: Design, is_minimum: bool) -> list[str]:
    texts = []
    if not is_minimum:
        texts.append("standard errors use the expected information at fixed variances")
    successes = design.response * design.weights
    shares = int(np.sum(np.abs(successes - np.round(successes)) > 1e-9))
    if shares:
        texts.append(f"{shares} outcomes are ties, which count as fractions of a success")
    return texts


def _plain_start(design: Design) -> Floats:
    """Return initial fixed effects: the intercept is the log odds of the mean, others are zero."""
    mean = float(np.average(design.response, weights=design.weights))
    start = np.zeros(design.fixed.shape[1])
    constant = np.flatnonzero(np.all(design.fixed == 1.0, axis=0))
    if len(constant):
        start[constant[0]] = math.log(mean / (1.0 - mean))
    return start


def _binomial_covariance(
    likelihood: LaplaceLikelihood, best: Optimum, second: Floats, count: int
) -> tuple[Floats, bool]:
    """Return the covariance of β from the Hessian, and whether the Hessian is that of a minimum.

    If random effects are singular, many θ can have the same covariances. The likelihood is flat
    between them. Such directions do not affect β and are ignored.
    """
    values, vectors = np.linalg.eigh(second)
    slack = _FLAT * values[-1]
    touched = np.abs(vectors[count:]).max(axis=0, initial=0.0) > _TOUCHED
    kept = (values > slack) | touched
    if values[0] < -slack or (values[kept] <= 0.0).any():
        return likelihood.expected_covariance(best.parameters), False
    spread = (vectors[count:, kept] / values[kept]) @ vectors[count:, kept].T
    return np.asarray(2.0 * spread), True


def _linear_fit(design: Design, start: float) -> MixedFit:
    """Maximise the restricted likelihood; all random effects start with one deviation."""
    scaled, units = in_usual_units(design)
    likelihood = ProfiledLikelihood(scaled, restricted=True)
    theta: Floats = np.asarray(start * design.is_scale, np.float64)
    if design.terms:
        best = search(likelihood.with_gradient, theta, design.is_scale)
        theta = design.with_positive_scales(best.parameters)
    solution = likelihood.solve(theta)
    if solution.sigma < _NO_RESIDUAL * (1.0 + float(np.abs(design.response).max())):
        raise StatisticsError("the model fits the responses exactly, so nothing can be tested")
    deviance, gradient = likelihood.with_gradient(theta)
    settled = is_settled(gradient, np.diag(_second(likelihood.with_gradient, theta)))
    errors = np.sqrt(np.diag(likelihood.covariance(theta, solution.sigma)))
    residual = RandomEffect(group=RESIDUAL, name="", variance=solution.sigma**2)
    freedom = likelihood.degrees_of_freedom(theta)
    return MixedFit(
        formula=design.formula,
        family="gaussian",
        fixed=fixed_effects(design, solution.beta / units.fixed, errors / units.fixed, freedom),
        random=(*random_effects(design, theta / units.theta, solution.sigma**2), residual),
        groups=group_levels(design),
        # The restricted likelihood depends on the units of the fixed effects.
        log_likelihood=-deviance / 2.0 - float(np.log(units.fixed).sum()),
        n=design.rows,
        failure=None if settled else "no convergence",
        singular=scaled.is_singular(theta),
        engine="profiled",
        warnings=tuple(remarks(design)),
        theta=named_theta(design, theta / units.theta),
        total_deviation=likelihood.total_deviation(theta),
    )
