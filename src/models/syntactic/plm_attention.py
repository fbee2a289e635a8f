"""Keys and values of hypotheses, and attention to them: what a PLM remembers during a search.

Used by :mod:`plm_search` alone. The symbols since the last word are rows of a memory; those before
are in one block per group, with a mask that says which survivor has read which.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

_FIRST_CAPACITY = 1024

# The row that stands for no symbol.
NO_SYMBOL = 0


class SymbolMemory:
    """``(layers, rows, 2 · hidden)`` keys and values; the first row stands for no symbol."""

    def __init__(
        self, layers: int, hidden: int, *, dtype: torch.dtype, device: torch.device
    ) -> None:
        # What no symbol reads is multiplied by zero, so it must be finite.
        shape = (layers, _FIRST_CAPACITY, 2 * hidden)
        self._rows = torch.zeros(shape, dtype=dtype, device=device)
        self._size = 1
        self._new = slice(1, 1)

    @property
    def row_bytes(self) -> int:
        """Memory of a row in bytes."""
        return self._rows.shape[0] * self._rows.shape[2] * self._rows.element_size()

    def add(self, count: int) -> Tensor:
        """Return the numbers of ``count`` new rows, which :meth:`write` fills layer by layer."""
        self._new = slice(self._size, self._size + count)
        self._size += count
        layers, capacity, width = self._rows.shape
        if self._size > capacity:
            grown = self._rows.new_zeros((layers, max(self._size, 2 * capacity), width))
            grown[:, :capacity] = self._rows
            self._rows = grown
        return torch.arange(self._new.start, self._new.stop, device=self._rows.device)

    def write(self, layer: int, values: Tensor) -> None:
        """Write the ``(rows, 2 · hidden)`` keys and values of the rows that were added last."""
        self._rows[layer, self._new] = values

    def at(self, layer: int, rows: Tensor) -> Tensor:
        """``(rows, …, 2 · hidden)`` keys and values of a layer."""
        return self._rows[layer].index_select(0, rows.flatten()).view(*rows.shape, -1)

    def all_layers(self, rows: Tensor) -> Tensor:
        """``(layers, rows, …, 2 · hidden)`` keys and values."""
        read = self._rows.index_select(1, rows.flatten())
        return read.view(len(read), *rows.shape, -1)

    def clear(self) -> None:
        """Drop all symbols."""
        self._size = 1


# ----------------------------------------------------------------------------
# The history that hypotheses share: every symbol once per group.


@dataclass(frozen=True)
class Blocks:
    """The symbols read up to the last word, by group.

    ``keys`` and ``values``: ``(layers, groups, heads, places, width)``; ``is_read``:
    ``(groups, beam, places)``; ``hidden``: ``(groups · beam, places)``, ``-inf`` where a survivor
    has not read a place, else zero; ``position`` of each place in its sentence:
    ``(groups, places)``.
    """

    keys: Tensor
    values: Tensor
    is_read: Tensor
    hidden: Tensor
    position: Tensor

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.position)

    @property
    def beam(self) -> int:
        """Number of survivors of a group."""
        return self.is_read.shape[1]

    @property
    def places(self) -> int:
        """Number of symbols of the largest group."""
        return self.position.shape[1]


def empty_blocks(
    *, layers: int, heads: int, width: int, device: torch.device, dtype: torch.dtype
) -> Blocks:
    """Return one group that has read nothing."""
    keys = torch.zeros((layers, 1, heads, 0, width), dtype=dtype, device=device)
    return Blocks(
        keys=keys,
        values=keys,
        is_read=torch.zeros((1, 1, 0), dtype=torch.bool, device=device),
        hidden=torch.zeros((1, 0), dtype=dtype, device=device),
        position=torch.zeros((1, 0), dtype=torch.long, device=device),
    )


@dataclass(frozen=True)
class Survivors:
    """``(groups, beam)`` hypotheses whose history is kept.

    ``number``: the survivor of the last word that they descend from; ``position`` of their last
    symbol; ``chain``: ``(groups, beam, steps)`` rows of the memory that they read since then,
    latest first, :data:`NO_SYMBOL` where there is none. Hypotheses that are not alive have no
    chain.
    """

    number: Tensor
    is_alive: Tensor
    position: Tensor
    chain: Tensor


@dataclass(frozen=True)
class Plan:
    """Where the places of new blocks come from.

    ``most``: ``(1,)`` number of places of the largest group. ``is_needed``: ``(groups, old places +
    new symbols)``; ``symbol``: ``(groups, new symbols)`` rows of the memory, each needed one once.
    ``place``: ``(groups, beam, steps)`` place of each link of a chain. ``read``: ``(groups, beam,
    old places)``.
    """

    most: Tensor
    is_needed: Tensor
    symbol: Tensor
    place: Tensor
    read: Tensor
    source: Tensor


def planned(old: Blocks, survivors: Survivors) -> Plan:
    """Decide which places are needed; symbols that several survivors have read are needed once."""
    groups, beam, _ = survivors.chain.shape
    read = old.is_read.flatten(0, 1).index_select(0, survivors.number.flatten())
    read = read.view(groups, beam, -1) & survivors.is_alive.unsqueeze(2)
    symbol, origin = survivors.chain.flatten(1).sort(dim=1)
    is_first = symbol != NO_SYMBOL
    is_first[:, 1:] &= symbol[:, 1:] != symbol[:, :-1]
    is_needed = torch.cat([read.any(1), is_first], dim=1)
    place = is_needed.cumsum(1)
    return Plan(
        most=place[:, -1].amax(0, keepdim=True),
        is_needed=is_needed,
        symbol=symbol,
        # Equal symbols are adjacent, and have the place of the first of them.
        place=torch.empty_like(origin)
        .scatter_(1, origin, place[:, old.places :] - 1)
        .view_as(survivors.chain),
        read=read,
        # All live hypotheses of a group have the same source; that of others is the root's.
        source=(survivors.number // old.beam).amax(1),
    )


def compacted(
    old: Blocks, survivors: Survivors, plan: Plan, memory: SymbolMemory, *, places: int
) -> Blocks:
    """Build new blocks of so many places from the needed places of the old ones and the memory."""
    # The needed places move to the front, in order: those of the old block, and symbols.
    order = (~plan.is_needed).to(torch.int8).argsort(dim=1, stable=True)[:, :places]
    is_old, place = order < old.places, order.clamp(max=max(old.places - 1, 0))
    groups, beam, steps = survivors.chain.shape
    # One more place is for links that do not exist.
    is_read = plan.read.new_zeros((groups, beam, places + 1))
    position = survivors.position.new_zeros((groups, places + 1))
    if old.places:
        index = place.unsqueeze(1).expand(-1, beam, -1)
        is_read[..., :places] = plan.read.gather(2, index) & is_old.unsqueeze(1)
        position[:, :places] = old.position[plan.source].gather(1, place)
    link = plan.place.masked_fill(survivors.chain == NO_SYMBOL, places)
    is_read.scatter_(2, link, True)
    back = torch.arange(steps, device=place.device)
    position.scatter_(1, link.flatten(1), (survivors.position.unsqueeze(2) - back).flatten(1))
    is_read = is_read[..., :places]
    symbol = plan.symbol.gather(1, (order - old.places).clamp(min=0))
    # (layers, groups, places, 2, heads, width)
    added = memory.all_layers(symbol).unflatten(3, (2, old.keys.shape[2], -1))

    def moved(vectors: Tensor, new: Tensor) -> Tensor:
        layers, _, heads, _, width = vectors.shape
        if old.places:
            index = place.view(1, groups, 1, -1, 1).expand(layers, -1, heads, -1, width)
            kept = vectors[:, plan.source].gather(3, index)
            new = torch.where(is_old.view(1, groups, 1, -1, 1), kept, new)
        return new.contiguous()

    hidden = torch.zeros_like(is_read, dtype=old.keys.dtype).masked_fill_(~is_read, -torch.inf)
    return Blocks(
        keys=moved(old.keys, added[:, :, :, 0].transpose(2, 3)),
        values=moved(old.values, added[:, :, :, 1].transpose(2, 3)),
        is_read=is_read,
        hidden=hidden.flatten(0, 1),
        position=position[:, :places],
    )


# ----------------------------------------------------------------------------
# A new symbol attends to the block of its group, through the mask of the survivor that it descends
# from, and to the symbols read since then, of which it is the last.


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
