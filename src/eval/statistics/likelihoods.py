"""Likelihoods of mixed models with exact gradients, which ``mixed`` maximises.

Binomial models have the Laplace approximation. For parameters θ (random effects) and β (fixed
effects), let û be the modes of the random effects, which minimise the penalised deviance
``d(u) = −2 log p(y | u) + u'u``. The approximation is

    −2 log L(θ, β)  ≈  d(û) + log |H|,    H = Λ'Z'WZΛ + I,

with W the variances of the responses at û (Bates et al. 2015). lme4 minimises it if nAGQ = 1.
Linear models have the profiled likelihood (below). Nothing is searched or reported here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.design import Design, Factor

_NEWTON_STEPS = 200
# The Newton decrement bounds the distance of the penalised deviance from its minimum. The error of
# log |H| is linear in that of the random effects, hence of the order of the decrement's root.
_DECREMENT = 1e-20
# Below this decrement, full steps are taken: values differ only by rounding.
_NEAR = 1e-10
_SMALLEST_STEP = 1e-8


def hessian(gradient: Callable[[Floats], Floats], parameters: Floats, sizes: Floats) -> Floats:
    """Approximate second derivatives by central differences of exact gradients.

    ``sizes`` are the magnitudes of the parameters.
    """
    rows = [
        (gradient(parameters + step) - gradient(parameters - step)) / (2.0 * step.sum())
        for step in np.diag(1e-4 * sizes)
    ]
    second = np.array(rows).reshape(len(rows), len(rows))
    return np.asarray((second + second.T) / 2.0)


@dataclass(frozen=True, slots=True)
class _Mode:
    """The minimum of the penalised deviance, with means and factor at that point."""

    effects: Floats  # û
    means: Floats
    deviance: float  # d(û)
    factor: Factor  # of H


class LaplaceLikelihood:
    """−2 log likelihood of a design as a function of ``(θ, β)``."""

    def __init__(self, design: Design) -> None:
        self._fixed = design.fixed
        self._loadings = design.loadings
        self._trials = design.weights
        self._successes = design.weights * design.response
        self._start = np.zeros(self._loadings.size)
        self._theta_count = len(self._loadings.places)

    @property
    def constant(self) -> float:
        """−2 log of the binomial coefficients, which do not depend on the parameters."""
        failures = self._trials - self._successes
        log_choose = (
            gammaln(self._trials + 1) - gammaln(self._successes + 1) - gammaln(failures + 1)
        )
        # A fraction of a single trial (0.5 for a tie) is not a count and has no coefficient.
        return float(-2.0 * log_choose[self._trials > 1].sum())

    def deviance(self, parameters: Floats) -> tuple[float, Floats]:
        """Return −2 log likelihood, without the constant, and its gradient."""
        theta, beta = self._split(parameters)
        entries = self._loadings.scaled(theta)  # of ZΛ
        mode = self._mode(entries, self._fixed @ beta)
        return mode.deviance + mode.factor.logdet, self._gradient(mode, entries)

    def expected_covariance(self, parameters: Floats) -> Floats:
        """Return the covariance of β at fixed θ from the expected information (lme4's ``RX``)."""
        theta, beta = self._split(parameters)
        entries = self._loadings.scaled(theta)
        mode = self._mode(entries, self._fixed @ beta)
        weighted = self._variances(mode.means)[:, None] * self._fixed
        cross = np.column_stack(
            [self._loadings.backward(entries, column) for column in weighted.T]
        )  # (random effects, coefficients)
        explained = cross.T @ mode.factor.solve(cross)
        return np.asarray(np.linalg.pinv(self._fixed.T @ weighted - explained))

    def _split(self, parameters: Floats) -> tuple[Floats, Floats]:
        return parameters[: self._theta_count], parameters[self._theta_count :]

    def _variances(self, means: Floats) -> Floats:
        return np.asarray(self._trials * means * (1.0 - means))

    def _penalised(self, predictor: Floats, effects: Floats) -> float:
        log_prob = self._successes @ predictor - self._trials @ np.logaddexp(0.0, predictor)
        return float(-2.0 * log_prob + effects @ effects)

    def _mode(self, entries: Floats, offset: Floats) -> _Mode:
        """Find the mode by Newton's method with step halving; the penalised deviance is convex."""
        loadings, effects = self._loadings, self._start
        predictor = offset + loadings.forward(entries, effects)
        value = self._penalised(predictor, effects)
        for _ in range(_NEWTON_STEPS):
            means = expit(predictor)
            factor = loadings.factor(entries, self._variances(means))
            residuals = self._successes - self._trials * means
            slope = loadings.backward(entries, residuals) - effects
            step = factor.solve(slope)
            decrement = float(step @ slope)
            if decrement <= _DECREMENT:
                break
            share = 1.0
            while share > _SMALLEST_STEP:
                moved = effects + share * step
                new_predictor = offset + loadings.forward(entries, moved)
                new_value = self._penalised(new_predictor, moved)
                if new_value <= value or decrement < _NEAR:
                    break
                share /= 2.0
            else:
                break  # no step decreases the deviance, because of rounding
            effects, predictor, value = moved, new_predictor, new_value
        self._start = effects  # a good start for the modes at nearby parameters
        return _Mode(effects, means, value, factor)

    def _gradient(self, mode: _Mode, entries: Floats) -> Floats:
        """Return the gradient of d(û) + log |H|; û and W also depend on the parameters."""
        loadings, effects = self._loadings, mode.effects
        residuals = self._successes - self._trials * mode.means
        variances = self._variances(mode.means)
        spread = loadings.spread(entries, mode.factor)
        # The diagonal of ZΛ H⁻¹ Λ'Z': the conditional variance of each row's predictor.
        leverages = np.einsum("rw,rw->r", entries, spread)
        # d log|H| / dη of each row; dW / dη = W(1 − 2μ).
        skews = variances * (1.0 - 2.0 * mode.means) * leverages
        # The dependence of log|H| on û, by implicit differentiation of the equation of û.
        adjoint = mode.factor.solve(loadings.backward(entries, skews))
        carried = variances * loadings.forward(entries, adjoint)
        of_predictor = skews - 2.0 * residuals - carried
        of_theta = np.empty(self._theta_count)
        for number, (row, column) in enumerate(loadings.places):
            # Z dΛ multiplies the values of effect ``row`` by the random effects of ``column``.
            values, reached = loadings.values[:, row], loadings.columns[:, column]
            of_theta[number] = values @ (
                of_predictor * effects[reached]
                + residuals * adjoint[reached]
                + 2.0 * variances * spread[:, column]
            )
        return np.concatenate([of_theta, self._fixed.T @ of_predictor])


# ----------------------------------------------------------------------------
# The profiled likelihood of linear mixed models (Bates et al. 2015, equations 34 and 41).
#
# Given θ, the optimal β and residual variance have a closed form, so −2 log L is a function of θ
# alone. With V = I + ZΛΛ'Z' and P = V⁻¹ − V⁻¹X(X'V⁻¹X)⁻¹X'V⁻¹, its derivative in the direction dV
# is ``tr(P dV) − f · y'P dV Py / y'Py`` (restricted, f residual degrees of freedom), or the same
# with tr(V⁻¹ dV) (not restricted). The (rows, rows) matrices V and P are never formed.
#
# With prior weights w, the residual variance of a row is σ²/w. Rows of y, X and Z are multiplied
# by √w, which makes their residual variances equal, and −2 log L loses the Jacobian Σ log w.


@dataclass(frozen=True, slots=True)
class Solution:
    """The optimal fixed effects and residual variance for given θ."""

    beta: Floats
    sigma: float
    information: Floats  # of β, with a residual variance of 1: X'V⁻¹X
    rss: float  # penalised residual sum of squares: y'Py
    entries: Floats  # of ZΛ
    factor: Factor  # of Λ'Z'ZΛ + I; all of these with weighted rows
    whitened: Floats  # V⁻¹X, (rows, coefficients)
    explained: Floats  # Λ'Z'V⁻¹X, (random effects, coefficients)
    residuals: Floats  # Py
    effects: Floats  # Λ'Z'Py


def _with_equal_variances(design: Design) -> Design:
    """Return the design with rows multiplied by the roots of their weights."""
    if (design.weights == 1.0).all():
        return design
    roots = np.sqrt(design.weights)
    return dataclasses.replace(
        design,
        response=roots * design.response,
        fixed=roots[:, None] * design.fixed,
        loadings=dataclasses.replace(
            design.loadings, values=roots[:, None] * design.loadings.values
        ),
        weights=np.ones(design.rows),
    )


class ProfiledLikelihood:
    """−2 log (restricted) likelihood of a design as a function of θ."""

    def __init__(self, design: Design, *, restricted: bool) -> None:
        rows = _with_equal_variances(design)
        self._unweighted = design.loadings
        self._loadings = rows.loadings
        self._fixed, self._response = rows.fixed, rows.response
        self._log_weights = float(np.log(design.weights).sum())
        self._ones = np.ones(design.rows)
        self._restricted = restricted
        self._freedom = design.rows - (design.fixed.shape[1] if restricted else 0)

    def deviance(self, theta: Floats) -> float:
        """Return −2 log likelihood at the optimal β and residual variance."""
        return self._deviance(self.solve(theta))

    def with_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return the deviance and its gradient."""
        solution = self.solve(theta)
        return self._deviance(solution), self._slopes(solution, solution.sigma)

    def solve(self, theta: Floats) -> Solution:
        """Compute the optimal fixed effects for given θ by penalised least squares."""
        loadings, x, y = self._loadings, self._fixed, self._response
        entries = loadings.scaled(theta)
        factor = loadings.factor(entries, self._ones)
        reached = [loadings.backward(entries, column) for column in (*x.T, y)]
        solved = factor.solve(np.column_stack(reached))
        explained = solved[:, :-1]
        fitted = [loadings.forward(entries, column) for column in explained.T]
        whitened = x - np.column_stack(fitted)
        information = x.T @ whitened
        beta = np.asarray(np.linalg.solve(information, whitened.T @ y), np.float64)
        effects = solved[:, -1] - explained @ beta
        residuals = y - x @ beta - loadings.forward(entries, effects)
        # A sum of squares, because a difference of large numbers would lose precision.
        rss = max(float(residuals @ residuals + effects @ effects), 1e-300)
        return Solution(
            beta=beta,
            sigma=math.sqrt(rss / self._freedom),
            information=information,
            rss=rss,
            entries=entries,
            factor=factor,
            whitened=whitened,
            explained=explained,
            residuals=residuals,
            effects=effects,
        )

    def covariance(self, theta: Floats, sigma: float) -> Floats:
        """Return the covariance matrix of the fixed effects."""
        return np.asarray(sigma**2 * np.linalg.inv(self.solve(theta).information))

    def total_deviation(self, theta: Floats) -> float:
        """Return the standard deviation of single responses around the fixed effects.

        It is the root of the residual variance (of a row of weight 1) plus the mean variance of the
        rows' random effects.
        """
        entries = self._unweighted.scaled(theta)
        return self.solve(theta).sigma * math.sqrt(1.0 + float(np.mean((entries**2).sum(axis=1))))

    def degrees_of_freedom(self, theta: Floats) -> Floats:
        """Return Satterthwaite's degrees of freedom of each fixed effect, as in lmerTest.

        They are ``2 v² / (g' A g)``, with v the variance of the coefficient, g its gradient with
        respect to the variance parameters (θ, σ), and A the covariance matrix of these parameters.
        """
        solution = self.solve(theta)
        parameters = np.append(theta, solution.sigma)
        sizes = np.maximum(1.0, np.abs(parameters))
        sizes[-1] = solution.sigma  # so that the residual deviation stays positive
        precision = hessian(self._all_slopes, parameters, sizes) / 2.0
        values, vectors = np.linalg.eigh(precision)
        # If a variance is zero, the deviance can be flat or concave; ignore such directions.
        safe = values > 1e-8 * max(values.max(), 1e-300)
        spread = (vectors[:, safe] / values[safe]) @ vectors[:, safe].T
        inverse = np.linalg.inv(solution.information)
        variances = solution.sigma**2 * np.diag(inverse)
        gradients = np.array(
            [
                *(
                    2.0 * solution.sigma**2 * np.diag(inverse @ change @ inverse)
                    for change in self._changes(solution)
                ),
                2.0 * variances / solution.sigma,
            ]
        )  # (parameters, coefficients)
        spreads = np.einsum("pc,pq,qc->c", gradients, spread, gradients)
        # At most a million: beyond, t and normal distributions are indistinguishable.
        return np.asarray(2.0 * variances**2 / np.maximum(spreads, 2e-6 * variances**2))

    def _deviance(self, solution: Solution) -> float:
        sigma = solution.sigma
        value = solution.factor.logdet + self._freedom * math.log(2.0 * math.pi * sigma**2)
        value += solution.rss / sigma**2 - self._log_weights
        if self._restricted:
            value += float(np.linalg.slogdet(solution.information)[1])
        return value

    def _changes(self, solution: Solution) -> list[Floats]:
        """Return ``X'V⁻¹ Z dΛ Λ'Z' V⁻¹X`` for each parameter θ."""
        loadings = self._loadings
        return [
            (loadings.values[:, row, None] * solution.whitened).T
            @ solution.explained[loadings.columns[:, column]]
            for row, column in loadings.places
        ]

    def _slopes(self, solution: Solution, sigma: float) -> Floats:
        """Return the gradient of the deviance with respect to θ at a residual deviation."""
        loadings = self._loadings
        spread = loadings.spread(solution.entries, solution.factor)
        slopes = np.empty(len(loadings.places))
        for number, (row, column) in enumerate(loadings.places):
            moved = solution.residuals * solution.effects[loadings.columns[:, column]]
            slopes[number] = loadings.values[:, row] @ (spread[:, column] - moved / sigma**2)
        if self._restricted:
            inverse = np.linalg.inv(solution.information)
            slopes -= [float(np.sum(inverse * change)) for change in self._changes(solution)]
        return np.asarray(2.0 * slopes)

    def _all_slopes(self, parameters: Floats) -> Floats:
        solution, sigma = self.solve(parameters[:-1]), float(parameters[-1])
        of_sigma = 2.0 * (self._freedom / sigma - solution.rss / sigma**3)
        return np.append(self._slopes(solution, sigma), of_sigma)
