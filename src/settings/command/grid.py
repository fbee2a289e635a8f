"""The grid of an experiment: blocks of values, each of which is a sweep.

A sweep trains every combination of its values. The models of a paper are not such a product if, for
example, some have three seeds and others two, so an experiment lists several blocks:

    _grid:
      - {data: [ctb, xinhua], model: ngram, seed: 1}
      - {data: [ctb, xinhua], model: [lstm, plm], seed: [1, 2, 3]}

Values on the command line select from the grid or, if the grid does not have them, replace its
values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gardenpath.errors import ConfigError

# Values by setting; a block is the product of its values.
GridBlock = dict[str, list[str]]


def read_grid(content: Any) -> list[GridBlock]:
    """Read the blocks of a configuration file; an empty list if it has none."""
    if content is None:
        return []
    is_right = isinstance(content, Sequence) and all(isinstance(one, Mapping) for one in content)
    if not is_right or not content:
        raise ConfigError(["_grid must be a list of blocks such as {model: [lstm, rnng], seed: 1}"])
    return [{str(key): _values(value) for key, value in block.items()} for block in content]


def _values(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def swept_in(grid: Sequence[GridBlock]) -> frozenset[str]:
    """Return the settings that differ between jobs of a grid, whichever of its blocks are run."""
    values: dict[str, set[str]] = {}
    for block in grid:
        for name, found in block.items():
            values.setdefault(name, set()).update(found)
    return frozenset(name for name, found in values.items() if len(found) > 1)


def narrowed(grid: Sequence[GridBlock], given: Mapping[str, Sequence[str]]) -> list[GridBlock]:
    """Return the blocks that remain with the values given on the command line.

    Values of the grid select its blocks: with ``model=rnng``, only the seeds of rnng remain. Values
    that the grid does not have replace those of all blocks that have the setting: with
    ``data=toy_mandarin``, all models are trained on another corpus.
    """
    blocks = [dict(block) for block in grid]
    for name, values in given.items():
        known = {value for block in blocks for value in block.get(name, ())}
        if not known:
            continue
        if known.issuperset(values):
            kept = [_selected(block, name, values) for block in blocks]
            blocks = [block for block in kept if all(block.values())]
        else:
            blocks = [{**block, name: list(values)} if name in block else block for block in blocks]
    return [
        block
        for place, block in enumerate(blocks)
        if not any(_is_within(block, other) for other in blocks[:place])
        and not any(_is_within(block, other) and block != other for other in blocks[place + 1 :])
    ]


def _selected(block: GridBlock, name: str, values: Sequence[str]) -> GridBlock:
    if name not in block:
        return block
    return {**block, name: [value for value in block[name] if value in values]}


def _is_within(block: GridBlock, other: GridBlock) -> bool:
    """Whether another block contains all combinations of a block."""
    return block.keys() == other.keys() and all(
        set(values) <= set(other[name]) for name, values in block.items()
    )
