"""Minimisation of deviances, some of whose parameters are scales with an arbitrary sign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from gardenpath.data.arrays import Floats

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
    """Approximate the Hessian by central differences of exact gradients."""
    steps = np.diag(1e-4 * np.maximum(1.0, np.abs(parameters)))
    if not len(parameters):
        return np.zeros((0, 0))
    rows = [
        (objective(parameters + step)[1] - objective(parameters - step)[1]) / (2.0 * step.sum())
        for step in steps
    ]
    return np.asarray((np.array(rows) + np.array(rows).T) / 2.0)


def is_settled(gradient: Floats, curvatures: Floats) -> bool:
    """Whether a Newton step would decrease the deviance by less than about 0.001."""
    return bool(np.sum(gradient**2 / np.maximum(curvatures, 1e-3)) < 1e-3)


def bounded_search(objective: Callable[[Floats], float], is_scale: NDArray[np.bool_]) -> Floats:
    """Return where a search like that of ``lmer`` stops, which is not always the minimum.

    lme4 minimises without derivatives, with scales bounded below by zero, from scales of 1.
    Deviances are flat at a scale of zero, so a search that reaches this bound can stay there
    although the deviance is lower elsewhere. This search is of the same kind (COBYQA, the successor
    of BOBYQA in lme4) and stops at the same points in the models of the published studies; in
    others it can differ from lme4's.
    """
    bounds = [(0.0, None) if one else (None, None) for one in is_scale]
    # The initial radius is that of BOBYQA in R for a start at 1.
    options = {"initial_tr_radius": 0.2, "maxfev": 3000}
    start = is_scale.astype(np.float64)
    found = minimize(objective, start, method="COBYQA", bounds=bounds, options=options)
    return np.asarray(found.x, dtype=np.float64)
