"""States of all stack elements of a batch whose constituents are composed by gated attention.

Chains over children, attention and stack depend on each other and advance together, level by level
(:mod:`timed_tree_batches`). Only what is recurrent is computed there: words and labels are
projected beforehand, and weight gradients are formed once, for all levels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from gardenpath.data.batches.timed_tree_batches import TimedTreeBatch
from gardenpath.models.rnng.attention_cells import (
    AttentionCells,
    AttentionCellsBackward,
    AttentionMasks,
    Level,
)
from gardenpath.models.rnng.attention_inputs import (
    Computation,
    Projected,
    ReaderWeights,
    UpperLayer,
)
from gardenpath.models.rnng.lstm_chains import (
    BeginningCells,
    BeginningCellsBackward,
    Chain,
    ChainBackward,
)
from gardenpath.models.rnng.lstm_levels import (
    StackLayer,
    StackLayerBackward,
    add_rows_,
    apply_in_full_precision,
    bounds,
)


def attention_states(computation: Computation, batch: TimedTreeBatch) -> Tensor:
    """``(rows, hidden)`` states of the top layer after each stack element of a batch."""
    return apply_in_full_precision(_AttentionLevels, batch, *computation.tensors())


class _Levels(NamedTuple):
    """The rows of one level."""

    composed: Level
    forward_begins: tuple[int, int]
    backward_begins: tuple[int, int]
    forward: tuple[int, int]
    backward: tuple[int, int]
    stack: tuple[int, int]


def _levels(batch: TimedTreeBatch) -> list[_Levels]:
    sizes = (
        batch.constituent_sizes, batch.child_sizes, batch.forward_begin_sizes,
        batch.backward_begin_sizes, batch.forward_sizes, batch.backward_sizes, batch.stack_sizes,
    )  # fmt: skip
    return [
        _Levels((slice(*rows), slice(*children)), *rest)
        for rows, children, *rest in zip(*map(bounds, sizes), strict=True)
    ]


class _Forward:
    """The forward pass, with all that the backward pass needs."""

    def __init__(self, given: Computation, batch: TimedTreeBatch) -> None:
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
            StackLayer(known, batch.stack_below, hidden, extra=extra)
            for extra in (0, *[hidden] * len(given.upper))
        ]

    def advance(self, level: _Levels, given: Computation) -> None:
        if level.composed[0].start < level.composed[0].stop:
            self._compose(level.composed, given)
        self.forward_begins.advance(*level.forward_begins)
        self.backward_begins.advance(*level.backward_begins)
        self.forward.advance(*level.forward, given.forward.recurrent.t())
        self.backward.advance(*level.backward, given.backward.recurrent.t())
        begin, end = level.stack
        if begin == end:
            return
        inputs = self.inputs.index_select(0, self.batch.stack_vector[begin:end])
        self.layers[0].advance(begin, end, inputs, given.stack.recurrent.t())
        for lower, layer, weights in zip(self.layers, self.layers[1:], given.upper, strict=False):
            read = layer.read[begin:end, : layer.extra]
            read.copy_(lower.state[begin:end, : lower.hidden])
            if weights.mask is not None:
                read.mul_(weights.mask[begin:end])
            layer.advance(begin, end, weights.bias, weights.weight.t())

    def _compose(self, level: Level, given: Computation) -> None:
        rows, children = level
        batch, size = self.batch, self.forward.size
        read, top = self.attention.read[children], self.layers[-1]
        read[:, :size] = self.forward.state.index_select(0, batch.child_forward[children])[:, :size]
        read[:, size:] = self.backward.state.index_select(0, batch.child_backward[children])[
            :, :size
        ]
        hidden = top.state.index_select(0, batch.constituent_top[rows])[:, : top.hidden]
        vectors = self.attention.advance(level, hidden, given.attention)
        for reader, inputs, first in (
            (given.stack, self.inputs, self.first),
            (given.forward, self.forward.inputs, self.types),
            (given.backward, self.backward.inputs, self.types),
        ):
            out = inputs[first + rows.start : first + rows.stop]
            torch.addmm(reader.bias, vectors, reader.inputs.t(), out=out)


def _chain(
    words: Tensor, vector: Tensor, previous: Tensor, count: int
) -> tuple[Chain, BeginningCells]:
    chain = Chain(words, vector[count:], previous, firsts=count, extra=count)
    return chain, BeginningCells(chain, vector[:count])


class _Backward:
    """The backward pass."""

    def __init__(self, run: _Forward, given: Computation, gradient: Tensor) -> None:
        self._run, self._given = run, given
        self.inputs = torch.zeros_like(run.inputs)
        self.forward = ChainBackward(run.forward, given.forward.recurrent)
        self.backward = ChainBackward(run.backward, given.backward.recurrent)
        self._forward_begins = BeginningCellsBackward(run.forward_begins, self.forward)
        self._backward_begins = BeginningCellsBackward(run.backward_begins, self.backward)
        self.attention = AttentionCellsBackward(run.attention, given.attention)
        stack = [given.stack.recurrent, *(layer.weight for layer in given.upper)]
        self.layers = [
            StackLayerBackward(layer, weight)
            for layer, weight in zip(run.layers, stack, strict=True)
        ]
        self.layers[-1].state[:, : gradient.shape[1]] = gradient

    def advance(self, level: _Levels) -> None:
        begin, end = level.stack
        if begin < end:
            self._stack(begin, end)
        self.backward.advance(*level.backward)
        self.forward.advance(*level.forward)
        self._backward_begins.advance(*level.backward_begins)
        self._forward_begins.advance(*level.forward_begins)
        if level.composed[0].start < level.composed[0].stop:
            self._compose(level.composed)

    def _stack(self, begin: int, end: int) -> None:
        for number in range(len(self.layers) - 1, 0, -1):
            read, mask = self.layers[number].advance(begin, end), self._given.upper[number - 1].mask
            if mask is not None:
                read.mul_(mask[begin:end])
            self.layers[number - 1].state[begin:end, : read.shape[1]] += read
        self.layers[0].advance(begin, end)
        gates, vectors = self.layers[0].gates[begin:end], self._run.batch.stack_vector[begin:end]
        add_rows_(self.inputs, vectors, gates)

    def _compose(self, level: Level) -> None:
        rows, children = level
        run, given, batch = self._run, self._given, self._run.batch
        total = self._constituents(self.inputs, run.first)[rows] @ given.stack.inputs
        for chain, weights in ((self.forward, given.forward), (self.backward, given.backward)):
            total.addmm_(self._constituents(chain.inputs, run.types)[rows], weights.inputs)
        read, hidden = self.attention.advance(level, total)
        size = run.forward.size
        # Each child is read by one constituent, and each state closes at most one.
        add_rows_(self.forward.state[:, :size], batch.child_forward[children], read[:, :size])
        add_rows_(self.backward.state[:, :size], batch.child_backward[children], read[:, size:])
        top = self.layers[-1].state[:, : hidden.shape[1]]
        add_rows_(top, batch.constituent_top[rows], hidden)

    def _constituents(self, inputs: Tensor, first: int) -> Tensor:
        return inputs[first : first + len(self._run.attention.vectors)]

    def gradients(self) -> tuple[Tensor | None, ...]:
        """Return the gradients of all tensors in a row, after all levels."""
        run = self._run
        return Computation(
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
            upper=tuple(
                UpperLayer(weight=layer.weight_gradient, bias=layer.gates.sum(0), mask=None)
                for layer in self.layers[1:]
            ),
        ).tensors()

    def _reader(self, inputs: Tensor, first: int, recurrent: Tensor) -> ReaderWeights:
        constituents = self._constituents(inputs, first)
        return ReaderWeights(
            inputs=constituents.t() @ self._run.attention.vectors,
            bias=constituents.sum(0),
            recurrent=recurrent,
        )


class _AttentionLevels(torch.autograd.Function):
    """``(rows, hidden)`` states of the top layer."""

    @staticmethod
    def forward(ctx: Any, batch: TimedTreeBatch, *tensors: Tensor | None) -> Tensor:
        given = Computation.of(tensors).by_column()
        run = _Forward(given, batch)
        for level in _levels(batch):
            run.advance(level, given)
        ctx.save_for_backward(*tensors)
        ctx.run = run
        top = run.layers[-1]
        return top.state[:, : top.hidden].contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        run = _Backward(ctx.run, Computation.of(ctx.saved_tensors), gradients[0])
        for level in reversed(_levels(ctx.run.batch)):
            run.advance(level)
        return None, *run.gradients()
