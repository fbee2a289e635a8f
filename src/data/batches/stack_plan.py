"""Plan the computations of a stack parser on gold trees before any network runs.

Called by `batches.trees`, for several batches at once; these only gather from the plan.
Because the tree is known, nothing has to be computed in temporal order. Every action leaves one new
element on top of the stack, and the state of a stack LSTM after an element depends only on that
element and on the state below it. All elements at one *depth* of the stack can therefore be
computed at once. A constituent's vector depends only on its children's vectors, through two chains
of LSTM cells, one from the first child to the last and one back. Each cell is assigned the *level*
at which all its inputs are available.

This module simulates the actions of sentences on stacks, all sentences in step. It records what
each element is and what lies below it, and the position and levels of each child of a constituent.

In-order parsing puts a label below its first child as soon as the label is known: the child is
popped, the label pushed, and the child pushed again. A first child may be a word of several pieces,
each of which is an element; these are popped and pushed together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gardenpath.data.arrays import Bools, Ints
from gardenpath.data.encoding import EncodedSplit, depth_after, running_sum
from gardenpath.data.trees.legality import MOST_OPEN, NO_ACTION_YET, Kind, Strategy, legal_table

# Kinds of stack elements.
START, WORD, LABEL, CONSTITUENT = range(4)

# Limits the size of the stacks that are simulated in step.
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class StackPlan:
    """Flat arrays over all sentences; numbers within a sentence start at zero.

    Elements (pushed items): ``kind``, ``item`` (word position, label id or constituent number),
    ``below`` (the element below, -1 for the start) and ``depth``.
    Actions: ``action`` ids, ``top`` (the element on top before the action) and ``legal`` bits.
    Constituents, in the order they are opened: ``label``, ``size`` (number of children), ``level``
    at which the vector is complete, and ``back_level`` of the last cell of the backward chain.
    Children, by constituent and position: ``child_kind``, ``child_item`` and ``child_level`` of the
    cell of the forward chain.
    """

    element_offsets: Ints
    kind: Ints
    item: Ints
    below: Ints
    depth: Ints
    action_offsets: Ints
    action: Ints
    top: Ints
    legal: Ints
    constituent_offsets: Ints
    label: Ints
    size: Ints
    level: Ints
    back_level: Ints
    child_offsets: Ints
    child_kind: Ints
    child_item: Ints
    child_level: Ints


def plan_stacks(
    split: EncodedSplit, strategy: Strategy, is_continuation: Bools | None = None
) -> StackPlan:
    """Simulate the actions of all sentences, those of similar length in step with each other.

    ``is_continuation``, by token id, is given for models over pieces.
    """
    actions, offsets = actions_for(split, strategy, is_continuation)
    recorder = _Recorder(actions, offsets, strategy, _inner(split, actions, is_continuation))
    legal_after = legal_table(strategy, has_pieces=is_continuation is not None)
    by_length = np.argsort(np.diff(offsets), kind="stable")
    for begin in range(0, len(by_length), _CHUNK):
        _Simulation(recorder, by_length[begin : begin + _CHUNK], strategy, legal_after).run()
    return recorder.finish()


def actions_for(
    split: EncodedSplit, strategy: Strategy, is_continuation: Bools | None = None
) -> tuple[Ints, Ints]:
    """Return the action ids of all sentences in a strategy's order, and the sentence offsets."""
    actions = np.asarray(split.actions, dtype=np.int64)
    offsets = np.asarray(split.action_offsets)
    if strategy == "top_down":
        return actions, offsets
    return _to_in_order(actions, offsets, _inner(split, actions, is_continuation))


def _inner(split: EncodedSplit, actions: Ints, is_continuation: Bools | None) -> Bools:
    """Return, for each action, whether it shifts a piece that continues a word."""
    result = np.zeros(len(actions), dtype=bool)
    if is_continuation is not None:
        result[actions == Kind.SHIFT] = is_continuation[split.tokens]
    return result


