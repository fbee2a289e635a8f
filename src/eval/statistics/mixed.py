"""Linear and generalised linear mixed models with the formulas of lme4.

``mixedlm`` fits first; its parameters then start a minimisation of the likelihoods in ``laplace``
and ``profiled``, whose standard errors are exact to many digits. Where the two disagree the better
likelihood wins, and the result says whose it is (``engine``).
"""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mixedlm
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student

from src.eval.statistics.coding import Coding, Floats, StatisticsError
from src.eval.statistics.design import Design, build_design
from src.eval.statistics.laplace import LaplaceLikelihood
from src.eval.statistics.mixed_fit import RESIDUAL, Family, FixedEffect, MixedFit, RandomEffect
from src.eval.statistics.optimum import Optimum, hessian, is_settled, search
from src.eval.statistics.profiled import ProfiledLikelihood

CONFIDENCE = 0.95

# By so much must a deviance be lower to be another answer and not the same one, rounded.
_SAME = 1e-3

# A residual this small, beside the responses, is rounding.
_NO_RESIDUAL = 1e-7
_FEW_LEVELS = 5
# Log odds that no share of a finite table can stand behind.
_SEPARATED = 15.0
# Beyond this mixedlm, which goes without derivatives, takes minutes; the search here does not.
_MANY_ROWS = 20_000
# What mixedlm would print or warn about is found out again here, and said in words.
_QUIET: dict[str, Any] = {
    f"check_{name}": "ignore"
    for name in ("nobs_vs_rankZ", "nobs_vs_nlev", "nlev_gtreq_5", "nlev_gtr_1", "scaleX")
}


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
    contrasts = {name: coding.matrix for name, coding in (codings or {}).items()}
    first = _first_fit(design, coded, family, contrasts)
    try:
        return (_fit_binomial if family == "binomial" else _fit_linear)(design, first)
    except (np.linalg.LinAlgError, RuntimeError) as error:  # SuperLU says singular by the latter
        raise StatisticsError(f"the model cannot be fitted: {error}") from error


@dataclass(frozen=True, slots=True)
class _FirstFit:
    """What ``mixedlm`` found, if anything."""

    theta: Floats | None
    beta: Floats | None
    remark: str = ""


def _first_fit(
    design: Design, coded: pd.DataFrame, family: Family, contrasts: Mapping[str, Floats]
) -> _FirstFit:
    if not design.terms or design.rows > _MANY_ROWS:
        return _FirstFit(None, None)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            fitted = _mixedlm(design, coded, family, dict(contrasts))
    except Exception as error:  # another's solver may fail in any way; ours goes on without it
        return _FirstFit(None, None, f"mixedlm failed: {error}")
    theta, beta = np.asarray(fitted.theta, float), np.asarray(fitted.beta, float)
    remark = "" if fitted.converged else "mixedlm did not converge"
    if not np.isfinite(theta).all() or len(theta) != len(design.entries):
        return _FirstFit(None, None, remark or "mixedlm gave no usable parameters")
    matches = len(beta) == design.fixed.shape[1] and bool(np.isfinite(beta).all())
    return _FirstFit(theta, beta if matches else None, remark)


def _mixedlm(design: Design, coded: pd.DataFrame, family: Family, contrasts: dict[str, Any]) -> Any:
    if family == "gaussian":
        control = mixedlm.lmerControl(**_QUIET)
        return mixedlm.lmer(design.formula, coded, control=control, contrasts=contrasts)
    return mixedlm.glmer(
        design.formula,
        coded,
        family=mixedlm.families.Binomial(),
        weights=design.weights,
        control=mixedlm.glmerControl(**_QUIET),
        contrasts=contrasts,
    )


def _fit_binomial(design: Design, first: _FirstFit) -> MixedFit:
    likelihood = LaplaceLikelihood(design)
    count = len(design.entries)
    is_scale = np.append(design.is_scale, np.zeros(design.fixed.shape[1], dtype=bool))
    best, of_first = _binomial_optimum(likelihood, design, first, is_scale)
    theta, beta = best.parameters[:count], best.parameters[count:]
    second = hessian(likelihood.deviance, best.parameters)
    covariance, is_minimum = _binomial_covariance(likelihood, best, second, count)
    errors = np.sqrt(np.diag(covariance))
    is_separated = bool(np.any(np.abs(beta) > _SEPARATED) or np.any(errors > _SEPARATED))
    gradient = likelihood.deviance(best.parameters)[1]
    settled = is_settled(gradient, np.diag(second), best.parameters, is_scale)
    remarks = _remarks(design, first, of_first, best.deviance)
    return MixedFit(
        formula=design.formula,
        family="binomial",
        fixed=_fixed_effects(design.names, beta, errors, None),
        random=tuple(_random_effects(design, theta, 1.0)),
        groups=_groups(design),
        log_likelihood=-(best.deviance + likelihood.constant) / 2.0,
        n=design.rows,
        converged=settled and is_minimum and not is_separated,
        singular=design.is_singular(theta),
        engine="mixedlm" if _agrees(of_first, best.deviance) else "laplace",
        warnings=(*remarks, *_binomial_remarks(design, is_minimum, is_separated)),
    )


