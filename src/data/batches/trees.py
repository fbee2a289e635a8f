"""Batches of gold trees for stack models, as index arrays that say what to compute at once.

Called by the training of RNNGs. All arrays are gathered and sorted from `stack_plan`. Rows are
dense: there is one row for each vector that has to be computed and none for padding. There are two
schedules: by level, if constituents depend on their children alone, and in rounds, if they depend
on the stack. No network runs here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from gardenpath.data.arrays import Bools, Ints
from gardenpath.data.batches.stack_plan import (
    CONSTITUENT,
    LABEL,
    START,
    WORD,
    StackPlan,
    plan_stacks,
)
from gardenpath.data.batches.tokens import TensorBatch
from gardenpath.data.encoding import EncodedSplit, running_sum
from gardenpath.data.trees.legality import Kind, Strategy

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StackBatch(TensorBatch):
    """Fields common to all schedules: the elements of all stacks and the actions to predict.

    *Vectors* are numbered: the distinct words of the batch (``word_types``), then all labels of the
    vocabulary, then constituents, then the start vector. All rows are sorted by level, and
    ``*_sizes`` give the number of rows of each level.

    Stack rows: ``stack_vector`` is pushed on top of row ``stack_below``; level 0 contains the start
    elements. Actions: each is predicted from stack row ``top``; ``legal`` has one bit for each
    kind, and two for pieces; ``shift_top`` are the SHIFT actions and ``shift_word`` the words they
    shift.
    """

    word_types: Tensor
    stack_vector: Tensor
    stack_below: Tensor
    constituent_label: Tensor
    top: Tensor
    action: Tensor
    legal: Tensor
    shift_top: Tensor
    shift_word: Tensor
    words: Tensor
    sentences: Tensor
    stack_sizes: Sizes
    constituent_sizes: Sizes


AnyStackBatch = TypeVar("AnyStackBatch", bound=StackBatch)
MakePlan = Callable[[EncodedSplit, Strategy, Bools | None], StackPlan]
BuildBatch = Callable[[EncodedSplit, StackPlan, Ints], AnyStackBatch]


@dataclass(frozen=True, slots=True)
class TreeBatch(StackBatch):
    """Trees whose constituents depend only on their children.

    Chain cells (forward and backward): each reads ``*_vector`` (a word type or, counted from the
    number of word types, a constituent) after cell ``*_previous`` (a label's initial state or,
    counted from the number of labels, a cell). Constituent k is ready when ``last_forward[k]`` and
    ``last_backward[k]`` are.
    """

    forward_vector: Tensor
    forward_previous: Tensor
    backward_vector: Tensor
    backward_previous: Tensor
    last_forward: Tensor
    last_backward: Tensor
    forward_sizes: Sizes
    backward_sizes: Sizes


class StackCollate(Generic[AnyStackBatch]):
    """Builds batches of gold trees from the sentences of a split, given by number.

    The stacks of the sentences are simulated in step, which costs almost as much for one batch as
    for many. :meth:`window` therefore plans several batches at once; planning a whole split would
    take memory that grows with the corpus.
    """

    def __init__(
        self,
        split: EncodedSplit,
        *,
        strategy: Strategy,
        build: BuildBatch[AnyStackBatch],
        is_continuation: Bools | None = None,
        plan: MakePlan = plan_stacks,
    ) -> None:
        self._split = split
        self._strategy = strategy
        self._is_continuation = is_continuation
        self._build = build
        self._plan = plan

    def __call__(self, sentences: Ints) -> AnyStackBatch:
        """Build one batch."""
        return next(self.window([sentences]))

    def window(self, batches: Sequence[Ints]) -> Iterator[AnyStackBatch]:
        """Build several batches, the same as one after the other."""
        taken = self._split.take(np.concatenate(batches))
        plan = self._plan(taken, self._strategy, self._is_continuation)
        begin = 0
        for batch in batches:
            end = begin + len(batch)
            yield self._build(taken, plan, np.arange(begin, end))
            begin = end


def tree_collate(
    split: EncodedSplit,
    *,
    strategy: Strategy,
    label_count: int,
    is_continuation: Bools | None = None,
) -> StackCollate[TreeBatch]:
    """Return the function that collates sentences of a split, given by number.

    ``is_continuation``, by token id, is given for models over pieces.
    """

    def build(taken: EncodedSplit, plan: StackPlan, sentences: Ints) -> TreeBatch:
        return _LevelAssembly(taken, plan, sentences, label_count).batch()

    return StackCollate(split, strategy=strategy, build=build, is_continuation=is_continuation)


class Gathered:
    """The rows of some sentences in a flat array, and the sentence that each row belongs to."""

    def __init__(self, offsets: Ints, sentences: Ints) -> None:
        counts = offsets[sentences + 1] - offsets[sentences]
        self.starts = running_sum(counts)
        self.owner = np.repeat(np.arange(len(sentences)), counts)
        within = np.arange(self.starts[-1]) - self.starts[self.owner]
        self.rows = np.repeat(offsets[sentences], counts) + within

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def base(self) -> Ints:
        """For each row, the position in the batch where its sentence begins."""
        starts: Ints = self.starts[self.owner]
        return starts


class Assembly:
    """Gathers and sorts the plans of the sentences of one batch."""

    def __init__(
        self, split: EncodedSplit, plan: StackPlan, sentences: Ints, label_count: int
    ) -> None:
        self.plan = plan
        self.labels = label_count
        self.words = Gathered(np.asarray(split.offsets), sentences)
        self.elements = Gathered(plan.element_offsets, sentences)
        self.actions = Gathered(plan.action_offsets, sentences)
        self.constituents = Gathered(plan.constituent_offsets, sentences)
        self.children = Gathered(plan.child_offsets, sentences)
        self.tokens = np.asarray(split.tokens[self.words.rows], dtype=np.int64)
        self.types, self.type_of_word = np.unique(self.tokens, return_inverse=True)
        self.counts = {
            "words": torch.tensor(int(split.starts_word[self.words.rows].sum())),
            "sentences": torch.tensor(len(sentences)),
        }
        self.element_levels, depth = np.unique(plan.depth[self.elements.rows], return_inverse=True)
        self.element_order = np.argsort(depth, kind="stable")
        self.element_row = inverse(self.element_order)
        self.stack_sizes = level_sizes(depth)
        self.level = plan.level[self.constituents.rows]
        self.size = plan.size[self.constituents.rows]
        self.constituent_order = np.argsort(self.level, kind="stable")
        self.constituent_row = inverse(self.constituent_order)

    def common(self) -> dict[str, Any]:
        """Return the fields of :class:`StackBatch` except the sizes of constituent levels."""
        plan, rows, order = self.plan, self.elements.rows, self.element_order
        below = np.maximum(plan.below[rows], 0) + self.elements.base
        vector = self._vectors(plan.kind[rows], plan.item[rows], self.elements.owner)
        actions = self.actions.rows
        action = plan.action[actions]
        top = plan.top[actions] + self.elements.starts[self.actions.owner]
        arrays = {
            "word_types": self.types,
            "stack_vector": vector[order],
            "stack_below": self.element_row[below[order]],
            "constituent_label": plan.label[self.constituents.rows][self.constituent_order],
            "top": self.element_row[top],
            "action": action,
            "legal": plan.legal[actions],
            "shift_top": np.flatnonzero(action == Kind.SHIFT),
            "shift_word": self.tokens,
        }
        return {**as_tensors(arrays), **self.counts, "stack_sizes": self.stack_sizes}

    def child_vectors(self, first_constituent: int) -> Ints:
        """Return the children's vector numbers: word types, or constituents after an offset."""
        rows, owner = self.children.rows, self.children.owner
        kind, item = self.plan.child_kind[rows], self.plan.child_item[rows]
        result = np.empty(len(rows), dtype=np.int64)
        is_word = kind == WORD
        result[is_word] = self._word_type(item, owner, is_word)
        result[~is_word] = first_constituent + self._constituent(item, owner, ~is_word)
        return result

    def _vectors(self, kind: Ints, item: Ints, owner: Ints) -> Ints:
        """Return vector numbers: words, labels, constituents, start."""
        result = np.empty(len(kind), dtype=np.int64)
        labels = len(self.types)
        constituents = labels + self.labels
        is_word, is_constituent = kind == WORD, kind == CONSTITUENT
        result[is_word] = self._word_type(item, owner, is_word)
        result[kind == LABEL] = labels + item[kind == LABEL]
        result[is_constituent] = constituents + self._constituent(item, owner, is_constituent)
        result[kind == START] = constituents + len(self.constituents)
        return result

    def _word_type(self, item: Ints, owner: Ints, chosen: Bools) -> Ints:
        types: Ints = self.type_of_word[item[chosen] + self.words.starts[owner[chosen]]]
        return types

    def _constituent(self, item: Ints, owner: Ints, chosen: Bools) -> Ints:
        numbers = item[chosen] + self.constituents.starts[owner[chosen]]
        rows: Ints = self.constituent_row[numbers]
        return rows


