"""The Laplace-approximated likelihood of binomial mixed models, with exact derivatives.

For parameters θ (of the random effects) and β (fixed), let û be the modes of the random effects:
what minimises the penalised deviance ``d(u) = −2 log p(y | u) + u'u``. The approximation is

    −2 log L(θ, β)  ≈  d(û) + log |H|,    H = Λ'Z'WZΛ + I,

with W the variances of the responses at û (Bates et al. 2015; what lme4 minimises with nAGQ = 1).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln

from src.eval.statistics.coding import Floats
from src.eval.statistics.design import Design
from src.eval.statistics.factor import PositiveFactor

_NEWTON_STEPS = 200
# The decrement of a Newton step bounds how far the penalised deviance is from its minimum.
_DECREMENT = 1e-13
_SMALLEST_STEP = 1e-8


@dataclass(frozen=True, slots=True)
class _Mode:
    """The minimum of the penalised deviance and what is known there."""

    effects: Floats  # û
    means: Floats
    deviance: float  # d(û)
    factor: PositiveFactor  # of H


class LaplaceLikelihood:
    """−2 log likelihood of a design, as a function of ``(θ, β)``."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._trials = design.weights
        self._successes = design.weights * design.response
        self._start = np.zeros(design.random.shape[1])
        self._theta_count = len(design.entries)

    @property
    def constant(self) -> float:
        """−2 log of the binomial coefficients, which no parameter changes."""
        failures = self._trials - self._successes
        log_choose = (
            gammaln(self._trials + 1) - gammaln(self._successes + 1) - gammaln(failures + 1)
        )
        # A share of one trial, such as half for a tie, is no count and has no such coefficient.
        return float(-2.0 * log_choose[self._trials > 1].sum())

    def deviance(self, parameters: Floats) -> tuple[float, Floats]:
        """−2 log likelihood, without the constant, and its gradient."""
        theta, beta = self._split(parameters)
        design = self._design
        factor = design.factor(theta)
        loadings = (design.random @ factor).tocsr()  # ZΛ
        mode = self._mode(loadings, design.fixed @ beta)
        return mode.deviance + mode.factor.logdet, self._gradient(mode, factor, loadings)

    def expected_covariance(self, parameters: Floats) -> Floats:
        """The covariance of β at fixed θ, from expected information (lme4's ``RX``)."""
        theta, beta = self._split(parameters)
        loadings = (self._design.random @ self._design.factor(theta)).tocsr()
        mode = self._mode(loadings, self._design.fixed @ beta)
        weighted = self._variances(mode.means)[:, None] * self._design.fixed
        cross = loadings.T @ weighted
        explained = cross.T @ mode.factor.solve(cross)
        return np.asarray(np.linalg.pinv(self._design.fixed.T @ weighted - explained))

    def _split(self, parameters: Floats) -> tuple[Floats, Floats]:
        return parameters[: self._theta_count], parameters[self._theta_count :]

    def _variances(self, means: Floats) -> Floats:
        return np.asarray(self._trials * means * (1.0 - means))

    def _penalised(self, predictor: Floats, effects: Floats) -> float:
        log_prob = self._successes * predictor - self._trials * np.logaddexp(0.0, predictor)
        return float(-2.0 * log_prob.sum() + effects @ effects)

    def _mode(self, loadings: Any, offset: Floats) -> _Mode:
        """Newton's method; the penalised deviance is convex, so that halving steps suffices."""
        effects = self._start
        predictor = offset + loadings @ effects
        value = self._penalised(predictor, effects)
        for _ in range(_NEWTON_STEPS):
            means = expit(predictor)
            factor = self._factor(loadings, means)
            slope = loadings.T @ (self._successes - self._trials * means) - effects
            step = factor.solve(slope)
            decrement = float(step @ slope)
            if decrement <= _DECREMENT:
                break
            share = 1.0
            while share > _SMALLEST_STEP:
                moved = effects + share * step
                new_predictor = offset + loadings @ moved
                new_value = self._penalised(new_predictor, moved)
                if new_value <= value:
                    break
                share /= 2.0
            else:
                break  # no step helps any more: rounding
            effects, predictor, value = moved, new_predictor, new_value
        self._start = effects  # the modes at nearby parameters are near
        means = expit(predictor)
        return _Mode(effects, means, value, self._factor(loadings, means))

    def _factor(self, loadings: Any, means: Floats) -> PositiveFactor:
        return PositiveFactor(loadings.T @ loadings.multiply(self._variances(means)[:, None]))

    def _leverages(self, factor: Any, inverse: Floats) -> Floats:
        """The diagonal of ``ZΛ H⁻¹ Λ'Z'``: how much each row's predictor may still vary."""
        spread = np.asarray(factor @ (factor @ inverse).T)
        columns, values = self._padded
        totals = np.zeros(len(columns))
        for first, second in itertools.product(range(columns.shape[1]), repeat=2):
            entries = spread[columns[:, first], columns[:, second]]
            totals += values[:, first] * values[:, second] * entries
        return totals

    @cached_property
    def _padded(self) -> tuple[NDArray[np.intp], Floats]:
        """The entries of each row of Z, filled up with zeros to the longest row."""
        random = self._design.random
        lengths = np.diff(random.indptr)
        columns = np.zeros((random.shape[0], int(lengths.max(initial=0))), dtype=np.intp)
        values = np.zeros(columns.shape)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        places = np.arange(len(rows)) - np.repeat(random.indptr[:-1], lengths)
        columns[rows, places], values[rows, places] = random.indices, random.data
        return columns, values

    def _gradient(self, mode: _Mode, factor: Any, loadings: Any) -> Floats:
        """Derivatives of d(û) + log |H|, where û and W change with the parameters too."""
        design, effects = self._design, mode.effects
        residuals = self._successes - self._trials * mode.means
        variances = self._variances(mode.means)
        inverse = mode.factor.inverse(len(effects))
        # d log|H| / dη of each row: W changes by W(1 − 2μ).
        skews = variances * (1.0 - 2.0 * mode.means) * self._leverages(factor, inverse)
        # How log|H| changes as û moves, carried back through û's own equation.
        adjoint = inverse @ (loadings.T @ skews)
        carried = variances * (loadings @ adjoint)
        of_beta = design.fixed.T @ (skews - 2.0 * residuals - carried)
        of_rows = design.random.T @ residuals  # Z'r
        of_logdet = (design.random.T @ loadings.multiply(variances[:, None])) @ inverse
        of_theta = np.zeros(self._theta_count)
        for number, (rows, columns) in enumerate(design.entries):
            moved = np.zeros(len(effects))
            np.add.at(moved, rows, effects[columns])
            along = design.random @ moved  # ZΛ_k û
            of_theta[number] = (
                along @ (skews - 2.0 * residuals - carried)
                + of_rows[rows] @ adjoint[columns]
                + 2.0 * of_logdet[rows, columns].sum()
            )
        return np.concatenate([of_theta, of_beta])
