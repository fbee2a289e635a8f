"""The Laplace approximation to the likelihood of binomial mixed models, with exact gradients.

For parameters θ (random effects) and β (fixed effects), let û be the modes of the random effects,
which minimise the penalised deviance ``d(u) = −2 log p(y | u) + u'u``. The approximation is

    −2 log L(θ, β)  ≈  d(û) + log |H|,    H = Λ'Z'WZΛ + I,

with W the variances of the responses at û (Bates et al. 2015). lme4 minimises it if nAGQ = 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.design_matrix import Design
from gardenpath.eval.statistics.mixed.factor import PositiveFactor

_NEWTON_STEPS = 200
# The Newton decrement bounds the distance of the penalised deviance from its minimum. The error of
# log |H| is linear in that of the random effects, hence of the order of the decrement's root.
_DECREMENT = 1e-20
# Below this decrement, full steps are taken: values differ only by rounding.
_NEAR = 1e-10
_SMALLEST_STEP = 1e-8


@dataclass(frozen=True, slots=True)
class _Mode:
    """The minimum of the penalised deviance, with means and factor at that point."""

    effects: Floats  # û
    means: Floats
    deviance: float  # d(û)
    factor: PositiveFactor  # of H


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