def _to_in_order(actions: Ints, offsets: Ints, is_inner: Bools) -> tuple[Ints, Ints]:
    """Move each NT behind its first child and end each sentence with FINISH.

    A constituent ends where the running count of NT minus REDUCE falls below its own. One sort by
    (sentence, position after which an action is placed) therefore yields the new order.
    """
    is_open = actions >= Kind.OPEN
    closes = _matching_close(is_open, actions == Kind.REDUCE, depth_after(actions))
    opens = np.flatnonzero(is_open)
    first = opens + 1  # position where the first child begins
    place = np.arange(len(actions))
    place[opens] = np.where(is_open[first], closes[first], _last_piece(is_inner)[first])
    # After the end of the first child; of several NTs there, the innermost (latest) comes first.
    rank = np.zeros(len(actions), dtype=np.int64)
    rank[opens] = len(actions) - opens
    count = len(offsets) - 1
    sentence = np.repeat(np.arange(count), np.diff(offsets))
    order = np.lexsort(
        (
            np.concatenate([rank, np.zeros(count, dtype=np.int64)]),
            np.concatenate([place, offsets[1:]]),
            np.concatenate([sentence, np.arange(count)]),
        )
    )
    everything = np.concatenate([actions, np.full(count, int(Kind.FINISH))])
    return everything[order], offsets + np.arange(count + 1)


def _last_piece(is_inner: Bools) -> Ints:
    """Return, for each action that shifts a piece, the position of the last piece of its word."""
    ends = np.flatnonzero(~np.append(is_inner[1:], False))
    last: Ints = ends[np.searchsorted(ends, np.arange(len(is_inner)))]
    return last


def _matching_close(is_open: Bools, is_close: Bools, depth: Ints) -> Ints:
    """Return the position of each NT's REDUCE: the next one at which the depth falls below it."""
    opens, closes = np.flatnonzero(is_open), np.flatnonzero(is_close)
    # Sorted by depth, and by position within a depth, NTs and REDUCEs alternate in pairs.
    open_order = np.lexsort((opens, depth[opens]))
    close_order = np.lexsort((closes, depth[closes] + 1))
    result = np.full(len(is_open), -1)
    result[opens[open_order]] = closes[close_order]
    return result


class _Recorder:
    """Arrays that the simulations write to; their sizes follow from the actions."""

    def __init__(self, actions: Ints, offsets: Ints, strategy: Strategy, is_inner: Bools) -> None:
        def per_sentence(marks: Bools | Ints) -> Ints:
            total = np.concatenate([[0], np.cumsum(marks)])
            counts: Ints = total[offsets[1:]] - total[offsets[:-1]]
            return counts

        words = per_sentence(actions == Kind.SHIFT)
        opened = per_sentence(actions >= Kind.OPEN)
        # A label and a constituent for each NT; in-order parsing pushes the first child again.
        elements = 1 + words + 2 * opened
        if strategy == "in_order":
            elements += per_sentence(_pushed_again(actions, is_inner))
        self.is_inner = is_inner
        self.actions, self.action_offsets = actions, offsets
        self.element_offsets = running_sum(elements)
        self.constituent_offsets = running_sum(opened)
        self.child_offsets = running_sum(words + opened - 1)
        self.kind, self.item, self.below, self.depth = _zeros(self.element_offsets, 4)
        self.top, self.legal = _zeros(offsets, 2)
        self.label, self.size, self.level, self.back_level = _zeros(self.constituent_offsets, 4)
        # Children in the order they are attached, with the global number of their constituent.
        self.child_of, self.child_kind, self.child_item, self.child_level = _zeros(
            self.child_offsets, 4
        )

    def finish(self) -> StackPlan:
        # Constituents are numbered sentence by sentence, so this also sorts by sentence; within a
        # constituent, children were attached from left to right, and the sort is stable.
        order = np.argsort(self.child_of, kind="stable")
        return StackPlan(
            element_offsets=self.element_offsets,
            kind=self.kind,
            item=self.item,
            below=self.below,
            depth=self.depth,
            action_offsets=self.action_offsets,
            action=self.actions,
            top=self.top,
            legal=self.legal,
            constituent_offsets=self.constituent_offsets,
            label=self.label,
            size=self.size,
            level=self.level,
            back_level=self.back_level,
            child_offsets=self.child_offsets,
            child_kind=self.child_kind[order],
            child_item=self.child_item[order],
            child_level=self.child_level[order],
        )


