"""States of all stack elements of a batch whose constituents are composed by gated attention.

Chains over children, attention and stack depend on each other and advance together, in rounds of
several steps (:mod:`timed_tree_batches`). Only what is recurrent is computed there: words and
labels are projected beforehand, and weight gradients are formed once, for all rounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from gardenpath.data.batches.timed_tree_batches import TimedTreeBatch
from gardenpath.data.batches.tree_batches import Sizes
from gardenpath.models.rnng.attention_cells import (
    AttentionCells,
    AttentionCellsBackward,
    AttentionMasks,
    ComposedRows,
)
from gardenpath.models.rnng.attention_inputs import (
    AttentionInputs,
    Projected,
    ReaderWeights,
    UpperLayer,
)
from gardenpath.models.rnng.lstm_chains import (
    BeginningCells,
    BeginningCellsBackward,
    CellChain,
    CellChainBackward,
)
from gardenpath.models.rnng.lstm_levels import (
    StackLayer,
    StackLayerBackward,
    add_rows_,
    apply_in_full_precision,
    bounds,
)


def attention_states(inputs: AttentionInputs, batch: TimedTreeBatch) -> Tensor:
    """``(rows, hidden)`` states of the top layer after each stack element of a batch."""
    return apply_in_full_precision(_AttentionRounds, batch, *inputs.tensors())


Rows = tuple[int, int]


class _Round(NamedTuple):
    """The rows of one round; those of chains and stacks by step."""

    composed: ComposedRows
    forward_begins: Rows
    backward_begins: Rows
    forward: list[Rows]
    backward: list[Rows]
    stack: list[Rows]


def _rounds(batch: TimedTreeBatch) -> list[_Round]:
    composed = zip(bounds(batch.constituent_sizes), bounds(batch.child_sizes), strict=True)
    parts = zip(
        composed,
        bounds(batch.forward_begin_sizes),
        bounds(batch.backward_begin_sizes),
        _steps(batch.forward_sizes, batch.forward_steps),
        _steps(batch.backward_sizes, batch.backward_steps),
        _steps(batch.stack_sizes, batch.stack_steps),
        strict=True,
    )
    return [_Round((slice(*rows), slice(*children)), *rest) for (rows, children), *rest in parts]


def _steps(sizes: Sizes, steps: Sizes) -> list[list[Rows]]:
    """Return the rows of each step of each round."""
    rows = bounds(sizes)
    return [rows[begin:end] for begin, end in bounds(steps)]


class _Forward:
    """The forward pass, with all that the backward pass needs."""

    def __init__(self, given: AttentionInputs, batch: TimedTreeBatch) -> None:
        count = len(batch.constituent_label)
        known = given.projected.stack
        hidden = given.stack.recurrent.shape[1]
        self.batch = batch
        self.first = len(known) - 1  # the first constituent among the vectors
        self.inputs = known.new_empty(len(known) + count, 4 * hidden)
        self.inputs[: self.first], self.inputs[-1] = known[:-1], known[-1]
        self.types = len(given.projected.forward)
        self.forward, self.forward_begins = _chain(
            given.projected.forward, batch.forward_vector, batch.forward_previous, count
        )
        self.backward, self.backward_begins = _chain(
            given.projected.backward, batch.backward_vector, batch.backward_previous, count
        )
        self.attention = AttentionCells(given.prepared, given.masks, batch.child_constituent)
        self.layers = [
            StackLayer(known, batch.stack_below, hidden) for _ in range(1 + len(given.upper))
        ]

    def advance(self, part: _Round, given: AttentionInputs) -> None:
        if part.composed[0].start < part.composed[0].stop:
            self._compose(part.composed, given)
        self.forward_begins.advance(*part.forward_begins)
        self.backward_begins.advance(*part.backward_begins)
        for rows in part.forward:
            self.forward.advance(*rows, given.forward.recurrent.t())
        for rows in part.backward:
            self.backward.advance(*rows, given.backward.recurrent.t())
        if part.stack:
            self._push(part.stack, given)

    def _push(self, steps: list[Rows], given: AttentionInputs) -> None:
        """Compute one layer after the other, each for all steps."""
        all_rows = slice(steps[0][0], steps[-1][1])
        inputs = self.inputs.index_select(0, self.batch.stack_vector[all_rows])
        self._steps(self.layers[0], steps, inputs, given.stack.recurrent)
        for lower, layer, weights in zip(self.layers, self.layers[1:], given.upper, strict=False):
            read = lower.state[all_rows, : lower.hidden]
            if weights.mask is not None:
                read = read * weights.mask[all_rows]
            inputs = torch.addmm(weights.bias, read, weights.inputs.t())
            self._steps(layer, steps, inputs, weights.recurrent)

    @staticmethod
    def _steps(layer: StackLayer, steps: list[Rows], inputs: Tensor, weight: Tensor) -> None:
        first = steps[0][0]
        for begin, end in steps:
            layer.advance(begin, end, inputs[begin - first : end - first], weight.t())

    def _compose(self, group: ComposedRows, given: AttentionInputs) -> None:
        rows, children = group
        batch, size = self.batch, self.forward.size
        read, top = self.attention.read[children], self.layers[-1]
        read[:, :size] = self.forward.state.index_select(0, batch.child_forward[children])[:, :size]
        read[:, size:] = self.backward.state.index_select(0, batch.child_backward[children])[
            :, :size
        ]
        hidden = top.state.index_select(0, batch.constituent_top[rows])[:, : top.hidden]
        vectors = self.attention.advance(group, hidden, given.attention)
        for reader, inputs, first in (
            (given.stack, self.inputs, self.first),
            (given.forward, self.forward.inputs, self.types),
            (given.backward, self.backward.inputs, self.types),
        ):
            out = inputs[first + rows.start : first + rows.stop]
            torch.addmm(reader.bias, vectors, reader.inputs.t(), out=out)


def _chain(
    words: Tensor, vector: Tensor, previous: Tensor, count: int
) -> tuple[CellChain, BeginningCells]:
    chain = CellChain(words, vector[count:], previous, firsts=count, extra=count)
    return chain, BeginningCells(chain, vector[:count])


class _Backward:
    """The backward pass."""

    def __init__(self, run: _Forward, given: AttentionInputs, gradient: Tensor) -> None:
        self._run, self._given = run, given
        self.inputs = torch.zeros_like(run.inputs)
        self.forward = CellChainBackward(run.forward, given.forward.recurrent)
        self.backward = CellChainBackward(run.backward, given.backward.recurrent)
        self._forward_begins = BeginningCellsBackward(run.forward_begins, self.forward)
        self._backward_begins = BeginningCellsBackward(run.backward_begins, self.backward)
        self.attention = AttentionCellsBackward(run.attention, given.attention)
        recurrent = [given.stack.recurrent, *(layer.recurrent for layer in given.upper)]
        self.layers = [
            StackLayerBackward(layer, weight, run.batch.stack_sizes[0])
            for layer, weight in zip(run.layers, recurrent, strict=True)
        ]
        self.layers[-1].state[:, : gradient.shape[1]] = gradient

    def advance(self, part: _Round) -> None:
        if part.stack:
            self._push(part.stack)
        for rows in reversed(part.backward):
            self.backward.advance(*rows)
        for rows in reversed(part.forward):
            self.forward.advance(*rows)
        self._backward_begins.advance(*part.backward_begins)
        self._forward_begins.advance(*part.forward_begins)
        if part.composed[0].start < part.composed[0].stop:
            self._compose(part.composed)

    def _push(self, steps: list[Rows]) -> None:
        rows = slice(steps[0][0], steps[-1][1])
        for number in range(len(self.layers) - 1, -1, -1):
            layer = self.layers[number]
            for begin, end in reversed(steps):
                layer.advance(begin, end)
            if number > 0:
                weights = self._given.upper[number - 1]
                read = layer.gates[rows] @ weights.inputs
                if weights.mask is not None:
                    read.mul_(weights.mask[rows])
                self.layers[number - 1].state[rows, : read.shape[1]] += read
        add_rows_(self.inputs, self._run.batch.stack_vector[rows], self.layers[0].gates[rows])

    def _compose(self, group: ComposedRows) -> None:
        rows, children = group
        run, given, batch = self._run, self._given, self._run.batch
        total = self._constituents(self.inputs, run.first)[rows] @ given.stack.inputs
        for chain, weights in ((self.forward, given.forward), (self.backward, given.backward)):
            total.addmm_(self._constituents(chain.inputs, run.types)[rows], weights.inputs)
        read, hidden = self.attention.advance(group, total)
        size = run.forward.size
        # Each child is read by one constituent, and each state closes at most one.
        add_rows_(self.forward.state[:, :size], batch.child_forward[children], read[:, :size])
        add_rows_(self.backward.state[:, :size], batch.child_backward[children], read[:, size:])
        top = self.layers[-1].state[:, : hidden.shape[1]]
        add_rows_(top, batch.constituent_top[rows], hidden)

    def _constituents(self, inputs: Tensor, first: int) -> Tensor:
        return inputs[first : first + len(self._run.attention.vectors)]

    def gradients(self) -> tuple[Tensor | None, ...]:
        """Return the gradients of all tensors in a row, after all rounds."""
        run = self._run
        return AttentionInputs(
            projected=Projected(
                stack=torch.cat([self.inputs[: run.first], self.inputs[-1:]]),
                forward=self.forward.inputs[: run.types],
                backward=self.backward.inputs[: run.types],
            ),
            prepared=self.attention.prepared_gradient,
            masks=AttentionMasks(None, None),
            attention=self.attention.weight_gradient,
            stack=self._reader(self.inputs, run.first, self.layers[0].weight_gradient),
            forward=self._reader(self.forward.inputs, run.types, self.forward.weight_gradient),
            backward=self._reader(self.backward.inputs, run.types, self.backward.weight_gradient),
            upper=tuple(self._upper(number) for number in range(len(self._given.upper))),
        ).tensors()

    def _reader(self, inputs: Tensor, first: int, recurrent: Tensor) -> ReaderWeights:
        constituents = self._constituents(inputs, first)
        return ReaderWeights(
            inputs=constituents.t() @ self._run.attention.vectors,
            bias=constituents.sum(0),
            recurrent=recurrent,
        )

    def _upper(self, number: int) -> UpperLayer:
        lower, layer = self._run.layers[number], self.layers[number + 1]
        read, mask = lower.state[:, : lower.hidden], self._given.upper[number].mask
        return UpperLayer(
            inputs=layer.gates.t() @ (read if mask is None else read * mask),
            bias=layer.gates.sum(0),
            recurrent=layer.weight_gradient,
            mask=None,
        )


class _AttentionRounds(torch.autograd.Function):
    """``(rows, hidden)`` states of the top layer."""

    @staticmethod
    def forward(ctx: Any, batch: TimedTreeBatch, *tensors: Tensor | None) -> Tensor:
        given = AttentionInputs.of(tensors).by_column()
        run = _Forward(given, batch)
        for part in _rounds(batch):
            run.advance(part, given)
        ctx.save_for_backward(*tensors)
        ctx.run = run
        top = run.layers[-1]
        return top.state[:, : top.hidden].contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        run = _Backward(ctx.run, AttentionInputs.of(ctx.saved_tensors), gradients[0])
        for part in reversed(_rounds(ctx.run.batch)):
            run.advance(part)
        return None, *run.gradients()
