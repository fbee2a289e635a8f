"""Append-only rows in tensors that grow together."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

_Column = tuple[tuple[int, ...], torch.dtype]

_FIRST_CAPACITY = 1024


class Arena:
    """Named columns of equal length; a row is addressed by its number."""

    def __init__(self, columns: Mapping[str, _Column], device: torch.device) -> None:
        self._columns = dict(columns)
        self._device = device
        self._tensors = {name: self._empty(name, _FIRST_CAPACITY) for name in columns}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, name: str) -> Tensor:
        """Return the rows of a column."""
        return self._tensors[name][: self._size]

    @property
    def row_bytes(self) -> int:
        """Memory of a row in bytes."""
        return sum(t[0].numel() * t.element_size() for t in self._tensors.values())

    def append(self, **rows: Tensor) -> Tensor:
        """Append rows and return their numbers; all columns must be given."""
        count = len(next(iter(rows.values())))
        self._reserve(self._size + count)
        for name, values in rows.items():
            self._tensors[name][self._size : self._size + count] = values
        self._size += count
        return torch.arange(self._size - count, self._size, device=self._device)

    def keep(self, rows: Tensor) -> None:
        """Drop all other rows; the kept rows are renumbered in the given order."""
        kept = {name: self[name].index_select(0, rows) for name in self._tensors}
        # The memory is kept, because as much will be needed again.
        self._size = 0
        self.append(**kept)

    def _reserve(self, size: int) -> None:
        capacity = len(next(iter(self._tensors.values())))
        if size <= capacity:
            return
        for name, tensor in self._tensors.items():
            grown = self._empty(name, max(size, 2 * capacity))
            grown[: self._size] = tensor[: self._size]
            self._tensors[name] = grown

    def _empty(self, name: str, rows: int) -> Tensor:
        shape, dtype = self._columns[name]
        return torch.empty((rows, *shape), dtype=dtype, device=self._device)