def _pushed_again(actions: Ints, is_inner: Bools) -> Ints:
    """Return, for each in-order action, the number of elements of the first child of an NT."""
    place = np.arange(len(actions))
    # Position of the first piece of the word that the last action before an NT belongs to.
    begin = np.maximum.accumulate(np.where(is_inner, 0, place))
    result: Ints = np.where(actions >= Kind.OPEN, np.append(0, place[:-1] - begin[:-1] + 1), 0)
    return result


def _zeros(offsets: Ints, count: int) -> list[Ints]:
    return [np.zeros(int(offsets[-1]), dtype=np.int64) for _ in range(count)]


class _Simulation:
    """The stacks of several sentences, advanced together, one action at a time."""

    def __init__(
        self, recorder: _Recorder, sentences: Ints, strategy: Strategy, legal_after: Ints
    ) -> None:
        self._out = recorder
        self._sentences = sentences
        self._in_order = strategy == "in_order"
        count = len(sentences)
        lengths = np.diff(recorder.action_offsets)[sentences]
        self._lengths = lengths
        room = int(lengths.max(initial=0)) + 2
        self._stack = np.zeros((count, room), dtype=np.int32)  # elements
        self._height = np.zeros(count, dtype=np.int64)
        self._open_at = np.zeros((count, room), dtype=np.int32)  # stack positions of open labels
        self._open_id = np.zeros((count, room), dtype=np.int32)
        self._forward = np.zeros((count, room), dtype=np.int32)  # level of the last forward cell
        self._back = np.zeros((count, room), dtype=np.int32)
        self._children = np.zeros((count, room), dtype=np.int32)
        self._opened = np.zeros(count, dtype=np.int64)  # number of labels open now
        self._elements = np.zeros(count, dtype=np.int64)
        self._constituents = np.zeros(count, dtype=np.int64)
        self._words = np.zeros(count, dtype=np.int64)
        self._attached = np.zeros(count, dtype=np.int64)
        self._last = np.full(count, NO_ACTION_YET)
        self._legal_after = legal_after
        # In-order: the complete element on top that has no parent yet, as (kind, item, level), and
        # the number of elements it consists of; an item of several pieces is the last of them.
        self._pending = np.zeros((3, count), dtype=np.int64)
        self._pieces = np.zeros(count, dtype=np.int64)

    def run(self) -> None:
        everyone = np.arange(len(self._sentences))
        self._push(everyone, START, np.zeros_like(everyone))
        for time in range(int(self._lengths.max(initial=0))):
            rows = np.flatnonzero(self._lengths > time)
            where = self._out.action_offsets[self._sentences[rows]] + time
            actions = self._out.actions[where]
            self._out.top[where] = self._elements[rows] - 1
            opened = np.minimum(self._opened[rows], MOST_OPEN)
            self._out.legal[where] = self._legal_after[self._last[rows], opened]
            is_inner = self._out.is_inner[where]
            self._shift(rows[(actions == Kind.SHIFT) & ~is_inner])
            self._continue(rows[is_inner])
            self._reduce(rows[actions == Kind.REDUCE])
            is_open = actions >= Kind.OPEN
            self._open(rows[is_open], actions[is_open] - Kind.OPEN)
            self._last[rows] = np.minimum(actions, Kind.OPEN)

    def _shift(self, rows: Ints) -> None:
        word = self._words[rows]
        self._words[rows] += 1
        self._complete(rows, WORD, word, np.zeros_like(word))

    def _continue(self, rows: Ints) -> None:
        """Shift pieces that continue a word."""
        if not self._in_order:
            self._shift(rows)
            return
        word = self._words[rows]
        self._words[rows] += 1
        self._push(rows, WORD, word)
        self._pieces[rows] += 1
        self._pending[1, rows] = word

    def _reduce(self, rows: Ints) -> None:
        if self._in_order:
            self._settle(rows)
        self._opened[rows] -= 1
        innermost = self._opened[rows]
        number = self._open_id[rows, innermost].astype(np.int64)
        forward, back = self._forward[rows, innermost], self._back[rows, innermost]
        level = np.maximum(forward, back).astype(np.int64)
        where = self._out.constituent_offsets[self._sentences[rows]] + number
        self._out.size[where] = self._children[rows, innermost]
        self._out.level[where] = level
        self._out.back_level[where] = back
        self._height[rows] = self._open_at[rows, innermost]
        self._complete(rows, CONSTITUENT, number, level)

    def _complete(self, rows: Ints, kind: int, item: Ints, level: Ints) -> None:
        """Push a complete element and attach it to its parent as soon as that is known."""
        if not self._in_order:
            self._push(rows, kind, item)
            has_parent = self._opened[rows] > 0
            self._attach(rows[has_parent], kind, item[has_parent], level[has_parent])
            return
        self._settle(rows)
        self._push(rows, kind, item)
        self._pieces[rows] = 1
        self._pending[:, rows] = np.stack([np.full_like(item, kind), item, level])

    def _settle(self, rows: Ints) -> None:
        """In-order: attach the pending element to the open label, as no label was put on it."""
        self._attach_pending(rows[self._opened[rows] > 0], is_pushed=False)

    def _attach_pending(self, rows: Ints, *, is_pushed: bool) -> None:
        """In-order: attach the elements of the pending child, and push them if they were popped."""
        count = self._pieces[rows]
        for place in range(int(count.max(initial=0))):
            chosen = rows[count > place]
            kind, last, level = self._pending[:, chosen]
            item = last - (count[count > place] - 1) + place
            if is_pushed:
                self._push(chosen, kind, item)
            self._attach(chosen, kind, item, level)
        self._pieces[rows] = 0

    def _open(self, rows: Ints, label: Ints) -> None:
        number = self._constituents[rows]
        self._constituents[rows] += 1
        self._out.label[self._out.constituent_offsets[self._sentences[rows]] + number] = label
        if self._in_order:
            # Pop the first child; it is pushed again on top of the label.
            self._height[rows] -= self._pieces[rows]
        innermost = self._opened[rows]
        self._open_at[rows, innermost] = self._height[rows]
        self._open_id[rows, innermost] = number
        self._forward[rows, innermost] = 0
        self._back[rows, innermost] = 0
        self._children[rows, innermost] = 0
        self._opened[rows] += 1
        self._push(rows, LABEL, label)
        if self._in_order:
            self._attach_pending(rows, is_pushed=True)

    def _push(self, rows: Ints, kind: int | Ints, item: Ints) -> None:
        height, element = self._height[rows], self._elements[rows]
        below = np.where(height > 0, self._stack[rows, np.maximum(height - 1, 0)], -1)
        where = self._out.element_offsets[self._sentences[rows]] + element
        self._out.kind[where] = kind
        self._out.item[where] = item
        self._out.below[where] = below
        self._out.depth[where] = height
        self._stack[rows, height] = element
        self._height[rows] += 1
        self._elements[rows] += 1

    def _attach(self, rows: Ints, kind: int | Ints, item: Ints, level: Ints) -> None:
        """Make an element, complete at ``level``, the next child of the innermost constituent.

        Its forward cell needs the element and the previous cell. The backward chain starts at the
        last child, so the cell of child j is followed by j - 1 more until the first child is read.
        The chain can therefore end at the maximum of (level of child j) + j, and its cells are
        timed backwards from there.
        """
        innermost = self._opened[rows] - 1
        position = self._children[rows, innermost] + 1
        forward = np.maximum(self._forward[rows, innermost], level) + 1
        self._children[rows, innermost] = position
        self._forward[rows, innermost] = forward
        self._back[rows, innermost] = np.maximum(self._back[rows, innermost], level + position)
        sentences = self._sentences[rows]
        where = self._out.child_offsets[sentences] + self._attached[rows]
        self._attached[rows] += 1
        number = self._open_id[rows, innermost]
        self._out.child_of[where] = self._out.constituent_offsets[sentences] + number
        self._out.child_kind[where] = kind
        self._out.child_item[where] = item
        self._out.child_level[where] = forward
