"""Minima of likelihoods in which some parameters are scales, whose sign says nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from gardenpath.data.arrays import Floats

# So far a scale is moved from zero to see whether the likelihood falls or rises there.
_NUDGE = 0.01

Objective = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True, slots=True)
class Optimum:
    """Where a deviance is lowest, and how low it is there."""

    parameters: Floats
    deviance: float


def search(objective: Objective, start: Floats, is_scale: NDArray[np.bool_]) -> Optimum:
    """The lowest minimum that is found from a start.

    Likelihoods are even in scales, so that these may become negative on the way. For the same
    reason zero is always stationary: each scale that ended there is moved a little, and the search
    goes on if it is downhill from there.
    """
    best = _descend(objective, start)
    for number in np.flatnonzero(is_scale):
        if abs(best.parameters[number]) < _NUDGE / 10.0:
            moved = best.parameters.copy()
            moved[number] = _NUDGE
            if objective(moved)[1][number] < 0.0:
                best = min(best, _descend(objective, moved), key=lambda optimum: optimum.deviance)
    return best


def _descend(objective: Objective, start: Floats) -> Optimum:
    options = {"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-6}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return Optimum(np.asarray(found.x), float(found.fun))


def hessian(objective: Objective, parameters: Floats) -> Floats:
    """Central differences of exact gradients."""
    steps = np.diag(1e-4 * np.maximum(1.0, np.abs(parameters)))
    if not len(parameters):
        return np.zeros((0, 0))
    rows = [
        (objective(parameters + step)[1] - objective(parameters - step)[1]) / (2.0 * step.sum())
        for step in steps
    ]
    return np.asarray((np.array(rows) + np.array(rows).T) / 2.0)


def is_settled(gradient: Floats, curvatures: Floats) -> bool:
    """Whether no more than a thousandth of a deviance unit is left to gain."""
    return bool(np.sum(gradient**2 / np.maximum(curvatures, 1e-3)) < 1e-3)
