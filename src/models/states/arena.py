"""Append-only rows of states: one matrix of floating-point columns and one of integer columns."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

_FIRST_CAPACITY = 1024


class Arena:
    """Named columns of equal length; a row is addressed by its number.

    ``floats`` and ``numbers`` give the width of each column. New rows are written into the place
    that :meth:`room` returns and become part of the arena by :meth:`append`. With ``is_fixed``,
    their numbers are counted on the device and neither shapes nor addresses change from one
    :meth:`append` to the next, as long as the capacity suffices; :meth:`keep` then reserves as much
    as was ever appended between two calls of it.
    """

    def __init__(
        self,
        *,
        floats: Mapping[str, int],
        numbers: Mapping[str, int],
        dtype: torch.dtype,
        device: torch.device,
        is_fixed: bool = False,
    ) -> None:
        self._slices = {**_slices(floats), **_slices(numbers)}
        self._is_float = {**dict.fromkeys(floats, True), **dict.fromkeys(numbers, False)}
        self._is_fixed = is_fixed
        self._floats = torch.empty(
            (_FIRST_CAPACITY, sum(floats.values())), dtype=dtype, device=device
        )
        self._numbers = torch.empty(
            (_FIRST_CAPACITY, sum(numbers.values())), dtype=torch.long, device=device
        )
        self._size = 0
        # Rows of the last call of ``keep``, and the maximum number appended after one.
        self._kept, self._most_new = 0, 0
        # With fixed shapes: the size on the device, and where rows are written before they are
        # appended.
        self._count = torch.zeros(1, dtype=torch.long, device=device)
        self._new_floats, self._new_numbers = self._floats[:0], self._numbers[:0]
        self._order = torch.zeros(0, dtype=torch.long, device=device)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, name: str) -> Tensor:
        """``(rows, width)`` or, for a width of one number, ``(rows,)``: a view of a column.

        With fixed shapes, there are rows after the last one, whose content is arbitrary.
        """
        return self.column(self.floats if self._is_float[name] else self.numbers, name)

    def column(self, rows: Tensor, name: str) -> Tensor:
        """Return a column of some rows, all of whose floats or numbers are given."""
        place = self._slices[name]
        if place.stop - place.start == 1 and not self._is_float[name]:
            return rows[:, place.start]
        return rows[:, place]

    def columns(self, rows: Tensor, first: str, last: str) -> Tensor:
        """Return adjacent columns of some rows, side by side."""
        return rows[:, self._slices[first].start : self._slices[last].stop]

    @property
    def floats(self) -> Tensor:
        """All floating-point columns."""
        return self._floats if self._is_fixed else self._floats[: self._size]

    @property
    def numbers(self) -> Tensor:
        """All integer columns."""
        return self._numbers if self._is_fixed else self._numbers[: self._size]

    @property
    def row_bytes(self) -> int:
        """Memory of a row in bytes."""
        matrices = (self._floats, self._numbers)
        return sum(matrix.shape[1] * matrix.element_size() for matrix in matrices)

    def room(self, count: int) -> tuple[Tensor, Tensor]:
        """Return the floats and the numbers of ``count`` new rows, to be written."""
        self.reserve(self._size + count)
        if not self._is_fixed:
            new = slice(self._size, self._size + count)
            return self._floats[new], self._numbers[new]
        if count > len(self._order):
            self._new_floats = self._floats.new_empty((count, self._floats.shape[1]))
            self._new_numbers = self._numbers.new_empty((count, self._numbers.shape[1]))
            self._order = torch.arange(count, device=self._numbers.device)
        return self._new_floats[:count], self._new_numbers[:count]

    def ready(self, count: int, times: int) -> tuple[Tensor, ...]:
        """Make room for ``count`` rows so many times; return all that is read and written then."""
        self.reserve(self._size + count * times)
        self.room(count)
        return (
            self._floats, self._numbers, self._new_floats, self._new_numbers, self._order,
            self._count,
        )  # fmt: skip

    def recount(self, added: int) -> None:
        """Count rows that were appended on the device, or take back a count."""
        self._size += added
        self._most_new = max(self._most_new, self._size - self._kept)

    def append(self, count: int) -> Tensor:
        """Append the rows that were written into :meth:`room`; return their numbers."""
        begin = self._size
        self.recount(count)
        if not self._is_fixed:
            return torch.arange(begin, self._size, device=self._numbers.device)
        rows = self._order[:count] + self._count
        self._floats.index_copy_(0, rows, self._new_floats[:count])
        self._numbers.index_copy_(0, rows, self._new_numbers[:count])
        self._count += count
        return rows

    def keep(self, rows: Tensor) -> None:
        """Drop all other rows; the kept rows are renumbered in the given order."""
        floats, numbers = self._floats.index_select(0, rows), self._numbers.index_select(0, rows)
        # The memory is kept, because as much will be needed again.
        self._size = self._kept = len(rows)
        self.reserve(self._size + (self._most_new if self._is_fixed else 0))
        self._floats[: self._size] = floats
        self._numbers[: self._size] = numbers
        self._count.fill_(self._size)

    def widen(self, name: str, width: int) -> None:
        """Append zeros to the last integer column, ``name``, so that it has the given width."""
        begin = self._slices[name].start
        assert self._slices[name].stop == self._numbers.shape[1]
        added = begin + width - self._numbers.shape[1]
        self._slices[name] = slice(begin, begin + width)
        self._numbers = functional.pad(self._numbers, (0, added))
        self._new_numbers = functional.pad(self._new_numbers, (0, added))

    def clear(self) -> None:
        """Drop all rows."""
        self._size = self._kept = 0
        self._count.zero_()

    def reserve(self, size: int) -> None:
        """Make room for ``size`` rows in total."""
        capacity = len(self._floats)
        if size <= capacity:
            return
        grown = max(size, 2 * capacity)
        self._floats = _grown(self._floats, grown)
        self._numbers = _grown(self._numbers, grown)


def _slices(widths: Mapping[str, int]) -> dict[str, slice]:
    begin, result = 0, {}
    for name, width in widths.items():
        result[name] = slice(begin, begin + width)
        begin += width
    return result


def _grown(matrix: Tensor, rows: int) -> Tensor:
    result = matrix.new_empty((rows, matrix.shape[1]))
    result[: len(matrix)] = matrix
    return result
