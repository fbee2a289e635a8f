"""The search of ``lmer`` with its default settings, which sometimes stops before the optimum.

lme4 minimises the deviance without derivatives, with scales bounded below by zero, from a start of
1 for all scales and 0 for all correlations. The deviance is flat at a scale of zero, so a search
that reaches this bound can stay there although the likelihood is higher elsewhere. The search here
is of the same kind (COBYQA, the successor of lme4's BOBYQA) and stops at the same points in the
models of the published studies; in other models it can differ from lme4's.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.design_matrix import Design
from gardenpath.eval.statistics.mixed.profiled import ProfiledLikelihood

# The initial radius is that of BOBYQA in R for a start at 1.
_OPTIONS = {"initial_tr_radius": 0.2, "maxfev": 3000}


def bounded_theta(design: Design, likelihood: ProfiledLikelihood) -> Floats:
    """Return the parameters θ at which a search without derivatives, within bounds, stops."""
    bounds = [(0.0, None) if is_scale else (None, None) for is_scale in design.is_scale]
    start = 1.0 * design.is_scale
    options = dict(_OPTIONS)
    found = minimize(likelihood.deviance, start, method="COBYQA", bounds=bounds, options=options)
    return np.asarray(found.x, dtype=np.float64)
