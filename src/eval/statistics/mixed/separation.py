"""Detection of separation, where a binomial model has no finite estimates.

Outcomes are separated if a linear combination of the fixed effects is non-negative for all right
outcomes, non-positive for all wrong ones, and not zero for all. The likelihood then increases
without bound along this combination, whatever the random effects are. One model that is always
right is sufficient. A linear programme finds such combinations (Konis 2007).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.design_matrix import Design

_TOLERANCE = 1e-6


def separated_effects(design: Design) -> tuple[str, ...]:
    """Return the fixed effects of a binomial model that have no finite estimate."""
    right, wrong = design.response >= 1.0, design.response <= 0.0
    # Only distinct combinations of predictors and outcomes matter, not their frequencies.
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
    """Return the largest extent along a direction of a combination with coefficients in [−1, 1].

    The combination must be non-negative for the rows ``ordered`` (signed by their outcomes), and
    zero for the rows ``shared`` (outcomes partly right and partly wrong).
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
