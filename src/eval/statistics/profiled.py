"""The profiled likelihood of linear mixed models (Bates et al. 2015, equations 34 and 41).

Given θ, the best β and residual variance are known in closed form, so that −2 log L is a function
of θ alone. Everything needed of the data is in a few cross products.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from src.eval.statistics.coding import Floats
from src.eval.statistics.design import Design
from src.eval.statistics.factor import PositiveFactor

_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class Solution:
    """The best fixed effects and residual variance for given θ."""

    beta: Floats
    sigma: float
    information: Floats  # of β, with a residual variance of 1
    rss: float  # penalised residual sum of squares
    logdet: float  # log |Λ'Z'ZΛ + I|


class ProfiledLikelihood:
    """−2 log (restricted) likelihood of a design, as a function of θ."""

    def __init__(self, design: Design, *, restricted: bool) -> None:
        self._design = design
        self._restricted = restricted
        z, x, y = design.random, design.fixed, design.response
        self._zz = (z.T @ z).tocsr()
        self._zx = z.T @ x
        self._zy = z.T @ y
        self._xx, self._xy, self._yy = x.T @ x, x.T @ y, float(y @ y)
        self._freedom = design.rows - (x.shape[1] if restricted else 0)

    def deviance(self, theta: Floats) -> float:
        """−2 log likelihood at the best β and residual variance."""
        return self._deviance(self.solve(theta), sigma=None)

    def with_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """The deviance and its gradient, by central differences."""
        steps = np.diag(1e-5 * np.maximum(1.0, np.abs(theta)))
        slopes = [
            (self.deviance(theta + step) - self.deviance(theta - step)) / (2.0 * step.sum())
            for step in steps
        ]
        return self.deviance(theta), np.array(slopes)

    def solve(self, theta: Floats) -> Solution:
        """The best fixed effects for given θ, by penalised least squares."""
        factor = self._design.factor(theta)
        inner = PositiveFactor(factor.T @ self._zz @ factor)
        x_part, y_part = factor.T @ self._zx, factor.T @ self._zy
        solved = inner.solve(x_part)
        information = self._xx - x_part.T @ solved
        right = self._xy - solved.T @ y_part
        beta = np.linalg.solve(information, right)
        explained = float(y_part @ inner.solve(y_part)) + float(beta @ right)
        rss = max(self._yy - explained, 1e-300)
        return Solution(
            beta=beta,
            sigma=math.sqrt(rss / self._freedom),
            information=information,
            rss=rss,
            logdet=inner.logdet,
        )

    def covariance(self, theta: Floats, sigma: float) -> Floats:
        """The covariance of the fixed effects."""
        return np.asarray(sigma**2 * np.linalg.inv(self.solve(theta).information))

    def degrees_of_freedom(self, theta: Floats) -> Floats:
        """Satterthwaite's approximation for each fixed effect, as in lmerTest.

        ``2 v² / (g' A g)``: v the variance of the coefficient, g its gradient in the variance
        parameters (θ, σ), A the covariance matrix of these.
        """
        parameters = np.append(theta, self.solve(theta).sigma)
        precision = self._curvature(parameters) / 2.0
        values, vectors = np.linalg.eigh(precision)
        # Where a variance is zero the likelihood is flat or falls: such directions say nothing.
        safe = values > 1e-8 * max(values.max(), 1e-300)
        spread = (vectors[:, safe] / values[safe]) @ vectors[:, safe].T
        variances = np.diag(self.covariance(theta, parameters[-1]))
        gradients = np.array(
            [
                (self._variances(parameters + step) - self._variances(parameters - step))
                / (2.0 * step.sum())
                for step in _steps(parameters)
            ]
        )  # (parameters, coefficients)
        spreads = np.einsum("pc,pq,qc->c", gradients, spread, gradients)
        # Beyond a million there is no difference to the normal distribution.
        return np.asarray(2.0 * variances**2 / np.maximum(spreads, 2e-6 * variances**2))

    def _variances(self, parameters: Floats) -> Floats:
        return np.diag(self.covariance(parameters[:-1], float(parameters[-1])))

    def _unprofiled(self, parameters: Floats) -> float:
        return self._deviance(self.solve(parameters[:-1]), sigma=float(parameters[-1]))

    def _deviance(self, solution: Solution, *, sigma: float | None) -> float:
        variance = solution.sigma**2 if sigma is None else sigma**2
        value = solution.logdet + self._freedom * math.log(2.0 * math.pi * variance)
        value += solution.rss / variance
        if self._restricted:
            value += float(np.linalg.slogdet(solution.information)[1])
        return value

    def _curvature(self, parameters: Floats) -> Floats:
        """Second derivatives in (θ, σ), by central differences."""
        steps = _steps(parameters)
        count = len(parameters)
        second = np.empty((count, count))
        for i, a in enumerate(steps):
            for j, b in enumerate(steps[: i + 1]):
                change = (
                    self._unprofiled(parameters + a + b)
                    - self._unprofiled(parameters + a - b)
                    - self._unprofiled(parameters - a + b)
                    + self._unprofiled(parameters - a - b)
                )
                second[i, j] = second[j, i] = change / (4.0 * a.sum() * b.sum())
        return second


def _steps(parameters: Floats) -> Floats:
    """Steps of differences, a row each; the residual deviation, the last one, stays positive."""
    sizes = np.maximum(1.0, np.abs(parameters))
    sizes[-1] = parameters[-1]
    return np.diag(_STEP * sizes)
