"""Where another program's search ends, as one more start for a search that did not settle.

``mixedlm`` goes without derivatives, which is slow but stumbles over other things.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Mapping
from typing import Any

import mixedlm
import numpy as np
import pandas as pd

from gardenpath.eval.statistics.mixed.coding import Coding, Floats
from gardenpath.eval.statistics.mixed.design_matrix import Design
from gardenpath.eval.statistics.mixed.mixed_fit import Family

# What mixedlm would print or warn about is found out again here, and said in words.
_QUIET: dict[str, Any] = {
    f"check_{name}": "ignore"
    for name in ("nobs_vs_rankZ", "nobs_vs_nlev", "nlev_gtreq_5", "nlev_gtr_1", "scaleX")
}


def second_opinion(
    design: Design, coded: pd.DataFrame, family: Family, codings: Mapping[str, Coding]
) -> Floats | None:
    """The parameters of ``mixedlm``, θ and for a binomial model β; None if it has none to offer."""
    contrasts = {name: coding.matrix for name, coding in codings.items()}
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            fitted = _fitted(design, coded, family, contrasts)
    except Exception:  # another's solver may fail in any way, and then has no opinion
        return None
    parts = [fitted.theta] if family == "gaussian" else [fitted.theta, fitted.beta]
    parameters = np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])
    coefficients = 0 if family == "gaussian" else design.fixed.shape[1]
    matches = len(parameters) == len(design.entries) + coefficients
    return parameters if matches and bool(np.isfinite(parameters).all()) else None


def _fitted(design: Design, coded: pd.DataFrame, family: Family, contrasts: dict[str, Any]) -> Any:
    if family == "gaussian":
        control = mixedlm.lmerControl(**_QUIET)
        return mixedlm.lmer(design.formula, coded, control=control, contrasts=contrasts)
    return mixedlm.glmer(
        design.formula,
        coded,
        family=mixedlm.families.Binomial(),
        weights=design.weights,
        control=mixedlm.glmerControl(**_QUIET),
        contrasts=contrasts,
    )
