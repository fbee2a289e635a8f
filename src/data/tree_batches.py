"""Batches of gold trees for stack models: what to compute at once, as index arrays.

Everything here follows from :mod:`src.data.stack_plan` by gathering and sorting. Rows are dense:
there is one row for each thing that has to be computed and none for padding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from src.data.actions import Kind
from src.data.encoded import EncodedSplit
from src.data.raw_split import IntArray
from src.data.stack_plan import CONSTITUENT, LABEL, START, WORD, StackPlan, Strategy, plan_stacks
from src.data.tensor_batch import TensorBatch

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TreeBatch(TensorBatch):
    """Indices for one forward pass over a batch of trees.

    *Vectors* are numbered: distinct words of the batch (``word_types``), then labels (all of the
    vocabulary), then constituents, then the start vector. Sorting is by level everywhere, and
    ``*_sizes`` say how many rows each level has.

    Stack rows: ``stack_vector`` is pushed on top of row ``stack_below``; level 0 are the starts.
    Chain cells (forward and backward): each reads ``*_vector`` (a word type or, counted from the
    number of word types, a constituent) after cell ``*_previous`` (a label's initial state or,
    counted from the number of labels, a cell). Constituent k is ready when ``last_forward[k]`` and
    ``last_backward[k]`` are.
    Actions: each is predicted from stack row ``top``; ``legal`` holds a bit for each kind.
    """

    word_types: Tensor
    stack_vector: Tensor
    stack_below: Tensor
    forward_vector: Tensor
    forward_previous: Tensor
    backward_vector: Tensor
    backward_previous: Tensor
    constituent_label: Tensor
    last_forward: Tensor
    last_backward: Tensor
    top: Tensor
    action: Tensor
    legal: Tensor
    shift_top: Tensor
    shift_word: Tensor
    words: Tensor
    sentences: Tensor
    stack_sizes: Sizes
    forward_sizes: Sizes
    backward_sizes: Sizes
    constituent_sizes: Sizes


def tree_collate(
    split: EncodedSplit, *, strategy: Strategy, label_count: int
) -> Callable[[IntArray], TreeBatch]:
    """Plan a split once; the result makes batches of its sentences, given by number."""
    plan = plan_stacks(split, strategy)

    def collate(sentences: IntArray) -> TreeBatch:
        return _Assembly(split, plan, sentences, label_count).batch()

    return collate


class _Gathered:
    """The rows of some sentences in a flat array, and the number of the sentence of each."""

    def __init__(self, offsets: IntArray, sentences: IntArray) -> None:
        counts = offsets[sentences + 1] - offsets[sentences]
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.owner = np.repeat(np.arange(len(sentences)), counts)
        within = np.arange(self.starts[-1]) - self.starts[self.owner]
        self.rows = np.repeat(offsets[sentences], counts) + within

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def base(self) -> IntArray:
        """For each row, where its sentence begins in the batch."""
        starts: IntArray = self.starts[self.owner]
        return starts


class _Assembly:
    """Gathers and sorts the plans of the sentences of one batch."""

    def __init__(
        self, split: EncodedSplit, plan: StackPlan, sentences: IntArray, label_count: int
    ) -> None:
        self._plan = plan
        self._labels = label_count
        self._words = _Gathered(np.asarray(split.offsets), sentences)
        self._elements = _Gathered(plan.element_offsets, sentences)
        self._actions = _Gathered(plan.action_offsets, sentences)
        self._constituents = _Gathered(plan.constituent_offsets, sentences)
        self._children = _Gathered(plan.child_offsets, sentences)
        self._tokens = np.asarray(split.tokens[self._words.rows], dtype=np.int64)
        self._word_count = int(split.starts_word[self._words.rows].sum())
        self._sentence_count = len(sentences)
        self._types, self._type_of_word = np.unique(self._tokens, return_inverse=True)
        level = plan.level[self._constituents.rows]
        # From the order of the text to the order of computation, and back.
        self._constituent_order = np.argsort(level, kind="stable")
        self._constituent_row = _inverse(self._constituent_order)
        self._levels = int(level.max(initial=0))

    def batch(self) -> TreeBatch:
        arrays = {**self._stack(), **self._chains(), **self._outputs(), "word_types": self._types}
        content: dict[str, Any] = {name: torch.from_numpy(a) for name, a in arrays.items()}
        content["words"] = torch.tensor(self._word_count)
        content["sentences"] = torch.tensor(self._sentence_count)
        content.update(self._sizes)
        return TreeBatch(**content)

    def _stack(self) -> dict[str, IntArray]:
        plan, rows = self._plan, self._elements.rows
        depth = plan.depth[rows]
        order = np.argsort(depth, kind="stable")
        self._element_row = _inverse(order)
        below = np.maximum(plan.below[rows], 0) + self._elements.base
        vector = self._vector(plan.kind[rows], plan.item[rows], self._elements.owner)
        self._sizes: dict[str, Sizes] = {"stack_sizes": _sizes(depth)}
        return {
            "stack_vector": vector[order],
            "stack_below": self._element_row[below[order]],
        }

    def _vector(self, kind: IntArray, item: IntArray, owner: IntArray) -> IntArray:
        """The numbers of vectors: words, labels, constituents, start."""
        result = np.empty(len(kind), dtype=np.int64)
        types, labels = len(self._types), self._labels
        is_word, is_label = kind == WORD, kind == LABEL
        is_constituent = kind == CONSTITUENT
        result[is_word] = self._type_of_word[item[is_word] + self._words.starts[owner[is_word]]]
        result[is_label] = types + item[is_label]
        result[is_constituent] = types + labels + self._constituent_at(item, owner, is_constituent)
        result[kind == START] = types + labels + len(self._constituents)
        return result

    def _constituent_at(
        self, item: IntArray, owner: IntArray, chosen: npt.NDArray[np.bool_]
    ) -> IntArray:
        numbers = item[chosen] + self._constituents.starts[owner[chosen]]
        rows: IntArray = self._constituent_row[numbers]
        return rows

    def _chains(self) -> dict[str, IntArray]:
        plan, rows = self._plan, self._constituents.rows
        size, label = plan.size[rows], plan.label[rows]
        first_child = np.concatenate([[0], np.cumsum(size)])[:-1]
        parent = np.repeat(np.arange(len(rows)), size)  # children are stored by constituent
        position = np.arange(len(self._children)) - first_child[parent]
        vector = self._child_vector()
        forward_level = plan.child_level[self._children.rows]
        backward_level = plan.back_level[rows][parent] - position
        forward = self._chain(forward_level, vector, label[parent], position == 0, -1)
        is_last = position == size[parent] - 1
        backward = self._chain(backward_level, vector, label[parent], is_last, +1)
        order = self._constituent_order
        last_child = first_child + size - 1
        self._sizes["constituent_sizes"] = _sizes(plan.level[rows] - 1, self._levels)
        self._sizes["forward_sizes"] = _sizes(forward_level - 1, self._levels)
        self._sizes["backward_sizes"] = _sizes(backward_level - 1, self._levels)
        return {
            "forward_vector": forward[0],
            "forward_previous": forward[1],
            "backward_vector": backward[0],
            "backward_previous": backward[1],
            "constituent_label": label[order],
            "last_forward": self._labels + forward[2][last_child][order],
            "last_backward": self._labels + backward[2][first_child][order],
        }

    def _child_vector(self) -> IntArray:
        """The numbers of the children's vectors: words, then constituents (there are no labels)."""
        plan, rows, owner = self._plan, self._children.rows, self._children.owner
        kind, item = plan.child_kind[rows], plan.child_item[rows]
        result = np.empty(len(rows), dtype=np.int64)
        is_word = kind == WORD
        result[is_word] = self._type_of_word[item[is_word] + self._words.starts[owner[is_word]]]
        result[~is_word] = len(self._types) + self._constituent_at(item, owner, ~is_word)
        return result

    def _chain(
        self,
        level: IntArray,
        vector: IntArray,
        label: IntArray,
        is_begin: npt.NDArray[np.bool_],
        step: int,
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Vectors and previous cells of a chain, sorted by level, and the row of each child."""
        order = np.argsort(level, kind="stable")
        row = _inverse(order)
        neighbour = np.clip(np.arange(len(level)) + step, 0, max(len(level) - 1, 0))
        previous = np.where(is_begin, label, self._labels + row[neighbour])
        return vector[order], previous[order], row

    def _outputs(self) -> dict[str, IntArray]:
        plan, rows = self._plan, self._actions.rows
        top = self._element_row[plan.top[rows] + self._elements.starts[self._actions.owner]]
        action = plan.action[rows]
        return {
            "top": top,
            "action": action,
            "legal": plan.legal[rows],
            "shift_top": np.flatnonzero(action == Kind.SHIFT),
            "shift_word": self._tokens,
        }


def _inverse(order: IntArray) -> IntArray:
    result = np.empty_like(order)
    result[order] = np.arange(len(order))
    return result


def _sizes(level: IntArray, count: int = 0) -> Sizes:
    return tuple(np.bincount(level, minlength=count).tolist())
