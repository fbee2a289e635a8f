"""The random effects matrix row by row, and factorizations of its cross products.

``Loadings`` stores Z for ``design``; the likelihoods factor ``A'WA + I`` with it at every step of
their search. The sparsity pattern depends only on the table, so it is computed once. Small matrices
get a dense factor, which is fastest. Large matrices get a sparse factor, because an item's random
effects share rows with few other effects. If one term has most of the effects, the factor of an
arrow is faster than both. Nothing here knows what is fitted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
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


# ----------------------------------------------------------------------------
# Factorizations of cross products in which one random term has most of the random effects.
#
# With the effects of that term first, ``A'WA + I`` has the form of an arrow: one small block for
# each level (an item), and few further rows and columns for all other terms (seeds, modifiers)::
#
#     [ D  B ]      D block diagonal, (levels, size, size)
#     [ B' C ]      C dense, (others, others)
#
# Blocks are eliminated together, and what remains is the Schur complement ``C − B'D⁻¹B``. Of the
# inverse, only the cells that the likelihoods need are computed.


# An arrow is faster than a dense factor if the term has at least so many effects, and slower if
# all other terms have more than this.
_FEWEST_EFFECTS = 80
_MOST_OTHERS = 300


class ArrowFactor:
    """Factor of a matrix in the form of an arrow; ``start`` is the first column of the blocks."""

    def __init__(self, blocks: Floats, border: Floats, corner: Floats, start: int) -> None:
        self._blocks, self._border = blocks, border
        self._start, self._stop = start, start + blocks.shape[0] * blocks.shape[1]
        self._reached = np.linalg.solve(blocks, border)  # D⁻¹B
        flat = border.reshape(self._stop - self._start, border.shape[2])
        self._rest = corner - flat.T @ self._reached.reshape(flat.shape)
        lower = np.linalg.cholesky(blocks)  # raises LinAlgError if not positive definite
        remaining = np.linalg.cholesky(self._rest)
        self.logdet = 2.0 * float(
            np.log(np.diagonal(lower, axis1=1, axis2=2)).sum() + np.log(np.diag(remaining)).sum()
        )

    def solve(self, right: Floats) -> Floats:
        """Solve for the right-hand side ``right``: a vector, or one vector per column."""
        columns = right.reshape(len(right), math.prod(right.shape[1:]))
        levels, size, others = self._border.shape
        own = columns[self._start : self._stop]
        rest = np.delete(columns, np.s_[self._start : self._stop], axis=0)
        solved = np.linalg.solve(self._blocks, own.reshape(levels, size, own.shape[1]))
        flat = self._border.reshape(levels * size, others)
        last = np.linalg.solve(self._rest, rest - flat.T @ solved.reshape(own.shape))
        first = (solved - self._reached @ last).reshape(own.shape)
        found = np.concatenate([last[: self._start], first, last[self._start :]])
        return np.asarray(found.reshape(right.shape))

    def cells(self, columns: NDArray[np.intp]) -> Floats:
        """Return the cells of the inverse at all pairs of each row's columns."""
        levels, size, _ = self._border.shape
        is_own = (columns[0] >= self._start) & (columns[0] < self._stop)
        own, other = np.flatnonzero(is_own), np.flatnonzero(~is_own)
        level = (columns[:, own[0]] - self._start) // size
        places = columns[:, other]
        places = np.where(places >= self._stop, places - levels * size, places)
        rest = np.linalg.inv(self._rest)
        carried = self._reached @ rest
        blocks = np.linalg.inv(self._blocks) + carried @ self._reached.transpose(0, 2, 1)
        cells = np.empty((len(columns), columns.shape[1], columns.shape[1]))
        cells[:, own[:, None], own] = blocks[level]
        between = -carried[level[:, None], :, places]  # (rows, others of a row, size)
        cells[:, other[:, None], own] = between
        cells[:, own[:, None], other] = between.transpose(0, 2, 1)
        cells[:, other[:, None], other] = rest[places[:, :, None], places[:, None, :]]
        return cells


