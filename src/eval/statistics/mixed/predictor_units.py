"""Predictors of unusual size, in units in which a search can find its way.

A search by gradients takes steps of about one in every direction. Frequencies per million words, or
shares of a thousandth, would need steps of another size. Such columns are divided by their root
mean square, the model is fitted, and its parameters are turned back. Columns of usual size stay as
they are.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.design_matrix import Design

# Root mean squares from here to there are usual.
_USUAL = (0.1, 10.0)


@dataclass(frozen=True, slots=True)
class Units:
    """What the columns were divided by: one number per parameter θ, and one per fixed effect."""

    theta: Floats
    fixed: Floats


def in_usual_units(design: Design) -> tuple[Design, Units]:
    """The same model with predictors of usual size.

    A fixed effect of the original design is that of the new one divided by its unit. So is a
    parameter θ, whose unit is that of the random effect in its row of Λ.
    """
    fixed, random = _units(design.fixed), _units(design.loadings.values)
    scales, theta, start = [np.ones(0)], [], 0
    for term in design.terms:
        units = random[start : start + len(term.names)]
        scales.append(np.tile(units, term.levels))
        theta += [float(units[row]) for row, _ in term.places]
        start += len(term.names)
    inverse = scipy.sparse.diags_array(1.0 / np.concatenate(scales))
    scaled = dataclasses.replace(
        design,
        fixed=design.fixed / fixed,
        random=scipy.sparse.csr_array(design.random @ inverse),
    )
    return scaled, Units(theta=np.array(theta), fixed=fixed)


def _units(columns: Floats) -> Floats:
    """The root mean square of each column, or 1 where that is usual."""
    sizes = np.sqrt(np.mean(columns**2, axis=0))
    is_usual = (sizes >= _USUAL[0]) & (sizes <= _USUAL[1]) | (sizes == 0.0)
    return np.where(is_usual, 1.0, sizes)
