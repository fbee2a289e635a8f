"""Divide a batch over the processes of a distributed training.

All processes plan the same batches, and each takes a share of every batch: the shares together are
the batch that a single process would take.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar, overload

import numpy as np
import torch

from gardenpath.data.arrays import Ints
from gardenpath.data.batches.tensor_batch import TensorBatch

_Batch = TypeVar("_Batch", bound=TensorBatch)


def share_of(batch: Ints, lengths: Ints, *, shard: int, shards: int) -> Ints:
    """Return the sentences of a batch that one of the processes takes, in the order of the batch.

    Long sentences are dealt first, each to the process with the fewest tokens so far, so that
    numbers of tokens differ by one sentence at most. A share is empty if the batch has fewer
    sentences than there are processes.
    """
    if shards == 1:
        return batch
    # One position more than the words, for the begin or end symbol.
    widths = lengths[batch] + 1
    loads = [(0, number) for number in range(shards)]
    taken = []
    for place in np.argsort(-widths, kind="stable").tolist():
        load, number = loads[0]
        heapq.heapreplace(loads, (load + int(widths[place]), number))
        if number == shard:
            taken.append(place)
    return batch[np.array(sorted(taken), dtype=np.int64)]


class SharedPlan(Sequence[Ints]):
    """The shares of one process of all batches of a plan, computed when they are asked for.

    Instead of an empty share, it contains the first sentence of the batch, which does not count.
    """

    def __init__(self, plan: Sequence[Ints], lengths: Ints, *, shard: int, shards: int) -> None:
        self._plan = plan
        self._lengths = lengths
        self._shard = shard
        self._shards = shards

    def __len__(self) -> int:
        return len(self._plan)

    @overload
    def __getitem__(self, number: int) -> Ints: ...

    @overload
    def __getitem__(self, number: slice) -> list[Ints]: ...

    def __getitem__(self, number: int | slice) -> Ints | list[Ints]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        batch = self._plan[number]
        if not self.is_counted(number):
            return batch[:1]
        return share_of(batch, self._lengths, shard=self._shard, shards=self._shards)

    def is_counted(self, number: int) -> bool:
        """Whether the share of a batch, given by number, is not empty."""
        return self._shard < len(self._plan[number])  # the longest sentences go to one each


@dataclass(frozen=True, slots=True)
class Uncounted(Generic[_Batch]):
    """A batch for a process whose share is empty.

    All processes must compute gradients in each step, so the process computes those of a sentence
    of the batch, with weight zero.
    """

    batch: _Batch

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Self:
        """Move the batch to a device."""
        return type(self)(self.batch.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """Pin the batch, for asynchronous copies to a GPU."""
        return type(self)(self.batch.pin_memory())
