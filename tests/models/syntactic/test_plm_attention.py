"""Blocks of shared symbols against lists of symbols."""

from __future__ import annotations

import torch
from torch import Tensor

from gardenpath.models.syntactic.plm_search import (
    NO_SYMBOL,
    Blocks,
    Survivors,
    SymbolMemory,
    compacted,
    empty_blocks,
    planned,
)

LAYERS, HEADS, WIDTH = 2, 2, 3
CPU = torch.device("cpu")


def make_memory() -> SymbolMemory:
    return SymbolMemory(LAYERS, HEADS * WIDTH, dtype=torch.float64, device=CPU)


def write_symbols(memory: SymbolMemory, first: int, count: int) -> Tensor:
    """Symbols whose keys tell them apart; values are the negative keys."""
    rows = memory.add(count)
    for layer in range(LAYERS):
        number = (torch.arange(first, first + count).double() + layer / 4).unsqueeze(1)
        both = torch.cat([number, -number], dim=1)
        memory.write(layer, both.repeat_interleave(HEADS * WIDTH, dim=1))
    return rows


def joined(old: Blocks, memory: SymbolMemory, survivors: Survivors) -> Blocks:
    plan = planned(old, survivors)
    return compacted(old, survivors, plan, memory, places=int(plan.most))


def read_by(blocks: Blocks, group: int, slot: int) -> list[tuple[float, int]]:
    """The symbols that a survivor has read, with their positions."""
    is_read = blocks.is_read[group, slot]
    assert torch.equal(is_read, blocks.hidden[group * blocks.beam + slot] == 0)
    keys = blocks.keys[0, group, 0, is_read, 0]
    torch.testing.assert_close(blocks.values[1, group, 1, is_read, 2], -keys - 0.25)
    positions = blocks.position[group, is_read].tolist()
    return sorted(zip(keys.tolist(), positions, strict=True))


def test_what_survivors_have_read() -> None:
    memory = make_memory()
    old = empty_blocks(layers=LAYERS, heads=HEADS, width=WIDTH, device=CPU, dtype=torch.float64)
    (a, b, c, d) = write_symbols(memory, 10, 4).tolist()
    no = NO_SYMBOL
    # Two groups of three: the second survivor shares two symbols, the third is the first again.
    first = joined(
        old, memory,
        Survivors(
            number=torch.zeros((2, 3), dtype=torch.long),
            is_alive=torch.tensor([[True, True, True], [True, False, False]]),
            position=torch.tensor([[2, 3, 2], [1, 0, 0]]),
            chain=torch.tensor([
                [[c, b, a, no], [d, c, b, a], [c, b, a, no]],
                [[d, a, no, no], [no] * 4, [no] * 4],
            ]),
        ),
    )  # fmt: skip
    assert first.places == 4
    assert read_by(first, 0, 0) == read_by(first, 0, 2) == [(10, 0), (11, 1), (12, 2)]
    assert read_by(first, 0, 1) == [(10, 0), (11, 1), (12, 2), (13, 3)]
    assert read_by(first, 1, 0) == [(10, 0), (13, 1)]
    assert read_by(first, 1, 1) == []
    memory.clear()
    (e, f) = write_symbols(memory, 20, 2).tolist()
    # Both new groups come from the first; a symbol that none has read is dropped.
    second = joined(
        first, memory,
        Survivors(
            number=torch.tensor([[0, 2], [0, 1]]),
            is_alive=torch.tensor([[True, True], [False, True]]),
            position=torch.tensor([[3, 4], [0, 4]]),
            chain=torch.tensor([[[e, no], [f, e]], [[no, no], [f, no]]]),
        ),
    )  # fmt: skip
    assert read_by(second, 0, 0) == [(10, 0), (11, 1), (12, 2), (20, 3)]
    assert read_by(second, 0, 1) == [(10, 0), (11, 1), (12, 2), (20, 3), (21, 4)]
    assert read_by(second, 1, 0) == []
    assert read_by(second, 1, 1) == [(10, 0), (11, 1), (12, 2), (13, 3), (21, 4)]
    assert second.places == 5


def test_the_memory_grows_and_is_used_again() -> None:
    memory = make_memory()
    for _ in range(3):
        rows = [write_symbols(memory, 1000 * part, 900) for part in range(4)]
        for part, some in enumerate(rows):
            assert memory.at(0, some)[:, 0].tolist() == [1000.0 * part + n for n in range(900)]
        found = memory.all_layers(torch.tensor([[NO_SYMBOL, int(rows[2][5])]]))
        assert found.shape == (LAYERS, 1, 2, 2 * HEADS * WIDTH)
        assert found[:, 0, :, 0].tolist() == [[0, 2005], [0, 2005.25]]
        memory.clear()
