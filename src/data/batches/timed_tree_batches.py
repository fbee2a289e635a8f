"""Batches of gold trees for composition functions that read the stack.

With these functions, a constituent depends on the state of the stack when it is closed, and that
state on everything below it. Sentences are therefore computed in *rounds*: in each round, every
sentence composes the next constituent that it closes, and pushes it and all that follows until it
closes another one. A round has several *steps*, because each push needs the state below, and each
cell of the LSTM over children the cell before. What a round multiplies with the same weights is
computed together or in direct succession; few weights would otherwise stay in the cache of a CPU.

Only the stack is bound to the order of time: the cells that read a child wait for the children
alone, so those that read words are computed in the first round, for the whole batch at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

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

    In each round, constituents are composed from what earlier rounds have computed; then they are
    read by chains of cells and pushed on stacks. ``constituent_top`` is the stack row in whose
    state a constituent is closed. ``stack_sizes`` are the numbers of rows of all steps of all
    rounds, and ``stack_steps`` the numbers of steps of each round. ``constituent_sizes`` are the
    numbers of constituents of each round.

    Each direction has one cell for each child. The cells that begin a chain come first, one for
    each constituent, sorted by round (``*_begin_sizes``); all others follow, sorted by round and
    step (``*_sizes``, ``*_steps``). A cell reads ``*_vector`` (a word type or, counted from the
    number of word types, a constituent), and one that does not begin a chain follows cell
    ``*_previous``, which may begin a chain in the same round.

    Children, sorted by constituent and position: the cells ``child_forward`` and
    ``child_backward`` that read them, and ``child_constituent``, numbered within its round.
    ``child_sizes`` are the numbers of children of the constituents of each round.
    """

    constituent_top: Tensor
    forward_vector: Tensor
    forward_previous: Tensor
    backward_vector: Tensor
    backward_previous: Tensor
    child_forward: Tensor
    child_backward: Tensor
    child_constituent: Tensor
    stack_steps: Sizes
    forward_begin_sizes: Sizes
    forward_sizes: Sizes
    forward_steps: Sizes
    backward_begin_sizes: Sizes
    backward_sizes: Sizes
    backward_steps: Sizes
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
    """Plan stacks in rounds (:func:`in_rounds`)."""
    return in_rounds(plan_stacks(split, strategy, is_continuation))


# Levels are numbered ``round · STEPS + step``; no round has as many steps.
STEPS: Final = 1 << 24


def in_rounds(plan: StackPlan) -> StackPlan:
    """Schedule elements by round and step, and constituents by round."""
    counts = np.diff(plan.element_offsets)
    element, constituent = (
        np.repeat(offsets[:-1], counts)
        for offsets in (plan.element_offsets, plan.constituent_offsets)
    )
    pushed = np.flatnonzero(plan.kind == CONSTITUENT)
    number = (constituent + plan.item)[pushed]
    closing = np.empty(len(plan.label), dtype=np.int64)
    # In-order parsing pushes a first child twice; in reverse order, the first push is kept.
    closing[number[::-1]] = pushed[::-1]
    is_closing = np.zeros(len(plan.kind), dtype=np.int64)
    is_closing[closing] = 1
    closed = np.cumsum(is_closing)
    rounds = closed - closed[element]  # a sentence begins with the start, which closes nothing
    steps = _steps(np.maximum(plan.below, 0) + element, rounds)
    return replace(plan, depth=rounds * STEPS + steps, level=rounds[closing])


def _steps(below: Ints, rounds: Ints) -> Ints:
    """Return the number of elements below each element that belong to the same round."""
    steps = np.zeros_like(below)
    is_same = (rounds[below] == rounds) & (below != np.arange(len(below)))
    rows = np.flatnonzero(is_same)
    place = below[rows]
    while len(rows):
        steps[rows] += 1
        is_more = is_same[place]
        rows, place = rows[is_more], below[place[is_more]]
    return steps


class _TimeAssembly(Assembly):
    """The schedule of :class:`TimedTreeBatch`."""

    def batch(self) -> TimedTreeBatch:
        size, rounds = self.size, int(self.level.max(initial=0)) + 1
        parent = np.repeat(np.arange(len(size)), size)  # children are stored by constituent
        first_child = np.concatenate([[0], np.cumsum(size)])[:-1]
        position = np.arange(len(parent)) - first_child[parent]
        forward, forward_cell = self._chain("forward", position == 0, rounds, step=1)
        is_last = position == size[parent] - 1
        backward, backward_cell = self._chain("backward", is_last, rounds, step=-1)
        row = self.constituent_row[parent]
        order = np.lexsort((position, row))
        constituent_sizes = level_sizes(self.level, rounds)
        first_of_round = np.concatenate([[0], np.cumsum(constituent_sizes)])
        arrays = {
            "constituent_top": self._tops()[self.constituent_order],
            "child_forward": forward_cell[order],
            "child_backward": backward_cell[order],
            "child_constituent": (row - first_of_round[self.level[parent]])[order],
        }
        return TimedTreeBatch(
            **self.common(),
            **forward,
            **backward,
            **as_tensors(arrays),
            stack_steps=level_sizes(self.element_levels // STEPS, rounds),
            constituent_sizes=constituent_sizes,
            child_sizes=level_sizes(self.level[parent], rounds),
        )

    def _known(self) -> Ints:
        """Return the round in which each child is known; words are from the start."""
        rows = self.children.rows
        number = self.plan.child_item[rows] + self.constituents.starts[self.children.owner]
        is_word = self.plan.child_kind[rows] == WORD
        return np.where(is_word, 0, self.level[np.where(is_word, 0, number)])

    def _chain(
        self, name: str, is_begin: Bools, rounds: int, *, step: int
    ) -> tuple[dict[str, Any], Ints]:
        """Return the fields of a chain, and the cell of each child.

        Children are read from left to right if ``step`` is 1, from right to left if it is -1.
        """
        level = cell_levels(self._known()[::step], is_begin[::step])[::step]
        order = np.lexsort((level, ~is_begin))
        cell = inverse(order)
        before = np.clip(np.arange(len(level)) - step, 0, max(len(level) - 1, 0))
        arrays = {
            f"{name}_vector": self.child_vectors(len(self.types))[order],
            f"{name}_previous": cell[before][order][len(self.size) :],
        }
        levels, sizes = np.unique(level[~is_begin], return_counts=True)
        fields = {
            **as_tensors(arrays),
            f"{name}_begin_sizes": level_sizes(level[is_begin] // STEPS, rounds),
            f"{name}_sizes": tuple(sizes.tolist()),
            f"{name}_steps": level_sizes(levels // STEPS, rounds),
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
        tops: Ints = self.element_row[closing - 1]
        return tops


def cell_levels(known: Ints, is_begin: Bools) -> Ints:
    """Return the levels of the cells of chains: each as soon as its child and the cell before are.

    ``known`` are the rounds in which children are known, in the order in which they are read. The
    cell that begins a chain has no matrix product and takes no step.
    """
    if not len(known):
        return known
    chain, place = np.cumsum(is_begin), np.arange(len(known))
    # A running maximum within each chain: later chains are lifted above earlier ones.
    lift = chain * (int(known.max()) + 1)
    rounds = np.maximum.accumulate(known + lift) - lift
    is_first = is_begin.copy()  # of its round, within a chain
    is_first[1:] |= rounds[1:] != rounds[:-1]
    first = np.maximum.accumulate(np.where(is_first, place, 0))
    steps = np.maximum(place - first - is_begin[first], 0)
    levels: Ints = rounds * STEPS + steps
    return levels
