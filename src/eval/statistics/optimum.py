"""Minima of likelihoods in which some parameters, being scales, are not negative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from src.eval.statistics.coding import Floats

Objective = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True, slots=True)
class Optimum:
    """Where a deviance is lowest, and how low it is there."""

    parameters: Floats
    deviance: float


def search(objective: Objective, starts: Sequence[Floats], is_scale: NDArray[np.bool_]) -> Optimum:
    """The lowest minimum from several starts; scales are not negative.

    A scale of zero is always stationary, because the likelihood is even in it. So each that ended
    there is moved a little, and the search goes on if that helps.
    """
    bounds = [(0.0, None) if scale else (None, None) for scale in is_scale]

    def descend(start: Floats) -> Optimum:
        found = minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-5},
        )
        return Optimum(np.asarray(found.x), float(found.fun))

    best = min((descend(start) for start in starts), key=lambda optimum: optimum.deviance)
    for number in np.flatnonzero(is_scale):
        if best.parameters[number] < 1e-3:
            moved = best.parameters.copy()
            moved[number] = 0.05
            if objective(moved)[0] < best.deviance - 1e-9:
                best = min(best, descend(moved), key=lambda optimum: optimum.deviance)
    return best


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


def is_settled(
    gradient: Floats, curvatures: Floats, parameters: Floats, is_scale: NDArray[np.bool_]
) -> bool:
    """Whether no more than a thousandth of a deviance unit is left to gain."""
    free = ~(is_scale & (parameters <= 0.0))
    slope = gradient[free]
    return bool(np.sum(slope**2 / np.maximum(curvatures[free], 1e-3)) < 1e-3)
