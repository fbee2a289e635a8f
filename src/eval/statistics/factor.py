"""Factors of sparse, symmetric, positive definite matrices.

Random effects of items are many, but each shares rows with few others, so that factors stay sparse:
a thousand items cost little more than a hundred.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import splu

from src.eval.statistics.coding import Floats


class PositiveFactor:
    """The factor of ``matrix + I``: solves systems and knows the determinant."""

    def __init__(self, matrix: Any) -> None:
        size = matrix.shape[0]
        self._lu = None
        self.logdet = 0.0
        if size:
            whole = scipy.sparse.csc_array(matrix + scipy.sparse.eye_array(size))
            # Pivots on the diagonal, which a positive definite matrix allows, keep it sparse.
            self._lu = splu(
                whole,
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
            self.logdet = float(np.log(np.abs(self._lu.U.diagonal())).sum())

    def solve(self, right: Floats) -> Floats:
        """What the matrix maps to ``right``: a vector, or one per column."""
        if self._lu is None:
            return np.zeros_like(right)
        return np.asarray(self._lu.solve(np.ascontiguousarray(right)))

    def inverse(self, size: int) -> Floats:
        """The inverse, as a dense matrix."""
        return self.solve(np.eye(size))
