"""Batches of gold trees for composition functions that read the stack.

With these functions, a constituent depends on the state of the stack when it is closed, and that
state on everything below it. Top-down, each push therefore waits for the one before. In-order, a
label that is put below its first child waits for neither the child nor its first push.

Only the stack is bound to the order of time. The cells of the bidirectional LSTM over children wait
for the children alone: both directions read words at the first levels, and most constituents are
composed at the level that follows the push of their last child. Each sentence proceeds at its own
pace, so a long constituent holds up no other sentence, and one that has ended takes no rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from gardenpath.data.arrays import Bools, Ints
from gardenpath.data.batches.stack_plan import CONSTITUENT, WORD, StackPlan, plan_stacks
from gardenpath.data.batches.tree_batches import (
    Assembly,
    Sizes,
    StackBatch,
    StackCollate,
    as_tensors,
    inverse,
    level_sizes,
)
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.trees.actions import Strategy


@dataclass(frozen=True, slots=True)
class TimedTreeBatch(StackBatch):
    """Trees whose constituents depend on their children and on the stack.

    At each level, constituents are composed from what earlier levels have computed; then they are
    read by chains of cells and pushed on stacks. ``constituent_top`` is the stack row in whose
    state a constituent is closed.

    Each direction has one cell for each child. The cells that begin a chain come first, one for
    each constituent; all others follow. Both are sorted by level (``*_begin_sizes``, ``*_sizes``).
    A cell reads ``*_vector`` (a word type or, counted from the number of word types, a
    constituent), and one that does not begin a chain follows cell ``*_previous``, which may begin a
    chain at the same level.

    Children, sorted by constituent and position: the cells ``child_forward`` and
    ``child_backward`` that read them, and ``child_constituent``, numbered within its level.
    ``child_sizes`` are the numbers of children of the constituents of each level.
    """

    constituent_top: Tensor
    forward_vector: Tensor
    forward_previous: Tensor
    backward_vector: Tensor
    backward_previous: Tensor
    child_forward: Tensor
    child_backward: Tensor
    child_constituent: Tensor
    forward_begin_sizes: Sizes
    forward_sizes: Sizes
    backward_begin_sizes: Sizes
    backward_sizes: Sizes
    child_sizes: Sizes


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
        return _TimeAssembly(taken, plan, sentences, label_count).batch()

    return StackCollate(
        split, strategy=strategy, build=build, is_continuation=is_continuation, plan=plan_timed
    )


def plan_timed(
    split: EncodedSplit, strategy: Strategy, is_continuation: Bools | None = None
) -> StackPlan:
    """Plan stacks at the levels at which the stack can be read (:func:`levels_by_time`)."""
    return levels_by_time(plan_stacks(split, strategy, is_continuation))


def levels_by_time(plan: StackPlan) -> StackPlan:
    """Schedule everything at the first level at which all that it depends on is known.

    In the result, ``depth`` is the level at which an element is pushed, ``level`` the one at which
    a constituent is composed, ``child_level`` that of the forward cell of a child that is not the
    first, and ``back_level`` that of the backward cell of the first of several children; the
    backward cells of later children are one level earlier each.
    """
    return _Schedule(plan).run()


class _Schedule:
    """Levels of elements and constituents, found element by element, all sentences in step."""

    def __init__(self, plan: StackPlan) -> None:
        self._plan = plan
        self._pushed = np.zeros(len(plan.kind), dtype=np.int64)
        self._composed = np.zeros(len(plan.label), dtype=np.int64)
        self._first_child = np.concatenate([[0], np.cumsum(plan.size)])[:-1]
        counts = np.diff(plan.child_offsets)
        self._child = np.repeat(plan.constituent_offsets[:-1], counts) + plan.child_item
        self._child[plan.child_kind == WORD] = -1

    def run(self) -> StackPlan:
        plan = self._plan
        counts = np.diff(plan.element_offsets)
        longest_first = np.argsort(-counts, kind="stable")
        begins, constituents = plan.element_offsets[:-1], plan.constituent_offsets[:-1]
        for time in range(1, int(counts.max(initial=1))):
            # Sentences that have not ended come first.
            running = longest_first[: np.count_nonzero(counts > time)]
            element = begins[running] + time
            level = self._pushed[begins[running] + plan.below[element]] + 1
            is_closing = plan.kind[element] == CONSTITUENT
            number = constituents[running[is_closing]] + plan.item[element[is_closing]]
            # In-order parsing pushes a first child twice; it is composed at the first push.
            is_new = self._composed[number] == 0
            self._compose(number[is_new], element[is_closing][is_new])
            level[is_closing] = np.maximum(level[is_closing], self._composed[number])
            self._pushed[element] = level
        return replace(plan, depth=self._pushed, level=self._composed, **self._chains())

    def _compose(self, number: Ints, element: Ints) -> None:
        """Schedule constituents that are closed when the element before the given one is on top."""
        if not len(number):
            return
        size = self._plan.size[number]
        starts = np.concatenate([[0], np.cumsum(size)])[:-1]
        position = np.arange(size.sum()) - np.repeat(starts, size)
        known = self._known(np.repeat(self._first_child[number], size) + position)
        ends = [
            np.maximum.reduceat(slack, starts)
            for slack in _slacks(known, position, np.repeat(size, size))
        ]
        forward, backward = ends[0] + size - 1, ends[1]
        top = self._pushed[element - 1]
        self._composed[number] = np.maximum(np.maximum(forward, backward), top) + 1

    def _known(self, child: Ints) -> Ints:
        """Return the level at which the vectors of children are known; words are from the start."""
        number = self._child[child]
        return np.where(number < 0, 0, self._composed[number])

    def _chains(self) -> dict[str, Ints]:
        size = self._plan.size
        if not len(size):
            return {}
        parent = np.repeat(np.arange(len(size)), size)
        position = np.arange(len(parent)) - self._first_child[parent]
        known = self._known(np.arange(len(parent)))
        ahead, back = _slacks(known, position, size[parent])
        # A running maximum within each constituent: later ones are lifted above earlier ones.
        lift = parent * (int(ahead.max()) - int(ahead.min()) + 1)
        forward = np.maximum.accumulate(ahead + lift) - lift + position
        return {
            "child_level": forward,
            "back_level": np.maximum.reduceat(back, self._first_child),
        }


def _slacks(known: Ints, position: Ints, size: Ints) -> tuple[Ints, Ints]:
    """Return what delays the two chains, by child: its level, corrected for its position.

    A chain needs one level for each cell. The forward cell of child j is at the maximum, over
    children i up to j, of ``slack + j``; the backward cell of the first child at the maximum over
    all children of ``slack``. The cell that begins a chain has no matrix product and is computed
    together with the next.
    """
    ahead = known - position - (position == 0)
    back = known + position - (position == size - 1)
    return ahead, back


class _TimeAssembly(Assembly):
    """The schedule of :class:`TimedTreeBatch`."""

    def batch(self) -> TimedTreeBatch:
        size, levels = self.size, len(self.stack_sizes)
        parent = np.repeat(np.arange(len(size)), size)  # children are stored by constituent
        first_child = np.concatenate([[0], np.cumsum(size)])[:-1]
        position = np.arange(len(parent)) - first_child[parent]
        known = self._known()
        is_first, is_last = position == 0, position == size[parent] - 1
        ahead = np.where(is_first, known, self.plan.child_level[self.children.rows])
        back_level = self.plan.back_level[self.constituents.rows][parent]
        back = np.where(is_last, known, back_level - position)
        forward, forward_row = self._chain("forward", ahead, is_first, levels, step=-1)
        backward, backward_row = self._chain("backward", back, is_last, levels, step=+1)
        row = self.constituent_row[parent]
        order = np.lexsort((position, row))
        constituent_sizes = level_sizes(self.level, levels)
        first_of_level = np.concatenate([[0], np.cumsum(constituent_sizes)])
        arrays = {
            "constituent_top": self._tops()[self.constituent_order],
            "child_forward": forward_row[order],
            "child_backward": backward_row[order],
            "child_constituent": (row - first_of_level[self.level[parent]])[order],
        }
        return TimedTreeBatch(
            **self.common(),
            **forward,
            **backward,
            **as_tensors(arrays),
            constituent_sizes=constituent_sizes,
            child_sizes=level_sizes(self.level[parent], levels),
        )

    def _known(self) -> Ints:
        """Return the level at which each child is known; words are from the start."""
        rows = self.children.rows
        number = self.plan.child_item[rows] + self.constituents.starts[self.children.owner]
        is_word = self.plan.child_kind[rows] == WORD
        return np.where(is_word, 0, self.level[np.where(is_word, 0, number)])

    def _chain(
        self, name: str, level: Ints, is_begin: Bools, levels: int, *, step: int
    ) -> tuple[dict[str, Any], Ints]:
        """Return the fields of a chain, and the cell of each child."""
        order = np.lexsort((level, ~is_begin))
        cell = inverse(order)
        neighbour = np.clip(np.arange(len(level)) + step, 0, max(len(level) - 1, 0))
        arrays = {
            f"{name}_vector": self.child_vectors(len(self.types))[order],
            f"{name}_previous": cell[neighbour][order][len(self.size) :],
        }
        fields = {
            **as_tensors(arrays),
            f"{name}_begin_sizes": level_sizes(level[is_begin], levels),
            f"{name}_sizes": level_sizes(level[~is_begin], levels),
        }
        return fields, cell

    def _tops(self) -> Ints:
        """Return the stack row on top when each constituent is closed."""
        rows = self.elements.rows
        pushed = np.flatnonzero(self.plan.kind[rows] == CONSTITUENT)[::-1]
        owner = self.elements.owner[pushed]
        number = self.plan.item[rows[pushed]] + self.constituents.starts[owner]
        closing = np.empty(len(self.size), dtype=np.int64)
        closing[number] = pushed  # in reverse order, the first of several pushes is kept
        return self.element_row[closing - 1]
