"""The deviance of a binomial mixed model as ``glmer`` computes it with its default tolerance.

Every evaluation starts from one linear predictor, that of a first fit in which β is optimised along
with the random effects (``nAGQ = 0``). Penalised iteratively reweighted least squares then stops as
soon as the penalised deviance changes by less than ``tolerance`` of itself, and log |H| is that of
the last system solved: with the weights of the step before. Second derivatives of this function are
not those of the likelihood, so that the standard errors of ``glmer`` are up to 4 % too small.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.design_matrix import Design

# lme4's defaults: of ``tolPwrss``, and of the step of finite differences.
DEFAULT_TOLERANCE = 1e-7
_STEP = 1e-4
_MOST_ITERATIONS = 100
# Accuracy of the first fit, which only provides the predictor from which iterations start.
_FIRST_FIT = {"xatol": 1e-3, "fatol": 1e-4}


class Lme4Deviance:
    """−2 log likelihood at (θ, β); ``start`` are parameters θ near the optimum."""

    def __init__(
        self, design: Design, start: Floats, *, tolerance: float = DEFAULT_TOLERANCE
    ) -> None:
        self._fixed, self._loadings = design.fixed, design.loadings
        self._trials, self._response = design.weights, design.response
        self._tolerance = tolerance
        self._count = len(design.entries)
        begin = np.log((design.response + 0.5) / (1.5 - design.response))
        _, begin = self._iterate(start, 0.0, begin, is_free=True)

        def first(theta: Floats) -> float:
            return self._iterate(theta, 0.0, begin, is_free=True)[0]

        best = minimize(first, start, method="Nelder-Mead", options=_FIRST_FIT).x
        _, self._predictor = self._iterate(best, 0.0, begin, is_free=True)

    def __call__(self, parameters: Floats) -> float:
        theta, beta = parameters[: self._count], parameters[self._count :]
        return self._iterate(theta, self._fixed @ beta, self._predictor, is_free=False)[0]

    def _iterate(
        self, theta: Floats, offset: Floats | float, predictor: Floats, *, is_free: bool
    ) -> tuple[float, Floats]:
        """Return the deviance and the linear predictor; with ``is_free``, β is optimised too."""
        loadings, response = self._loadings, self._response
        entries = loadings.scaled(theta)
        fixed = self._fixed if is_free else self._fixed[:, :0]
        old = math.inf
        for _ in range(_MOST_ITERATIONS):
            means = expit(predictor)
            weights = self._trials * means * (1.0 - means)
            working = weights * (predictor - offset) + self._trials * (response - means)
            factor = loadings.factor(entries, weights)
            weighted = weights[:, None] * fixed
            reached = [loadings.backward(entries, column) for column in (*weighted.T, working)]
            solved = factor.solve(np.column_stack(reached))
            cross, effects = np.column_stack(reached)[:, :-1], solved[:, -1]
            system = fixed.T @ weighted - cross.T @ solved[:, :-1]
            beta = np.linalg.solve(system, fixed.T @ working - cross.T @ effects)
            effects = effects - solved[:, :-1] @ beta
            predictor = offset + fixed @ beta + loadings.forward(entries, effects)
            log_prob = self._trials @ (response * predictor - np.logaddexp(0.0, predictor))
            value = float(-2.0 * log_prob + effects @ effects)
            if abs(old - value) < self._tolerance * value:
                break
            old = value
        return value + factor.logdet, predictor

    def derivatives(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return first and second derivatives by differences of values, with lme4's step."""
        steps = np.eye(len(parameters)) * _STEP
        middle = self(parameters)
        first = np.empty(len(parameters))
        second = np.empty((len(parameters), len(parameters)))
        for i, a in enumerate(steps):
            above, below = self(parameters + a), self(parameters - a)
            first[i] = (above - below) / 2.0
            second[i, i] = above - 2.0 * middle + below
            for j, b in enumerate(steps[:i]):
                up = self(parameters + a + b) - self(parameters + a - b)
                down = self(parameters - a + b) - self(parameters - a - b)
                second[i, j] = second[j, i] = (up - down) / 4.0
        return first / _STEP, second / _STEP**2

    def fixed(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return the estimates β of ``glmer`` and their standard errors.

        ``parameters`` maximise the likelihood; the minimum of this function is a Newton step away.
        All numbers are NaN if the second derivatives are not those of a minimum.
        """
        first, second = self.derivatives(parameters)
        unknown = np.full(len(parameters) - self._count, math.nan)
        try:
            inverse = np.linalg.inv(second)
        except np.linalg.LinAlgError:
            return unknown, unknown
        variances = 2.0 * np.diag(inverse)[self._count :]
        if not (variances > 0.0).all():
            return unknown, unknown
        return (parameters - inverse @ first)[self._count :], np.sqrt(variances)
