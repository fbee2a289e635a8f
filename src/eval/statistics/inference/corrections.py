"""Adjustment of p values for the number of tests, as in R's ``p.adjust``."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.choices import Correction

CORRECTION_NAMES: dict[Correction, str] = {
    "none": "",
    "bonferroni": "Bonferroni",
    "holm": "Holm",
    "benjamini_hochberg": "Benjamini-Hochberg",
}


def adjusted(p_values: ArrayLike, correction: Correction) -> Floats:
    """Return adjusted p values; missing ones stay missing and are not counted as tests.

    Bonferroni and Holm (1979) control the probability of any false positive, Benjamini and Hochberg
    (1995) the expected share of false positives among all positives.
    """
    given = np.asarray(p_values, dtype=np.float64)
    result = given.copy()
    places = np.flatnonzero(~np.isnan(given))
    count = len(places)
    if correction == "none" or not count:
        return result
    order = places[np.argsort(given[places], kind="stable")]
    ascending, ranks = given[order], np.arange(count)
    if correction == "bonferroni":
        raised = count * ascending
    elif correction == "holm":
        raised = np.maximum.accumulate((count - ranks) * ascending)
    else:
        raised = np.minimum.accumulate((count / (ranks + 1.0) * ascending)[::-1])[::-1]
    result[order] = np.minimum(raised, 1.0)
    return result
