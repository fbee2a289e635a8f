"""The random effects matrix row by row, and factors of its cross products.

``Loadings`` stores Z for ``design``; the likelihoods factor ``A'WA + I`` with it at every step of
their search. Each row of a table belongs to one level of every random term, so a row of ZΛ has few
entries. Their columns do not depend on θ, and all rows share the same small block of Λ. For
``(1 + gap | item) + (1 | seed)`` a row has three entries: the item's intercept and slope, and the
seed's intercept. Nothing here knows what is fitted.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from gardenpath.data.arrays import Floats


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
    def _pattern(self) -> ArrowPattern | DensePattern:
        """The pattern in which the term with the most effects is eliminated, if it is large."""
        effects = list(map(operator.mul, self.sizes, self.levels))
        if max(effects) < _FEWEST_EFFECTS:
            return DensePattern(self.columns, self.size)
        term = effects.index(max(effects))
        start, size, levels = sum(effects[:term]), self.sizes[term], self.levels[term]
        return ArrowPattern(self.columns, self.size, start=start, size=size, levels=levels)

    def block(self, theta: Floats) -> Floats:
        """Return the block of Λ(θ) that all rows share, (width, width)."""
        block = np.zeros((self.values.shape[1],) * 2)
        for place, value in zip(self.places, theta, strict=True):
            block[place] = value
        return block

    def scaled(self, theta: Floats) -> Floats:
        """Return the entries of ZΛ in the same columns, (rows, width)."""
        return np.asarray(self.values @ self.block(theta))

    def forward(self, entries: Floats, effects: Floats) -> Floats:
        """Return ``A u`` for the matrix A with these entries."""
        return np.asarray(np.einsum("rw,rw->r", entries, effects[self.columns]))

    def backward(self, entries: Floats, rows: Floats) -> Floats:
        """Return ``A'r`` for the matrix A with these entries."""
        return _sums(self.columns.ravel(), entries * rows[:, None], self.size)

    def factor(self, entries: Floats, weights: Floats) -> Factor:
        """Factor ``A'WA + I`` for the matrix A with these entries."""
        return self._pattern.factor(entries, weights) if self.size else NoFactor()

    def spread(self, entries: Floats, factor: Factor) -> Floats:
        """Return the entries of ``A H⁻¹`` in the columns of each row of A, (rows, width).

        ``factor`` is that of H.
        """
        return np.asarray(np.einsum("ra,rab->rb", entries, factor.cells(self.columns)))


# ----------------------------------------------------------------------------
# With the effects of one term first, ``A'WA + I`` has the form of an arrow: one small block for
# each level (an item), and further rows and columns for all other terms (seeds, modifiers)::
#
#     [ D  B ]      D block diagonal, (levels, size, size)
#     [ B' C ]      C dense, (others, others)
#
# Blocks are eliminated together, and what remains is the Schur complement ``C − B'D⁻¹B``. Of the
# inverse, only the cells that the likelihoods need are computed. A dense factor of the whole matrix
# is for tables in which no term has so many effects.


_FEWEST_EFFECTS = 80


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
        together = np.concatenate([last[: self._start], first, last[self._start :]])
        return np.asarray(together.reshape(right.shape))

    def cells(self, columns: NDArray[np.intp]) -> Floats:
        """Return the cells of the inverse at all pairs of each row's columns.

        ``columns`` are (rows, width), the result is (rows, width, width).
        """
        levels, size, _ = self._border.shape
        own, other, level, places = _split(columns, self._start, size, levels)
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


class NoFactor:
    """The factor of an empty matrix."""

    logdet = 0.0

    def solve(self, right: Floats) -> Floats:
        """Return an empty solution."""
        return np.zeros_like(right)

    def cells(self, columns: NDArray[np.intp]) -> Floats:
        """Return no cells for each row."""
        return np.zeros((len(columns), 0, 0))


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
        inverse = self.solve(np.eye(len(self._lower)))
        return np.asarray(inverse[columns[:, :, None], columns[:, None, :]])


Factor = ArrowFactor | DenseFactor | NoFactor


class DensePattern:
    """Factors ``A'WA + I`` of few columns; ``columns`` are those of each row, (rows, width)."""

    def __init__(self, columns: NDArray[np.intp], size: int) -> None:
        self._size = size
        # The columns of a row are in ascending order, so these pairs are in the lower triangle.
        self._first, self._second = np.tril_indices(columns.shape[1])
        self._places = (columns[:, self._first] + size * columns[:, self._second]).ravel()

    def factor(self, entries: Floats, weights: Floats) -> DenseFactor:
        """Factor, given the entries of A, (rows, width), and the diagonal of W, (rows,)."""
        products = (entries * weights[:, None])[:, self._first] * entries[:, self._second]
        flat = _sums(self._places, products, self._size**2)
        flat[:: self._size + 1] += 1.0
        return DenseFactor(flat.reshape((self._size, self._size), order="F"))


class ArrowPattern:
    """Factors ``A'WA + I`` for matrices A that share a sparsity pattern.

    ``columns`` are the columns of each row's entries, (rows, width). The blocks have ``size``
    effects at each of ``levels`` levels, from the column ``start``.
    """

    def __init__(
        self, columns: NDArray[np.intp], total: int, *, start: int, size: int, levels: int
    ) -> None:
        self._own, self._other, level, places = _split(columns, start, size, levels)
        self._start, self._shape = start, (levels, size, total - size * levels)
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


def _split(
    columns: NDArray[np.intp], start: int, size: int, levels: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return which of a row's entries are in blocks and in the corner, and where these are.

    The latter are the row's level, and the places of its other entries within the corner.
    """
    stop = start + size * levels
    is_own = (columns[0] >= start) & (columns[0] < stop)
    own, other = np.flatnonzero(is_own), np.flatnonzero(~is_own)
    places = columns[:, other]
    places = np.where(places >= stop, places - size * levels, places)
    return own, other, (columns[:, own[0]] - start) // size, places


def _sums(places: NDArray[np.intp], values: Floats, length: int) -> Floats:
    return np.asarray(np.bincount(places, values.ravel(), minlength=length), np.float64)
