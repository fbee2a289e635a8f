"""Factorizations of symmetric positive definite matrices with a fixed sparsity pattern.

The sparsity pattern of the random effects depends only on the table, so it is computed once
(``CrossPattern``). Small matrices get a dense factor, which is fastest. Large matrices get a sparse
factor, because an item's random effects share rows with few other effects. If one term has most of
the effects, ``arrow_factor`` is faster than both.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse.linalg import splu

from gardenpath.data.arrays import Floats

# Up to this number of columns, a dense factor is faster than a sparse one.
DENSE_COLUMNS = 300


class PositiveFactor(Protocol):
    """Factor of a positive definite matrix: log determinant, linear systems, cells of inverse."""

    logdet: float

    def solve(self, right: Floats) -> Floats:
        """Solve for the right-hand side ``right``: a vector, or one vector per column."""

    def cells(self, columns: NDArray[np.intp]) -> Floats:
        """Return the cells of the inverse at all pairs of each row's columns.

        ``columns`` are (rows, width), the result is (rows, width, width).
        """


class DenseFactor:
    """Dense Cholesky factor; only the lower triangle of the matrix is read."""

    def __init__(self, matrix: Floats) -> None:
        self._lower, failure = dpotrf(matrix, lower=1, clean=0)
        if failure:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        self.logdet = float(2.0 * np.log(self._lower.diagonal()).sum())

    def solve(self, right: Floats) -> Floats:
        """Solve for the right-hand side ``right``: a vector, or one vector per column."""
        return np.asarray(dpotrs(self._lower, right, lower=1)[0])

    def cells(self, columns: NDArray[np.intp]) -> Floats:
        """Return the cells of the inverse at all pairs of each row's columns."""
        # Not dpotri, which starts threads even for small matrices and is then slower by far.
        return _cells(self.solve(np.eye(len(self._lower))), columns)


class SparseFactor:
    """Sparse LU factor of a matrix in compressed column format."""

    def __init__(self, matrix: Any) -> None:
        # Diagonal pivots keep the factor sparse; positive definite matrices allow them.
        self._lu = splu(
            matrix,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        self._size = matrix.shape[0]
        self.logdet = float(np.log(np.abs(self._lu.U.diagonal())).sum())

    def solve(self, right: Floats) -> Floats:
        """Solve for the right-hand side ``right``: a vector, or one vector per column."""
        return np.asarray(self._lu.solve(np.ascontiguousarray(right)))

    def cells(self, columns: NDArray[np.intp]) -> Floats:
        """Return the cells of the inverse at all pairs of each row's columns."""
        return _cells(self.solve(np.eye(self._size)), columns)


class NoFactor:
    """The factor of an empty matrix."""

    logdet = 0.0

    def solve(self, right: Floats) -> Floats:
        """Return an empty solution."""
        return np.zeros_like(right)

    def cells(self, columns: NDArray[np.intp]) -> Floats:
        """Return no cells for each row."""
        return np.zeros((len(columns), 0, 0))


def _cells(inverse: Floats, columns: NDArray[np.intp]) -> Floats:
    return np.asarray(inverse[columns[:, :, None], columns[:, None, :]])


class CrossPattern:
    """Factors ``A'WA + I`` for matrices A that share a sparsity pattern.

    ``columns`` are the columns of each row's non-zero entries, (rows, width).
    """

    def __init__(self, columns: NDArray[np.intp], size: int, *, is_dense: bool | None = None):
        self._size = size
        self._is_dense = size <= DENSE_COLUMNS if is_dense is None else is_dense
        width = columns.shape[1]
        # All pairs of entries of a row. A dense factor needs only the lower triangle, because the
        # columns of a row are in ascending order.
        pairs = np.tril_indices(width) if self._is_dense else np.indices((width, width))
        self._first, self._second = (np.asarray(side).ravel() for side in pairs)
        places = columns[:, self._first] + size * columns[:, self._second]
        diagonal = np.arange(size) * (size + 1)
        self._cells, inverse = np.unique(
            np.concatenate([diagonal, places.ravel()]), return_inverse=True
        )
        self._of_diagonal, self._of_places = inverse[:size], inverse[size:]

    def factor(self, entries: Floats, weights: Floats) -> PositiveFactor:
        """Factor, given the entries of A, (rows, width), and the diagonal of W, (rows,)."""
        if not self._size:
            return NoFactor()
        weighted = entries * weights[:, None]
        products = weighted[:, self._first] * entries[:, self._second]
        values: Floats = np.asarray(
            np.bincount(self._of_places, products.ravel(), minlength=len(self._cells)), np.float64
        )
        values[self._of_diagonal] += 1.0
        if self._is_dense:
            flat = np.zeros(self._size**2)
            flat[self._cells] = values
            return DenseFactor(flat.reshape((self._size, self._size), order="F"))
        rows, columns = self._cells % self._size, self._cells // self._size
        starts = np.searchsorted(columns, np.arange(self._size + 1))
        shape = (self._size, self._size)
        return SparseFactor(scipy.sparse.csc_array((values, rows, starts), shape=shape))
