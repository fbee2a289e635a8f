"""Outcomes that predictors separate, so that a binomial model has no finite estimates.

If some combination of the fixed effects is never on the wrong side (positive only where outcomes
are right, negative only where they are wrong), the likelihood grows for ever along it, whatever the
random effects are. One model that is always right is enough. Whether there is such a combination is
a linear programme (Konis 2007).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.design_matrix import Design

_TOLERANCE = 1e-6


def separated_effects(design: Design) -> tuple[str, ...]:
    """The fixed effects of a binomial model that have no finite estimate."""
    right, wrong = design.response >= 1.0, design.response <= 0.0
    # Which outcomes a combination of predictors meets matters here, and not how often.
    ordered = np.unique(np.vstack([design.fixed[right], -design.fixed[wrong]]), axis=0)
    shared = np.unique(design.fixed[~right & ~wrong], axis=0)
    if _furthest(ordered.sum(axis=0), ordered, shared) <= _TOLERANCE:
        return ()
    directions = np.eye(len(design.names))
    return tuple(
        name
        for name, direction in zip(design.names, directions, strict=True)
        if max(_furthest(sign * direction, ordered, shared) for sign in (1.0, -1.0)) > _TOLERANCE
    )


def _furthest(direction: Floats, ordered: Floats, shared: Floats) -> float:
    """How far a combination within the unit box goes along a direction.

    It must not be negative for rows that are ``ordered`` by their outcomes, and must be zero where
    outcomes are ``shared``, partly right and partly wrong.
    """
    found = linprog(
        -direction,
        A_ub=-ordered if len(ordered) else None,
        b_ub=np.zeros(len(ordered)) if len(ordered) else None,
        A_eq=shared if len(shared) else None,
        b_eq=np.zeros(len(shared)) if len(shared) else None,
        bounds=(-1.0, 1.0),
    )
    return -float(found.fun) if found.success else 0.0
