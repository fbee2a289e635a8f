"""Batches of gold trees for composition functions that read the stack.

With these functions, a constituent depends on the state of the stack when it is closed, so
everything depends on all earlier actions: the levels are time steps (moments). Rows are dense all
the same: a sentence that has ended takes no rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from gardenpath.data.arrays import Bools, Ints
from gardenpath.data.batches.stack_plan import CONSTITUENT, StackPlan
from gardenpath.data.batches.tree_batches import (
    Assembly,
    Sizes,
    StackBatch,
    StackCollate,
    as_tensors,
    level_sizes,
)
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.trees.actions import Strategy


@dataclass(frozen=True, slots=True)
class TimedTreeBatch(StackBatch):
    """Trees whose constituents depend on their children and on the stack.

    Children are sorted by moment, position and constituent, as in packed sequences:
    ``child_vector`` and ``child_constituent`` (numbered within its moment). ``child_steps`` gives,
    for each moment, the number of constituents that have a first child, a second child, and so on.
    ``constituent_top`` is the stack row in whose state a constituent is closed.
    """

    child_vector: Tensor
    child_constituent: Tensor
    constituent_top: Tensor
    child_steps: tuple[Sizes, ...]


def timed_tree_collate(
    split: EncodedSplit,
    *,
    strategy: Strategy,
    label_count: int,
    is_continuation: Bools | None = None,
) -> StackCollate[TimedTreeBatch]:
    """Return the function that collates sentences of a split, given by number.

    ``is_continuation``, by token id, is given for models over pieces.
    """

    def build(taken: EncodedSplit, plan: StackPlan, sentences: Ints) -> TimedTreeBatch:
        return _TimeAssembly(taken, levels_by_time(plan), sentences, label_count).batch()

    return StackCollate(split, strategy=strategy, build=build, is_continuation=is_continuation)


def levels_by_time(plan: StackPlan) -> StackPlan:
    """Schedule elements after all earlier ones, and constituents at their own element."""
    counts = np.diff(plan.element_offsets)
    moment = np.arange(len(plan.kind)) - np.repeat(plan.element_offsets[:-1], counts)
    sentence = np.repeat(np.arange(len(counts)), counts)
    level = np.zeros_like(plan.level)
    # In-order parsing pushes a first child twice; in reverse order, the first push is kept.
    pushed = np.flatnonzero(plan.kind == CONSTITUENT)[::-1]
    level[plan.constituent_offsets[sentence[pushed]] + plan.item[pushed]] = moment[pushed]
    return replace(plan, depth=moment, level=level)


class _TimeAssembly(Assembly):
    """The schedule of :class:`TimedTreeBatch`."""

    def batch(self) -> TimedTreeBatch:
        order, moments = self.constituent_order, len(self.stack_sizes)
        constituent_sizes = level_sizes(self.level, moments)
        parent = np.repeat(self.constituent_row, self.size)
        first_child = np.concatenate([[0], np.cumsum(self.size)])[:-1]
        position = np.arange(len(parent)) - np.repeat(first_child, self.size)
        moment = np.repeat(self.level, self.size)
        packed = np.lexsort((parent, position, moment))
        first_of_moment = np.concatenate([[0], np.cumsum(constituent_sizes)])
        # A constituent is closed in the state of the element pushed just before it.
        before = self.elements.starts[self.constituents.owner[order]] + self.level[order] - 1
        arrays = {
            "child_vector": self.child_vectors(len(self.types) + self.labels)[packed],
            "child_constituent": (parent - first_of_moment[moment])[packed],
            "constituent_top": self.element_row[before],
        }
        return TimedTreeBatch(
            **self.common(),
            **as_tensors(arrays),
            constituent_sizes=constituent_sizes,
            child_steps=_steps(moment, position, moments),
        )


def _steps(moment: Ints, position: Ints, moments: int) -> tuple[Sizes, ...]:
    counts = np.zeros((moments, int(position.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(counts, (moment, position), 1)
    return tuple(tuple(count for count in row if count) for row in counts.tolist())