class ArrowPattern:
    """Factors ``A'WA + I`` for matrices A that share a sparsity pattern with a dominant term.

    ``columns`` are the columns of each row's entries, (rows, width). The blocks of the dominant
    term have ``size`` effects at each of ``levels`` levels, from the column ``start``.
    """

    def __init__(
        self, columns: NDArray[np.intp], total: int, *, start: int, size: int, levels: int
    ) -> None:
        stop = start + size * levels
        is_own = (columns[0] >= start) & (columns[0] < stop)
        self._own, self._other = np.flatnonzero(is_own), np.flatnonzero(~is_own)
        self._start, self._shape = start, (levels, size, total - size * levels)
        level = (columns[:, self._own[0]] - start) // size
        places = columns[:, self._other]
        places = np.where(places >= stop, places - size * levels, places)
        effect, others = np.arange(size), self._shape[2]
        row = level[:, None, None] * size + effect[:, None]
        self._of_blocks = (row * size + effect).ravel()
        self._of_border = (row * others + places[:, None, :]).ravel()
        self._of_corner = (places[:, :, None] * others + places[:, None, :]).ravel()

    def factor(self, entries: Floats, weights: Floats) -> ArrowFactor:
        """Factor, given the entries of A, (rows, width), and the diagonal of W, (rows,)."""
        levels, size, others = self._shape
        own, other = entries[:, self._own], entries[:, self._other]
        weighted = own * weights[:, None]
        blocks = _sums(self._of_blocks, weighted[:, :, None] * own[:, None, :], levels * size**2)
        border = _sums(
            self._of_border, weighted[:, :, None] * other[:, None, :], levels * size * others
        )
        products = (other * weights[:, None])[:, :, None] * other[:, None, :]
        corner = _sums(self._of_corner, products, others**2)
        return ArrowFactor(
            blocks.reshape(levels, size, size) + np.eye(size),
            border.reshape(levels, size, others),
            corner.reshape(others, others) + np.eye(others),
            self._start,
        )


def _sums(places: NDArray[np.intp], values: Floats, length: int) -> Floats:
    return np.asarray(np.bincount(places, values.ravel(), minlength=length), np.float64)


def dominant_term(effects: Sequence[int]) -> int | None:
    """Return the index of the term for which an arrow is the fastest factor, if there is one.

    ``effects`` are the numbers of random effects of all terms.
    """
    if not effects or max(effects) < _FEWEST_EFFECTS or sum(effects) - max(effects) > _MOST_OTHERS:
        return None
    return effects.index(max(effects))


# ----------------------------------------------------------------------------
# Row-wise storage of the random effects matrix Z.
#
# Each row of a table belongs to one level of every random term, so a row of ZΛ has few entries.
# Their columns do not depend on θ, and all rows share the same small block of Λ. For ``(1 + gap |
# item) + (1 | seed)`` a row has three entries: the item's intercept and slope, and the seed's
# intercept. The likelihoods only need sums over these entries.


@dataclass(frozen=True)
class Loadings:
    """The entries of Z in each row, (rows, width), and products with ZΛ(θ).

    A random term has ``sizes`` effects at each of ``levels`` levels; its columns in Z are ordered
    by level. ``places`` are the row and column of each parameter θ within the block of all terms.
    """

    columns: NDArray[np.intp]
    values: Floats
    sizes: tuple[int, ...]
    levels: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    @cached_property
    def size(self) -> int:
        """The number of random effects."""
        return sum(map(operator.mul, self.sizes, self.levels))

    @cached_property
    def _pattern(self) -> CrossPattern | ArrowPattern:
        effects = list(map(operator.mul, self.sizes, self.levels))
        term = dominant_term(effects)
        if term is None:
            return CrossPattern(self.columns, self.size)
        start, size, levels = sum(effects[:term]), self.sizes[term], self.levels[term]
        return ArrowPattern(self.columns, self.size, start=start, size=size, levels=levels)

    def scaled(self, theta: Floats) -> Floats:
        """Return the entries of ZΛ in the same columns, (rows, width)."""
        width = self.values.shape[1]
        block = np.zeros((width, width))
        for place, value in zip(self.places, theta, strict=True):
            block[place] = value
        return np.asarray(self.values @ block)

    def forward(self, entries: Floats, effects: Floats) -> Floats:
        """Return ``A u`` for the matrix A with these entries."""
        return np.asarray(np.einsum("rw,rw->r", entries, effects[self.columns]))

    def backward(self, entries: Floats, rows: Floats) -> Floats:
        """Return ``A'r`` for the matrix A with these entries."""
        return _sums(self.columns.ravel(), entries * rows[:, None], self.size)

    def factor(self, entries: Floats, weights: Floats) -> PositiveFactor:
        """Factor ``A'WA + I`` for the matrix A with these entries."""
        return self._pattern.factor(entries, weights)

    def spread(self, entries: Floats, factor: PositiveFactor) -> Floats:
        """Return the entries of ``A H⁻¹`` in the columns of each row of A, (rows, width).

        ``factor`` is that of H.
        """
        return np.asarray(np.einsum("ra,rab->rb", entries, factor.cells(self.columns)))
