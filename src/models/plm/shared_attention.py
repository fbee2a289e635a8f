"""Attention to a history shared between hypotheses.

The symbols that the survivors of the last word had read are stored in one block of keys and values
per group, each symbol once, with a mask that says which survivor has read which symbol. The symbols
read since then form a chain of nodes in an arena. A new symbol attends to the block through the
mask of the survivor it descends from, to its chain, and to itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gardenpath.models.states.arena import Arena


@dataclass(frozen=True)
class Blocks:
    """The symbols read up to the last word, by group.

    ``keys`` and ``values``: ``(layers, groups, heads, places, width)``; ``is_read``:
    ``(groups, beam, places)``; ``position`` of each place in its sentence: ``(groups, places)``.
    """

    keys: Tensor
    values: Tensor
    is_read: Tensor
    position: Tensor

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.position)

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
        position=torch.zeros((1, 0), dtype=torch.long, device=device),
    )


@dataclass(frozen=True)
class Survivors:
    """``(groups, beam)`` hypotheses whose history is kept.

    ``source``: ``(groups,)`` their previous block; ``slot``: their mask in it; ``chain``:
    ``(groups, beam, steps)`` nodes read since then; ``is_link``: whether each of them exists.
    """

    source: Tensor
    slot: Tensor
    is_alive: Tensor
    chain: Tensor
    is_link: Tensor


def compacted(old: Blocks, survivors: Survivors, arena: Arena) -> Blocks:
    """Build new blocks from the places of the old ones that are still needed and the chains."""
    groups, beam, steps = survivors.chain.shape
    read = old.is_read[survivors.source.unsqueeze(1), survivors.slot]
    read = read & survivors.is_alive.unsqueeze(2)
    is_needed = torch.cat([read.any(1), survivors.is_link.flatten(1)], dim=1)
    places = int(is_needed.sum(1).max())
    # The needed places move to the front, in order.
    order = (~is_needed).to(torch.int8).argsort(dim=1, stable=True)[:, :places]
    is_mine = torch.eye(beam, dtype=torch.bool, device=read.device).view(1, beam, beam, 1)
    own = survivors.is_link.unsqueeze(1) & is_mine
    seen = torch.cat([read, own.view(groups, beam, beam * steps)], dim=2)
    nodes = survivors.chain.flatten(1).gather(1, (order - old.places).clamp(min=0))
    move = _Move(survivors.source, order, order < old.places, nodes)
    return Blocks(
        keys=move.vectors(old.keys, arena["keys"]),
        values=move.vectors(old.values, arena["values"]),
        is_read=seen.gather(2, order.unsqueeze(1).expand(-1, beam, -1)),
        position=move.numbers(old.position, arena["position"]),
    )


@dataclass(frozen=True)
class _Move:
    """The origin of each place of the new blocks: a place of an old block, or a node."""

    source: Tensor
    place: Tensor
    is_old: Tensor
    node: Tensor

    def numbers(self, old: Tensor, new: Tensor) -> Tensor:
        """``(groups, places)``."""
        if not old.shape[1]:
            return new[self.node]
        kept = old[self.source].gather(1, self.place.clamp(max=old.shape[1] - 1))
        return torch.where(self.is_old, kept, new[self.node])

    def vectors(self, old: Tensor, new: Tensor) -> Tensor:
        """``(layers, groups, heads, places, width)``."""
        layers, _, heads, places, width = old.shape
        added = new[self.node].unflatten(3, (heads, width)).permute(2, 0, 3, 1, 4)
        if not places:
            first: Tensor = added.contiguous()
            return first
        groups = len(self.source)
        index = self.place.clamp(max=places - 1).view(1, groups, 1, -1, 1)
        kept = old[:, self.source].gather(3, index.expand(layers, -1, heads, -1, width))
        result: Tensor = torch.where(self.is_old.view(1, groups, 1, -1, 1), kept, added)
        return result


@dataclass(frozen=True)
class QueryRows:
    """New symbols, one per row.

    ``grid``: the position of each row in a ``(groups, width)`` grid; ``chain``: ``(rows, steps)``
    nodes read since the last word. ``far`` and ``near`` are additive masks, ``(rows, heads or 1,
    places)`` over the block and ``(rows, heads or 1, steps + 1)`` over the chain and the symbol.
    """

    grid: Tensor
    width: int
    chain: Tensor
    far: Tensor
    near: Tensor


class SharedAttention:
    """Attention of new symbols, layer by layer."""

    def __init__(self, blocks: Blocks, arena: Arena, rows: QueryRows) -> None:
        self._blocks = blocks
        self._arena = arena
        self._rows = rows

    def __call__(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Return ``(rows, hidden)`` outputs for ``(rows, hidden)`` queries, keys and values."""
        blocks, rows = self._blocks, self._rows
        heads, width = blocks.keys.shape[2], blocks.keys.shape[4]
        query = query.unflatten(1, (heads, width)) / math.sqrt(width)
        near_keys = self._near("keys", layer, key, heads)
        near_values = self._near("values", layer, value, heads)
        near = (near_keys @ query.unsqueeze(3)).squeeze(3) + rows.near
        far = self._to_rows(self._to_grid(query) @ blocks.keys[layer].transpose(2, 3)) + rows.far
        weight = torch.cat([far, near], dim=2).softmax(2)
        far, near = weight.split([blocks.places, near.shape[2]], dim=2)
        mixed = self._to_rows(self._to_grid(far) @ blocks.values[layer])
        mixed = mixed + (near.unsqueeze(2) @ near_values).squeeze(2)
        result: Tensor = mixed.flatten(1)
        return result

    def _near(self, column: str, layer: int, own: Tensor, heads: int) -> Tensor:
        """``(rows, heads, steps + 1, width)`` keys or values of the chain and of the symbol."""
        past = self._arena[column][:, layer][self._rows.chain]
        both = torch.cat([past, own.unsqueeze(1)], dim=1)
        result: Tensor = both.unflatten(2, (heads, -1)).transpose(1, 2)
        return result

    def _to_grid(self, values: Tensor) -> Tensor:
        """``(rows, heads, n)`` to ``(groups, heads, rows of a group, n)``."""
        rows, groups = self._rows, self._blocks.groups
        grid = values.new_zeros((groups * rows.width, *values.shape[1:]))
        grid = grid.index_copy(0, rows.grid, values)
        result: Tensor = grid.unflatten(0, (groups, rows.width)).transpose(1, 2)
        return result

    def _to_rows(self, grid: Tensor) -> Tensor:
        """Invert :meth:`_to_grid`."""
        return grid.transpose(1, 2).flatten(0, 1).index_select(0, self._rows.grid)


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Return zero where the mask is true and ``-inf`` elsewhere."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -torch.inf)
