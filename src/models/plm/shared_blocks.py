"""The history that hypotheses share: every symbol once per group.

The symbols that the survivors of the last word had read are stored in one block of keys and values
per group, with a mask that says which survivor has read which symbol.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gardenpath.models.plm.symbol_memory import NO_SYMBOL, SymbolMemory


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
    # The needed places move to the front, in order.
    order = (~plan.is_needed).to(torch.int8).argsort(dim=1, stable=True)[:, :places]
    is_old = order < old.places
    symbol = plan.symbol.gather(1, (order - old.places).clamp(min=0))
    move = _Move(plan.source, order.clamp(max=max(old.places - 1, 0)), is_old, symbol)
    is_read, position = _read_places(old, survivors, plan, move)
    keys, values = move.keys_and_values(old, memory)
    return Blocks(
        keys=keys,
        values=values,
        is_read=is_read,
        hidden=_additive(is_read, keys.dtype).flatten(0, 1),
        position=position,
    )


def _read_places(
    old: Blocks, survivors: Survivors, plan: Plan, move: _Move
) -> tuple[Tensor, Tensor]:
    """Return which survivor has read which new place, and the positions of the places."""
    groups, beam, steps = survivors.chain.shape
    places = move.place.shape[1]
    # One more place is for links that do not exist.
    is_read = plan.read.new_zeros((groups, beam, places + 1))
    position = survivors.position.new_zeros((groups, places + 1))
    if old.places:
        index = move.place.unsqueeze(1).expand(-1, beam, -1)
        is_read[..., :places] = plan.read.gather(2, index) & move.is_old.unsqueeze(1)
        position[:, :places] = old.position[move.source].gather(1, move.place)
    place = plan.place.masked_fill(survivors.chain == NO_SYMBOL, places)
    is_read.scatter_(2, place, True)
    back = torch.arange(steps, device=place.device)
    position.scatter_(1, place.flatten(1), (survivors.position.unsqueeze(2) - back).flatten(1))
    return is_read[..., :places], position[:, :places]


@dataclass(frozen=True)
class _Move:
    """The origin of each place of the new blocks: a place of an old block, or a symbol."""

    source: Tensor
    place: Tensor
    is_old: Tensor
    symbol: Tensor

    def keys_and_values(self, old: Blocks, memory: SymbolMemory) -> tuple[Tensor, Tensor]:
        """``(layers, groups, heads, places, width)`` each."""
        heads = old.keys.shape[2]
        # (layers, groups, places, 2, heads, width)
        added = memory.all_layers(self.symbol).unflatten(3, (2, heads, -1))
        return (
            self._vectors(old.keys, added[:, :, :, 0].transpose(2, 3)),
            self._vectors(old.values, added[:, :, :, 1].transpose(2, 3)),
        )

    def _vectors(self, old: Tensor, added: Tensor) -> Tensor:
        layers, _, heads, places, width = old.shape
        if not places:
            first: Tensor = added.contiguous()
            return first
        groups = len(self.source)
        index = self.place.view(1, groups, 1, -1, 1)
        kept = old[:, self.source].gather(3, index.expand(layers, -1, heads, -1, width))
        result: Tensor = torch.where(self.is_old.view(1, groups, 1, -1, 1), kept, added)
        return result.contiguous()


def _additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Return zero where the mask is true and ``-inf`` elsewhere."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, -torch.inf)
