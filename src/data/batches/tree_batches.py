"""Batches of gold trees for stack models, as index arrays that say what to compute at once.

All arrays are gathered and sorted from :mod:`stack_plan`. Rows are dense: there is one row for each
vector that has to be computed and none for padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

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
from gardenpath.data.batches.tensor_batch import TensorBatch
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.trees.actions import Kind, Strategy

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
        self.starts = np.concatenate([[0], np.cumsum(counts)])
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
        arrays = {**self._stack(), **self._outputs(), "word_types": self.types}
        arrays["constituent_label"] = self.plan.label[self.constituents.rows][
            self.constituent_order
        ]
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

    def _stack(self) -> dict[str, Ints]:
        plan, rows, order = self.plan, self.elements.rows, self.element_order
        below = np.maximum(plan.below[rows], 0) + self.elements.base
        vector = self._vectors(plan.kind[rows], plan.item[rows], self.elements.owner)
        return {"stack_vector": vector[order], "stack_below": self.element_row[below[order]]}

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

    def _outputs(self) -> dict[str, Ints]:
        plan, rows = self.plan, self.actions.rows
        action = plan.action[rows]
        top = plan.top[rows] + self.elements.starts[self.actions.owner]
        return {
            "top": self.element_row[top],
            "action": action,
            "legal": plan.legal[rows],
            "shift_top": np.flatnonzero(action == Kind.SHIFT),
            "shift_word": self.tokens,
        }


class _LevelAssembly(Assembly):
    """Builds a :class:`TreeBatch`: two chains of cells for each constituent."""

    def batch(self) -> TreeBatch:
        return TreeBatch(**self.common(), **self._chains())

    def _chains(self) -> dict[str, Any]:
        plan, size = self.plan, self.size
        label = plan.label[self.constituents.rows]
        first_child = np.concatenate([[0], np.cumsum(size)])[:-1]
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
        return {
            **as_tensors(arrays),
            "constituent_sizes": level_sizes(self.level - 1, levels),
            "forward_sizes": level_sizes(forward_level - 1, levels),
            "backward_sizes": level_sizes(backward_level - 1, levels),
        }

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