def _binomial_optimum(
    likelihood: LaplaceLikelihood, design: Design, first: _FirstFit, is_scale: NDArray[np.bool_]
) -> tuple[Optimum, float | None]:
    """The best parameters, and the deviance at those of ``mixedlm``.

    Where these are no optimum, its neighbourhood is not to be trusted either, and the search begins
    once more from a plain start.
    """
    plain = np.append(design.is_scale.astype(float), _plain_start(design))
    if first.theta is None or first.beta is None:
        return search(likelihood.deviance, [plain], is_scale), None
    start = np.append(first.theta, first.beta)
    of_first = likelihood.deviance(start)[0]
    best = search(likelihood.deviance, [start], is_scale)
    if first.remark or not _agrees(of_first, best.deviance):
        best = search(likelihood.deviance, [best.parameters, plain], is_scale)
    return best, of_first


def _binomial_remarks(design: Design, is_minimum: bool, is_separated: bool) -> list[str]:
    remarks = []
    if not is_minimum:
        remarks.append("standard errors are from expected information at fixed variances")
    if is_separated:
        remarks.append("some cells are all right or all wrong: estimates have no finite value")
    successes = design.response * design.weights
    shares = int(np.sum(np.abs(successes - np.round(successes)) > 1e-9))
    if shares:
        remarks.append(f"{shares} outcomes are shares (ties), taken as parts of a success")
    return remarks


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


def _fit_linear(design: Design, first: _FirstFit) -> MixedFit:
    likelihood = ProfiledLikelihood(design, restricted=True)
    start = design.is_scale.astype(float) if first.theta is None else first.theta
    of_first = None if first.theta is None else likelihood.deviance(first.theta)
    best = Optimum(start, likelihood.deviance(start))
    if design.terms:
        best = search(likelihood.with_gradient, [start], design.is_scale)
    theta = best.parameters
    solution = likelihood.solve(theta)
    if solution.sigma < _NO_RESIDUAL * (1.0 + float(np.abs(design.response).max())):
        raise StatisticsError("the values do not vary beyond what the model says: nothing to test")
    errors = np.sqrt(np.diag(likelihood.covariance(theta, solution.sigma)))
    freedom = likelihood.degrees_of_freedom(theta)
    gradient = likelihood.with_gradient(theta)[1]
    curvatures = np.diag(hessian(likelihood.with_gradient, theta))
    residual = RandomEffect(group=RESIDUAL, name="", variance=solution.sigma**2)
    return MixedFit(
        formula=design.formula,
        family="gaussian",
        fixed=_fixed_effects(design.names, solution.beta, errors, freedom),
        random=(*_random_effects(design, theta, solution.sigma**2), residual),
        groups=_groups(design),
        log_likelihood=-best.deviance / 2.0,
        n=design.rows,
        converged=is_settled(gradient, curvatures, theta, design.is_scale),
        singular=design.is_singular(theta),
        engine="mixedlm" if _agrees(of_first, best.deviance) else "profiled",
        warnings=tuple(_remarks(design, first, of_first, best.deviance)),
    )


def _agrees(of_first: float | None, best: float) -> bool:
    return of_first is not None and of_first - best < _SAME


def _remarks(design: Design, first: _FirstFit, of_first: float | None, best: float) -> list[str]:
    remarks = list(design.notes)
    if first.remark:
        remarks.append(first.remark)
    if of_first is not None and not _agrees(of_first, best):
        remarks.append(
            f"mixedlm stopped {(of_first - best) / 2.0:.2f} below the highest log-likelihood"
        )
    few = [f"{name} ({count})" for name, count in _groups(design).items() if count < _FEW_LEVELS]
    if few:
        remarks.append(f"few levels, so that their variance is poorly known: {', '.join(few)}")
    return remarks


def _groups(design: Design) -> dict[str, int]:
    return {term.group: term.levels for term in design.terms}


def _fixed_effects(
    names: tuple[str, ...], estimates: Floats, errors: Floats, freedom: Floats | None
) -> tuple[FixedEffect, ...]:
    effects = []
    for number, name in enumerate(names):
        estimate, error = float(estimates[number]), float(errors[number])
        df = None if freedom is None else float(freedom[number])
        law = norm if df is None else student(df)
        statistic = estimate / error if error > 0 else math.nan
        reach = float(law.ppf(0.5 + CONFIDENCE / 2.0)) * error
        effects.append(
            FixedEffect(
                name=name,
                estimate=estimate,
                standard_error=error,
                statistic=statistic,
                df=df,
                p=float(2.0 * law.sf(abs(statistic))),
                low=estimate - reach,
                high=estimate + reach,
            )
        )
    return tuple(effects)


def _random_effects(design: Design, theta: Floats, scale: float) -> list[RandomEffect]:
    effects = []
    for term, covariance in design.covariances(theta):
        deviations = np.sqrt(np.diag(covariance))
        for row, name in enumerate(term.names):
            products = np.maximum(deviations[row] * deviations[:row], 1e-300)
            correlations = covariance[row, :row] / products if term.is_correlated else ()
            effects.append(
                RandomEffect(
                    group=term.group,
                    name=name,
                    variance=float(covariance[row, row] * scale),
                    correlations=tuple(float(value) for value in correlations),
                )
            )
    return effects
