"""What labels and constituents contribute to a stack, each distinct one once.

A row is a vector and its input projection in the first layer of the stack LSTM. The first rows are
those of the labels, by the column that opens them. The others are constituents that were composed
since the last word. If compositions are shared, constituents of equal content have one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor


class ComposedContents:
    """Rows of a table that grows until :meth:`forget`.

    ``first``: the rows that are always there; ``is_shared``: whether keys of contents are known.
    """

    def __init__(self, first: Tensor, *, is_shared: bool) -> None:
        self._first = len(first)
        self._is_shared = is_shared
        self._rows = first
        self._size = len(first)
        self._known: dict[int, int] = {}

    def rows(self, places: Tensor) -> Tensor:
        """Return rows by their places; the first places are columns."""
        return self._rows.index_select(0, places)

    def places(
        self,
        keys: Sequence[int],
        counts: Sequence[int],
        compose: Callable[[list[int]], Tensor],
    ) -> Tensor:
        """Return the place of each constituent, given by its key and its number of children.

        ``compose`` returns the rows of new constituents, whose numbers it is given, ordered by
        their number of children, largest first.
        """
        if not self._is_shared:
            self.forget()
            keys = range(len(counts))
        known = self._known
        # The last of equal constituents stands for all.
        new = {key: number for number, key in enumerate(keys) if key not in known}
        if new:
            chosen = sorted(new.items(), key=lambda item: -counts[item[1]])
            self._add(compose([number for _, number in chosen]))
            begin = self._size - len(chosen)
            known.update((key, begin + rank) for rank, (key, _) in enumerate(chosen))
        places = np.fromiter(map(known.__getitem__, keys), dtype=np.int64, count=len(keys))
        return torch.from_numpy(places).to(self._rows.device)

    def _add(self, rows: Tensor) -> None:
        end = self._size + len(rows)
        if end > len(self._rows):
            grown = self._rows.new_empty((max(end, 2 * len(self._rows)), self._rows.shape[1]))
            grown[: self._size] = self._rows[: self._size]
            self._rows = grown
        self._rows[self._size : end] = rows
        self._size = end

    def forget(self) -> None:
        """Drop all constituents, none of which can recur after the next word."""
        self._size = self._first
        self._known.clear()
