"""The deviance of a binomial mixed model as lme4's ``glmer`` computes it, for comparison.

Every evaluation starts from one linear predictor, that of a first fit in which β is optimised along
with the random effects (``nAGQ = 0``). Penalised iteratively reweighted least squares then stops as
soon as the penalised deviance changes by less than ``tolerance`` of itself, and log |H| is that of
the last system solved: with the weights of the step before.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.design_matrix import Design

DEFAULT_TOLERANCE = 1e-7


class Lme4Deviance:
    """−2 log likelihood at (θ, β) of outcomes that are right or wrong."""

    def __init__(self, design: Design, *, tolerance: float = DEFAULT_TOLERANCE) -> None:
        self._design = design
        self._tolerance = tolerance
        self._count = len(design.entries)
        first = np.log((design.response + 0.5) / (1.5 - design.response))
        ones = np.ones(self._count)
        _, begin, _ = self._iterate(ones, design.fixed, 0.0, first)

        def profiled(theta: Floats) -> float:
            return self._iterate(theta, design.fixed, 0.0, begin)[0]

        options = {"xatol": 1e-5, "fatol": 1e-6}
        best = minimize(profiled, ones, method="Nelder-Mead", options=options).x
        _, self._predictor, _ = self._iterate(best, design.fixed, 0.0, begin)

    def __call__(self, parameters: Floats) -> float:
        theta, beta = parameters[: self._count], parameters[self._count :]
        none = np.zeros((self._design.rows, 0))
        return self._iterate(theta, none, self._design.fixed @ beta, self._predictor)[0]

    def _iterate(
        self, theta: Floats, fixed: Floats, offset: Floats | float, predictor: Floats
    ) -> tuple[float, Floats, Floats]:
        """The deviance, the linear predictor and the solution; ``fixed`` effects are free here."""
        design, response = self._design, self._design.response
        loadings = (design.random @ design.factor(theta)).toarray()
        size = loadings.shape[1]
        both = np.hstack([loadings, fixed])
        penalty = np.diag(np.append(np.ones(size), np.zeros(fixed.shape[1])))
        old = np.inf
        while True:
            means = expit(predictor)
            weights = means * (1 - means)
            working = weights * (predictor - offset) + response - means
            system = both.T @ (weights[:, None] * both) + penalty
            solution = np.linalg.solve(system, both.T @ working)
            predictor = offset + both @ solution
            value = 2 * np.sum(np.logaddexp(0, predictor) - response * predictor)
            value += solution[:size] @ solution[:size]
            if abs(old - value) < self._tolerance * value:
                logdet = np.linalg.slogdet(system[:size, :size])[1]
                return float(value + logdet), predictor, solution
            old = value

    def hessian(self, parameters: Floats, step: float = 1e-4) -> Floats:
        """Second derivatives by differences of values, with lme4's step."""
        steps = np.eye(len(parameters)) * step
        middle = self(parameters)
        second = np.empty((len(parameters), len(parameters)))
        for i, a in enumerate(steps):
            second[i, i] = self(parameters + a) - 2 * middle + self(parameters - a)
            for j, b in enumerate(steps[:i]):
                up = self(parameters + a + b) - self(parameters + a - b)
                down = self(parameters - a + b) - self(parameters - a - b)
                second[i, j] = second[j, i] = (up - down) / 4
        return second / step**2