class _LevelAssembly(Assembly):
    """Builds a :class:`TreeBatch`: two chains of cells for each constituent."""

    def batch(self) -> TreeBatch:
        plan, size = self.plan, self.size
        label = plan.label[self.constituents.rows]
        first_child = running_sum(size)[:-1]
        parent = np.repeat(np.arange(len(size)), size)  # children are stored by constituent
        position = np.arange(len(self.children)) - first_child[parent]
        forward_level = plan.child_level[self.children.rows]
        backward_level = plan.back_level[self.constituents.rows][parent] - position
        vector, begin = self.child_vectors(len(self.types)), label[parent]
        forward = self._chain(forward_level, vector, begin, position == 0, step=-1)
        is_last = position == size[parent] - 1
        backward = self._chain(backward_level, vector, begin, is_last, step=+1)
        order, levels = self.constituent_order, int(self.level.max(initial=0))
        arrays = {
            "forward_vector": forward[0],
            "forward_previous": forward[1],
            "backward_vector": backward[0],
            "backward_previous": backward[1],
            "last_forward": self.labels + forward[2][first_child + size - 1][order],
            "last_backward": self.labels + backward[2][first_child][order],
        }
        return TreeBatch(
            **self.common(),
            **as_tensors(arrays),
            constituent_sizes=level_sizes(self.level - 1, levels),
            forward_sizes=level_sizes(forward_level - 1, levels),
            backward_sizes=level_sizes(backward_level - 1, levels),
        )

    def _chain(
        self,
        level: Ints,
        vector: Ints,
        label: Ints,
        is_begin: Bools,
        *,
        step: int,
    ) -> tuple[Ints, Ints, Ints]:
        """Return the vectors and previous cells of a chain, by level, and the row of each child."""
        order = np.argsort(level, kind="stable")
        row = inverse(order)
        neighbour = np.clip(np.arange(len(level)) + step, 0, max(len(level) - 1, 0))
        previous = np.where(is_begin, label, self.labels + row[neighbour])
        return vector[order], previous[order], row


