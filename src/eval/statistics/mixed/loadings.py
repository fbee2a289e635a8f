"""Row-wise storage of the random effects matrix Z.

Each row of a table belongs to one level of every random term, so a row of ZΛ has few entries. Their
columns do not depend on θ, and all rows share the same small block of Λ. For
``(1 + gap | item) + (1 | seed)`` a row has three entries: the item's intercept and slope, and the
seed's intercept. The likelihoods only need sums over these entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.arrow_factor import ArrowPattern, dominant_term
from gardenpath.eval.statistics.mixed.factor import CrossPattern, PositiveFactor


class Loadings:
    """The entries of Z in each row, and products with ZΛ(θ).

    A random term has ``sizes`` effects at each of ``levels`` levels; its columns in Z are ordered
    by level. ``places`` are the row and column of each parameter θ within the block of all terms.
    """

    def __init__(
        self,
        random: Any,
        *,
        sizes: Sequence[int],
        levels: Sequence[int],
        places: Sequence[tuple[int, int]],
    ) -> None:
        self.size: int = random.shape[1]
        self.places = tuple(places)
        self.columns, self.values = _entries(random, sizes, levels)
        self._sizes = np.asarray(sizes, dtype=np.intp)
        self._levels = np.asarray(levels, dtype=np.intp)

    @cached_property
    def _pattern(self) -> CrossPattern | ArrowPattern:
        term = dominant_term(self._sizes, self._levels)
        if term is None:
            return CrossPattern(self.columns, self.size)
        start = int((self._sizes * self._levels)[:term].sum())
        size, levels = int(self._sizes[term]), int(self._levels[term])
        return ArrowPattern(self.columns, self.size, start=start, size=size, levels=levels)

    @cached_property
    def _flat(self) -> NDArray[np.intp]:
        return self.columns.ravel()

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
        weighted = (entries * rows[:, None]).ravel()
        return np.asarray(np.bincount(self._flat, weighted, minlength=self.size), np.float64)

    def factor(self, entries: Floats, weights: Floats) -> PositiveFactor:
        """Factor ``A'WA + I`` for the matrix A with these entries."""
        return self._pattern.factor(entries, weights)

    def spread(self, entries: Floats, factor: PositiveFactor) -> Floats:
        """Return the entries of ``A H⁻¹`` in the columns of each row of A, (rows, width).

        ``factor`` is that of H.
        """
        return np.asarray(np.einsum("ra,rab->rb", entries, factor.cells(self.columns)))


def _entries(
    random: Any, sizes: Sequence[int], levels: Sequence[int]
) -> tuple[NDArray[np.intp], Floats]:
    """Return columns and values of each row of Z; missing entries have the value zero."""
    widths, counts = np.asarray(sizes, dtype=np.intp), np.asarray(levels, dtype=np.intp)
    starts = np.concatenate([[0], np.cumsum(widths * counts)]).astype(np.intp)
    offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
    rows = np.repeat(np.arange(random.shape[0]), np.diff(random.indptr))
    terms = np.searchsorted(starts, random.indices, side="right") - 1
    within = random.indices - starts[terms]
    level_of = np.zeros((random.shape[0], len(widths)), dtype=np.intp)
    level_of[rows, terms] = within // widths[terms]
    columns = np.zeros((random.shape[0], int(offsets[-1])), dtype=np.intp)
    for term, width in enumerate(widths):
        block = starts[term] + level_of[:, term, None] * width + np.arange(width)
        columns[:, offsets[term] : offsets[term + 1]] = block
    values = np.zeros(columns.shape)
    values[rows, offsets[terms] + within % widths[terms]] = random.data
    return columns, values
