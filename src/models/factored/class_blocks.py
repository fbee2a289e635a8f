"""Softmax over the members of a class, for many rows of different classes at a time.

Rows are sorted by class and divided into blocks of equal size, each of one class. Then the scores
of all members of these classes are one batched matrix product, which reads each class about once.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

# Rows of a block: large ones are padded more, small ones read the weights of a class more often.
_BLOCK = 32
# Maximum number of weights gathered at a time.
_MOST_GATHERED = 1 << 24


def class_blocks(
    classes: Tensor, count: int, *, size: int = _BLOCK, waits: bool = True
) -> tuple[Tensor, Tensor]:
    """Return ``(blocks,)`` classes of blocks, and for each row its ``(rows,)`` place in them.

    ``classes`` are ``(rows,)`` numbers below ``count``; place ``p`` is in block ``p // size``. If
    the host does not wait for their number, there are as many blocks as could be needed.
    """
    totals = torch.zeros(count, dtype=torch.long, device=classes.device)
    totals = totals.index_add(0, classes, torch.ones_like(classes))
    blocks = (totals + size - 1) // size
    ends = blocks.cumsum(0)
    order = classes.argsort(stable=True)
    ordered = classes[order]
    rank = torch.arange(len(classes), device=classes.device) - (totals.cumsum(0) - totals)[ordered]
    place = torch.empty_like(classes)
    place[order] = (ends - blocks)[ordered] * size + rank
    most = len(classes) // size + min(count, len(classes))
    needed = int(ends[-1]) if waits else most
    numbers = torch.arange(needed, device=classes.device)
    return torch.searchsorted(ends, numbers, right=True).clamp(max=count - 1), place


def member_log_prob(
    states: Tensor,
    classes: Tensor,
    targets: Tensor,
    *,
    weight: Tensor,
    bias: Tensor | None,
    members: Tensor,
    is_member: Tensor,
) -> Tensor:
    """``(rows,)`` log probabilities of the member ``targets`` of ``classes``, given the class.

    ``members`` are ``(classes, most)`` rows of ``weight`` and ``bias``, padded where ``is_member``
    is false; every class has at least one.
    """
    width = states.shape[1]
    is_on_host = states.device.type == "cpu"
    block_class, place = class_blocks(classes, len(members), waits=is_on_host)
    grid = states.new_zeros(len(block_class) * _BLOCK, width).index_copy(0, place, states)
    step = max(1, _MOST_GATHERED // (members.shape[1] * width))
    parts = []
    for rows, number in zip(
        grid.view(-1, _BLOCK, width).split(step), block_class.split(step), strict=True
    ):
        chosen = members[number]
        excluded = torch.zeros_like(chosen, dtype=states.dtype)
        excluded = excluded.masked_fill(~is_member[number], -torch.inf)
        if bias is not None:
            excluded = excluded + bias[chosen]
        # Not indexing, whose gradient is slow.
        vectors = functional.embedding(chosen, weight)
        parts.append(torch.baddbmm(excluded.unsqueeze(1), rows, vectors.transpose(1, 2)))
    scores = torch.cat(parts).flatten(0, 1) if parts else grid.new_zeros(0, members.shape[1])
    return -functional.cross_entropy(scores[place], targets, reduction="none")
