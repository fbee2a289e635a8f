"""Attention to a history shared between hypotheses.

A new symbol attends to the block of its group (:mod:`shared_blocks`), through the mask of the
survivor that it descends from, and to the symbols read since then, of which it is the last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gardenpath.models.plm.shared_blocks import Blocks
from gardenpath.models.plm.symbol_memory import SymbolMemory


@dataclass(frozen=True)
class RowGrid:
    """Rows side by side within their groups.

    ``cell``: ``(groups · width,)`` row of each cell, arbitrary for empty cells; ``group`` and
    ``rank`` within it of each row. If all are None, the rows are those of all groups but the
    first, in order, or those of the only group.
    """

    width: int
    cell: Tensor | None = None
    group: Tensor | None = None
    rank: Tensor | None = None


def packed_grid(group: Tensor, groups: int) -> RowGrid:
    """Place rows; their groups are read on the host."""
    of_row = group.cpu().numpy()
    order = of_row.argsort(kind="stable")
    first = np.searchsorted(of_row[order], np.arange(groups))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(of_row)) - first[of_row[order]]
    width = int(rank.max()) + 1
    cell = np.zeros(groups * width, dtype=np.int64)
    cell[of_row * width + rank] = np.arange(len(of_row))
    return RowGrid(
        width=width,
        cell=torch.from_numpy(cell).to(group.device),
        group=group,
        rank=torch.from_numpy(rank).to(group.device),
    )


def even_grid(group: Tensor, groups: int, width: int) -> RowGrid:
    """Place rows of some groups, each of which has ``width`` rows."""
    rows = torch.arange(len(group), device=group.device)
    rank = rows % width
    cell = torch.zeros(groups * width, dtype=torch.long, device=group.device)
    cell = cell.index_copy(0, group * width + rank, rows)
    return RowGrid(width=width, cell=cell, group=group, rank=rank)


class SharedAttention:
    """Attention of new symbols, layer by layer.

    ``chain``: ``(rows, steps)`` rows of the memory, the symbol itself first. ``mask``: additive,
    ``(rows, heads or 1, places + steps)``.
    """

    def __init__(
        self, blocks: Blocks, memory: SymbolMemory, grid: RowGrid, chain: Tensor, mask: Tensor
    ) -> None:
        self._blocks = blocks
        self._memory = memory
        self._grid = grid
        self._chain = chain
        self._mask = mask

    def __call__(self, layer: int, query: Tensor) -> Tensor:
        """Return ``(rows, hidden)`` outputs for ``(rows, hidden)`` queries, already scaled."""
        heads = self._blocks.keys.shape[2]
        # (rows, steps, 2, heads, width)
        near = self._memory.at(layer, self._chain).unflatten(2, (2, heads, -1))
        query = query.unflatten(1, (heads, -1))
        fit = (near[:, :, 0] * query.unsqueeze(1)).sum(3)
        attend = self._in_grid if self._grid.cell is None else self._in_rows
        result: Tensor = attend(layer, query, fit, near[:, :, 1]).flatten(-2)
        return result.view(len(query), -1)

    def _in_grid(self, layer: int, query: Tensor, fit: Tensor, near: Tensor) -> Tensor:
        """Attend with rows that fill the grid, so that a view is enough."""
        blocks, width = self._blocks, self._grid.width
        first = int(blocks.groups > 1)
        keys, values = blocks.keys[layer, first:], blocks.values[layer, first:]

        def grid(rows: Tensor) -> Tensor:
            result: Tensor = rows.unflatten(0, (-1, width))
            return result

        far = grid(query).transpose(1, 2) @ keys.transpose(2, 3)
        scores = torch.cat([far, grid(fit).permute(0, 3, 1, 2)], dim=3)
        weight = scores.add_(grid(self._mask).transpose(1, 2)).softmax(3)
        mixed = weight[..., : blocks.places] @ values
        own = weight[..., blocks.places :].permute(0, 2, 3, 1).unsqueeze(4)
        result: Tensor = (grid(near) * own).sum(2).add_(mixed.transpose(1, 2))
        return result

    def _in_rows(self, layer: int, query: Tensor, fit: Tensor, near: Tensor) -> Tensor:
        """Attend with any rows, which are moved to the grid and back."""
        blocks = self._blocks
        far = self._to_rows(self._to_grid(query) @ blocks.keys[layer].transpose(2, 3))
        scores = torch.cat([far, fit.transpose(1, 2)], dim=2)
        weight = scores.add_(self._mask).softmax(2)
        mixed = self._to_grid(weight[..., : blocks.places]) @ blocks.values[layer]
        own = weight[..., blocks.places :].transpose(1, 2).unsqueeze(3)
        return (near * own).sum(1).add_(self._to_rows(mixed))

    def _to_grid(self, rows: Tensor) -> Tensor:
        """``(rows, heads, n)`` to ``(groups, heads, rows of a group, n)``."""
        assert self._grid.cell is not None
        cells = rows.index_select(0, self._grid.cell)
        result: Tensor = cells.unflatten(0, (-1, self._grid.width)).transpose(1, 2)
        return result

    def _to_rows(self, grid: Tensor) -> Tensor:
        """Invert :meth:`_to_grid`."""
        return grid.transpose(1, 2)[self._grid.group, self._grid.rank]


def may_see(position: Tensor, open_at: Tensor, heads: int) -> Tensor:
    """``(rows, heads, places)``: what structured heads see of ``(rows, places)`` positions.

    The first head sees the symbols before the open constituent, which began at ``open_at``, the
    second the rest, the others all; if no constituent is open, both see everything.
    """
    head = torch.arange(heads, device=position.device).view(1, -1, 1)
    inside = (position >= open_at.unsqueeze(1)).unsqueeze(1)
    nothing = (open_at == 0).view(-1, 1, 1)
    return (inside == (head == 1)) | (head > 1) | nothing
