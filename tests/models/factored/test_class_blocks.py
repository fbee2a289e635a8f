"""Rows in blocks of one class."""

from __future__ import annotations

import pytest
import torch

from gardenpath.models.output import class_blocks


@pytest.mark.parametrize("size", [1, 3, 32])
@pytest.mark.parametrize("rows", [0, 1, 5, 200])
@pytest.mark.parametrize("count", [1, 4, 50])
def test_every_row_has_a_place_in_a_block_of_its_class(size: int, rows: int, count: int) -> None:
    random = torch.Generator().manual_seed(rows + count)
    classes = torch.randint(count, (rows,), generator=random)
    blocks, place = class_blocks(classes, count, size=size)
    assert len(place.unique()) == rows
    assert torch.equal(blocks[place // size], classes)
    # Blocks are full except for the last of each class.
    needed = sum(-(-int(total) // size) for total in classes.bincount(minlength=count))
    assert len(blocks) == needed
    most = rows // size + min(count, rows)
    assert needed <= most


@pytest.mark.parametrize("rows", [1, 5, 200])
def test_blocks_that_may_not_be_needed_change_no_place(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU there are as many as could be."""
    classes = torch.randint(9, (rows,), generator=torch.Generator().manual_seed(0))
    blocks, place = class_blocks(classes, 9, size=4)
    more, same = class_blocks(classes, 9, size=4, waits=False)
    assert torch.equal(place, same)
    assert torch.equal(more[: len(blocks)], blocks)
    assert len(more) == rows // 4 + min(9, rows) and (more < 9).all()
