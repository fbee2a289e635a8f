"""Keys and values of the symbols that hypotheses have read since the last word."""

from __future__ import annotations

import torch
from torch import Tensor

_FIRST_CAPACITY = 1024

# The row that stands for no symbol.
NO_SYMBOL = 0


class SymbolMemory:
    """Rows of keys and values, ``(layers, rows, 2 · hidden)``; the first row stands for no symbol.

    With ``is_fixed``, rows are counted on the device, and neither shapes nor addresses change from
    symbol to symbol, as long as the capacity suffices; :meth:`clear` reserves as much as was ever
    needed.
    """

    def __init__(
        self, layers: int, hidden: int, *, dtype: torch.dtype, device: torch.device, is_fixed: bool
    ) -> None:
        self._is_fixed = is_fixed
        # What no symbol reads is multiplied by zero, so it must be finite.
        shape = (layers, _FIRST_CAPACITY, 2 * hidden)
        self._rows = torch.zeros(shape, dtype=dtype, device=device)
        self._size = self._most = 1
        self._count = torch.ones(1, dtype=torch.long, device=device)
        self._order = torch.zeros(0, dtype=torch.long, device=device)
        self._new = slice(1, 1)

    @property
    def row_bytes(self) -> int:
        """Memory of a row in bytes."""
        return self._rows.shape[0] * self._rows.shape[2] * self._rows.element_size()

    def __len__(self) -> int:
        return self._size

    def ready(self, count: int) -> tuple[Tensor, ...]:
        """Make room for ``count`` more rows; return all that is read and written then."""
        self._most = max(self._most, self._size + count)
        self._reserve()
        if self._is_fixed and count > len(self._order):
            self._order = torch.arange(count, device=self._rows.device)
        return self._rows, self._order, self._count

    def recount(self, added: int) -> None:
        """Count rows that were added on the device, or take back a count."""
        self._size += added

    def add(self, count: int) -> Tensor:
        """Return the numbers of ``count`` new rows, which :meth:`write` fills layer by layer."""
        self.ready(count)
        self._new = slice(self._size, self._size + count)
        self._size += count
        if not self._is_fixed:
            return torch.arange(self._new.start, self._new.stop, device=self._rows.device)
        rows = self._order[:count] + self._count
        self._count += count
        return rows

    def write(self, layer: int, rows: Tensor, values: Tensor) -> None:
        """Write the ``(rows, 2 · hidden)`` keys and values of the rows that were added last."""
        if self._is_fixed:
            self._rows[layer].index_copy_(0, rows, values)
        else:
            self._rows[layer, self._new] = values

    def at(self, layer: int, rows: Tensor) -> Tensor:
        """``(rows, …, 2 · hidden)`` keys and values of a layer."""
        return self._rows[layer].index_select(0, rows.flatten()).view(*rows.shape, -1)

    def all_layers(self, rows: Tensor) -> Tensor:
        """``(layers, rows, …, 2 · hidden)`` keys and values."""
        found = self._rows.index_select(1, rows.flatten())
        return found.view(len(found), *rows.shape, -1)

    def clear(self) -> None:
        """Drop all symbols."""
        self._size = 1
        self._count.fill_(1)

    def _reserve(self) -> None:
        capacity = self._rows.shape[1]
        if self._most <= capacity:
            return
        layers, _, width = self._rows.shape
        grown = self._rows.new_zeros((layers, max(self._most, 2 * capacity), width))
        grown[:, :capacity] = self._rows
        self._rows = grown
