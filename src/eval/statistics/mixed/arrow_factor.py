"""Factorizations of cross products in which one random term has most of the random effects.

With the effects of that term first, ``A'WA + I`` has the form of an arrow: one small block for each
level (an item), and few further rows and columns for all other terms (seeds, modifiers)::

    [ D  B ]      D block diagonal, (levels, size, size)
    [ B' C ]      C dense, (others, others)

Blocks are eliminated together, and what remains is the Schur complement ``C − B'D⁻¹B``. Of the
inverse, only the cells that the likelihoods need are computed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gardenpath.data.arrays import Floats

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


def dominant_term(sizes: NDArray[np.intp], levels: NDArray[np.intp]) -> int | None:
    """Return the index of the term for which an arrow is the fastest factor, if there is one."""
    if not len(sizes):
        return None
    effects = sizes * levels
    largest = int(np.argmax(effects))
    others = int(effects.sum() - effects[largest])
    is_worth = effects[largest] >= _FEWEST_EFFECTS and others <= _MOST_OTHERS
    return largest if is_worth else None