def as_tensors(arrays: dict[str, Ints]) -> dict[str, Any]:
    """Convert arrays to tensors that share their memory."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def inverse(order: Ints) -> Ints:
    """Invert a permutation."""
    result = np.empty_like(order)
    result[order] = np.arange(len(order))
    return result


def level_sizes(level: Ints, count: int = 0) -> Sizes:
    """Return the number of rows of each level."""
    return tuple(np.bincount(level, minlength=count).tolist())


# ----------------------------------------------------------------------------
# Batches of gold trees for composition functions that read the stack.
#
# With these functions, a constituent depends on the state of the stack when it is closed, and that
# state on everything below it. Sentences are therefore computed in *rounds*: in each round, every
# sentence composes the next constituent that it closes, and pushes it and all that follows until
# it closes another one. A round has several *steps*, because each push needs the state below, and
# each cell of the LSTM over children the cell before. What a round multiplies with the same
# weights is computed together or in direct succession; few weights would otherwise stay in the
# cache of a CPU.
#
# Only the stack is bound to the order of time: the cells that read a child wait for the children
# alone, so those that read words are computed in the first round, for the whole batch at once.


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

    def plan(
        taken: EncodedSplit, strategy: Strategy, is_continuation: Bools | None = None
    ) -> StackPlan:
        return in_rounds(plan_stacks(taken, strategy, is_continuation))

    return StackCollate(
        split, strategy=strategy, build=build, is_continuation=is_continuation, plan=plan
    )


# Levels are numbered ``round · STEPS + step``; no round has as many steps.
STEPS: Final = 1 << 24


def in_rounds(plan: StackPlan) -> StackPlan:
    """Schedule elements by round and step, and constituents by round.

    The step of an element is the number of elements below it that belong to the same round.
    """
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
    below = np.maximum(plan.below, 0) + element
    steps = np.zeros_like(below)
    is_same = (rounds[below] == rounds) & (below != np.arange(len(below)))
    rows = np.flatnonzero(is_same)
    place = below[rows]
    while len(rows):
        steps[rows] += 1
        is_more = is_same[place]
        rows, place = rows[is_more], below[place[is_more]]
    return replace(plan, depth=rounds * STEPS + steps, level=rounds[closing])


class _TimeAssembly(Assembly):
    """The schedule of :class:`TimedTreeBatch`."""

    def batch(self) -> TimedTreeBatch:
        size, rounds = self.size, int(self.level.max(initial=0)) + 1
        parent = np.repeat(np.arange(len(size)), size)  # children are stored by constituent
        first_child = running_sum(size)[:-1]
        position = np.arange(len(parent)) - first_child[parent]
        forward, forward_cell = self._chain("forward", position == 0, rounds, step=1)
        is_last = position == size[parent] - 1
        backward, backward_cell = self._chain("backward", is_last, rounds, step=-1)
        row = self.constituent_row[parent]
        order = np.lexsort((position, row))
        constituent_sizes = level_sizes(self.level, rounds)
        first_of_round = running_sum(np.array(constituent_sizes))
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

    def _chain(
        self, name: str, is_begin: Bools, rounds: int, *, step: int
    ) -> tuple[dict[str, Any], Ints]:
        """Return the fields of a chain, and the cell of each child.

        Children are read from left to right if ``step`` is 1, from right to left if it is -1.
        """
        rows = self.children.rows
        number = self.plan.child_item[rows] + self.constituents.starts[self.children.owner]
        is_word = self.plan.child_kind[rows] == WORD
        # The round in which each child is known; words are from the start.
        known = np.where(is_word, 0, self.level[np.where(is_word, 0, number)])
        level = cell_levels(known[::step], is_begin[::step])[::step]
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
