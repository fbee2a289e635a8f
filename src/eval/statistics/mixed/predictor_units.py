"""Rescaling of predictors whose magnitude would slow down the optimiser.

A gradient-based search takes steps of about one in every direction. Frequencies per million words
or proportions of a thousandth would need other step sizes. Such columns are divided by their root
mean square, the model is fitted, and its parameters are converted back. Columns of usual magnitude
are not changed.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.design_matrix import Design

# Smallest and largest root mean square that is not rescaled.
_USUAL = (0.1, 10.0)


@dataclass(frozen=True, slots=True)
class Units:
    """The divisors of the columns: one per parameter θ and one per fixed effect."""

    theta: Floats
    fixed: Floats


def in_usual_units(design: Design) -> tuple[Design, Units]:
    """Return the same model with rescaled predictors, and their units.

    Fixed effects and parameters θ of the original design are those of the returned design divided
    by their units. The unit of a parameter θ is that of the random effect in its row of Λ.
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
    """Return the root mean square of each column, or 1 if it needs no rescaling."""
    sizes = np.sqrt(np.mean(columns**2, axis=0))
    is_usual = (sizes >= _USUAL[0]) & (sizes <= _USUAL[1]) | (sizes == 0.0)
    return np.where(is_usual, 1.0, sizes)
