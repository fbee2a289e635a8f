"""Gated attention composition (Kuncoro et al. 2017) for the training of RNNGs, round by round.

A vector composed by attention depends on the stack, and the stack on the vectors, so that both are
computed together in rounds, with a hand-written backward pass. Everything that does not depend on
the stack is computed beforehand, and weight gradients are formed once, for all rounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_type_hints

import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.batches.trees import Sizes, TimedTreeBatch
from gardenpath.models.syntactic.composition import (
    CellChain,
    CellChainBackward,
    Cells,
    CellsBackward,
    add_rows_,
    apply_in_full_precision,
    bounds,
    cell_chain,
    dropout_mask,
    stack_layer,
)


class Prepared(NamedTuple):
    """What is known of constituents before they are composed, ``(constituents, 2 · size)``."""

    query: Tensor
    """o_label V: the part of the query for the label."""
    own: Tensor
    """t_label."""
    gate: Tensor
    """G t_label + b: the part of the gate for the label."""


class AttentionWeights(NamedTuple):
    """The weights that are applied round by round."""

    to_state: Tensor
    """U, ``(size, hidden)``; u = ReLU(U h + d)."""
    state_bias: Tensor
    match: Tensor
    """The rows of V that u is multiplied with, ``(size, 2 · size)``."""
    gate: Tensor
    """The columns of G for the mean of the children, ``(2 · size, 2 · size)``."""
    output: Tensor
    """W, ``(size, 2 · size)``."""
    bias: Tensor


class AttentionMasks(NamedTuple):
    """Dropout masks: of the hidden states that u is computed from, and of the means of children."""

    hidden: Tensor | None
    mean: Tensor | None


ComposedRows = tuple[slice, slice]
"""The constituents of a round, and their children."""


class AttentionCells:
    """Buffers for all constituents of a batch.

    Children are in the order of constituents; ``owner`` is the number of a child's constituent,
    within its round.
    """

    def __init__(self, prepared: Prepared, masks: AttentionMasks, owner: Tensor) -> None:
        like = prepared.own
        count, width = like.shape
        self.prepared, self.masks, self._owner = prepared, masks, owner
        self.read = like.new_empty(len(owner), width)
        self.state = like.new_empty(count, width // 2)
        self.query, self.mean, self.gate, self.mixed = (torch.empty_like(like) for _ in range(4))
        self.vectors = like.new_empty(count, width // 2)
        # Hidden states and, by round, the weights of all its children for all its constituents.
        self.hidden: list[Tensor] = []
        self.weight: list[Tensor] = []

    def advance(self, group: ComposedRows, hidden: Tensor, weights: AttentionWeights) -> Tensor:
        """``(constituents, size)`` vectors of a round; ``read`` must contain its children.

        ``hidden`` are the states of the stack in which they are closed, which may be changed.
        """
        rows, children = group
        if self.masks.hidden is not None:
            hidden.mul_(self.masks.hidden[rows])
        self.hidden.append(hidden)
        state = torch.addmm(weights.state_bias, hidden, weights.to_state.t(), out=self.state[rows])
        query = self.query[rows]
        torch.addmm(self.prepared.query[rows], state.relu_(), weights.match, out=query)
        read, mean = self.read[children], self.mean[rows]
        # Zero for children of other constituents.
        number = torch.arange(len(query), device=query.device).unsqueeze(1)
        fit = (query @ read.t()).masked_fill_(self._owner[children] != number, -torch.inf)
        weight = fit.softmax(1)
        self.weight.append(weight)
        torch.mm(weight, read, out=mean)
        if self.masks.mean is not None:
            mean.mul_(self.masks.mean[rows])
        gate, mixed = self.gate[rows], self.mixed[rows]
        torch.addmm(self.prepared.gate[rows], mean, weights.gate.t(), out=gate).sigmoid_()
        torch.lerp(mean, self.prepared.own[rows], gate, out=mixed)
        vectors = torch.addmm(weights.bias, mixed, weights.output.t(), out=self.vectors[rows])
        return vectors.relu_()


class AttentionCellsBackward:
    """The backward pass; rounds are passed through from the last to the first."""

    def __init__(self, cells: AttentionCells, weights: AttentionWeights) -> None:
        self._cells, self._weights = cells, weights
        self._rounds = len(cells.weight)
        self._mixed_to_gate = (cells.prepared.own - cells.mean) * cells.gate * (1 - cells.gate)
        self._query, self._gate, self._mixed = (torch.empty_like(cells.mean) for _ in range(3))
        self._state, self._vectors = (torch.empty_like(cells.vectors) for _ in range(2))

    def advance(self, group: ComposedRows, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of the children that were read, and of the hidden states.

        ``gradient`` is that of the vectors.
        """
        cells, weights = self._cells, self._weights
        rows, children = group
        self._rounds -= 1
        weight, read = cells.weight[self._rounds], cells.read[children]
        vectors = torch.mul(gradient, cells.vectors[rows] > 0, out=self._vectors[rows])
        mixed = torch.mm(vectors, weights.output, out=self._mixed[rows])
        gate = torch.mul(mixed, self._mixed_to_gate[rows], out=self._gate[rows])
        # The gradient of the means before dropout.
        mean = torch.addcmul(mixed, mixed, cells.gate[rows], value=-1).addmm_(gate, weights.gate)
        if cells.masks.mean is not None:
            mean.mul_(cells.masks.mean[rows])
        by_weight = mean @ read.t()
        fit = weight * (by_weight - (by_weight * weight).sum(1, keepdim=True))
        query = torch.mm(fit, read, out=self._query[rows])
        read_gradient = torch.addmm(weight.t() @ mean, fit.t(), cells.query[rows])
        state = torch.mm(query, weights.match.t(), out=self._state[rows])
        hidden = state.mul_(cells.state[rows] > 0) @ weights.to_state
        if cells.masks.hidden is not None:
            hidden.mul_(cells.masks.hidden[rows])
        return read_gradient, hidden

    @property
    def prepared_gradient(self) -> Prepared:
        """The gradient of what was given, after all rounds."""
        return Prepared(query=self._query, own=self._mixed * self._cells.gate, gate=self._gate)

    @property
    def weight_gradient(self) -> AttentionWeights:
        """The gradient of the weights, after all rounds."""
        cells = self._cells
        return AttentionWeights(
            to_state=self._state.t() @ torch.cat(cells.hidden), state_bias=self._state.sum(0),
            match=cells.state.t() @ self._query, gate=self._gate.t() @ cells.mean,
            output=self._vectors.t() @ cells.mixed, bias=self._vectors.sum(0),
        )  # fmt: skip


# ----------------------------------------------------------------------------
# All tensors from which states are computed, in a row for :class:`torch.autograd.Function`.


class Projected(NamedTuple):
    """Input projections with bias of what is known beforehand.

    ``stack``: words, labels and the start; ``forward`` and ``backward``: words.
    """

    stack: Tensor
    forward: Tensor
    backward: Tensor


class ReaderWeights(NamedTuple):
    """Weights of an LSTM that reads vectors: the lowest layer of the stack, or a chain."""

    inputs: Tensor
    bias: Tensor
    recurrent: Tensor


class UpperLayer(NamedTuple):
    """Weights of a layer of the stack that reads another, and the dropout mask of what it reads."""

    inputs: Tensor
    bias: Tensor
    recurrent: Tensor
    mask: Tensor | None


class AttentionInputs(NamedTuple):
    """All tensors that are needed to compute states."""

    projected: Projected
    prepared: Prepared
    masks: AttentionMasks
    attention: AttentionWeights
    stack: ReaderWeights
    forward: ReaderWeights
    backward: ReaderWeights
    upper: tuple[UpperLayer, ...]

    def tensors(self) -> tuple[Tensor | None, ...]:
        """Return all tensors in a row."""
        parts = (*self[:-1], *self.upper)
        return tuple(tensor for part in parts for tensor in part)

    def by_column(self) -> AttentionInputs:
        """Store weights by column: they are multiplied with few rows at a time, from the right."""

        def changed(part: Any, *names: str) -> Any:
            weights = {name: getattr(part, name).t().contiguous().t() for name in names}
            return part._replace(**weights)

        readers = {
            name: changed(getattr(self, name), "inputs", "recurrent")
            for name in ("stack", "forward", "backward")
        }
        return self._replace(
            attention=changed(self.attention, "to_state", "gate", "output"),
            upper=tuple(changed(layer, "inputs", "recurrent") for layer in self.upper),
            **readers,
        )

    @classmethod
    def of(cls, tensors: tuple[Any, ...]) -> AttentionInputs:
        """Put tensors in a row in their places again."""
        rest = iter(tensors)

        def take(kind: Any) -> Any:
            return kind(*(next(rest) for _ in kind._fields))

        parts = {name: take(kind) for name, kind in _PARTS.items()}
        used = sum(len(part) for part in parts.values())
        layers = (len(tensors) - used) // len(UpperLayer._fields)
        return cls(**parts, upper=tuple(take(UpperLayer) for _ in range(layers)))


# The kinds of all parts of a computation but the upper layers, in their order.
_PARTS = {name: kind for name, kind in get_type_hints(AttentionInputs).items() if name != "upper"}


# ----------------------------------------------------------------------------
# The children, read by a bidirectional LSTM, are weighted by their match with the label and the
# state u in which the constituent is closed; a gate mixes their weighted mean with the label's
# vector::
#
#     a_i ∝ exp(h_i · V [o_label; u])        m = Σ a_i h_i
#     g = σ(G [t_label; m] + b)              vector = ReLU(W (g ⊙ t_label + (1 - g) ⊙ m) + c)


class AttentionComposition(nn.Module):
    """Weights: ``lstm`` over children; ``label_query`` (o), ``label_vector`` (t), ``match`` (V),
    ``gate`` (G, b) and ``output`` (W, c).
    """

    def __init__(self, *, size: int, label_count: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.lstm = nn.LSTM(size, size, bidirectional=True)
        self.label_query = nn.Embedding(label_count, size)
        self.label_vector = nn.Embedding(label_count, 2 * size)
        self.match = nn.Linear(2 * size, 2 * size, bias=False)
        self.gate = nn.Linear(4 * size, 2 * size)
        self.output = nn.Linear(2 * size, size)
        self.dropout = nn.Dropout(dropout)

    def prepared(self, labels: Tensor) -> Prepared:
        """Compute what depends only on the labels of constituents."""
        size = self.size
        # h · V [o; u] = h · (V_o o + V_u u), so labels and children need no product with V.
        query = self.label_query.weight @ self.match.weight[:size]
        own = self.dropout(self.label_vector(labels))
        gate = functional.linear(own, self.gate.weight[:, : 2 * size], self.gate.bias)
        return Prepared(query=functional.embedding(labels, query), own=own, gate=gate)

    def weights(self, to_output: nn.Linear) -> AttentionWeights:
        """Return the weights of the attention; ``to_output`` computes u."""
        return AttentionWeights(
            to_state=to_output.weight, state_bias=to_output.bias,
            match=self.match.weight[self.size :], gate=self.gate.weight[:, 2 * self.size :],
            output=self.output.weight, bias=self.output.bias,
        )  # fmt: skip

    def readers(self) -> tuple[ReaderWeights, ReaderWeights]:
        """Return the weights of the two directions of the LSTM."""
        weights = dict(self.lstm.named_parameters())
        forward, backward = (
            ReaderWeights(
                inputs=weights[f"weight_ih_l0{suffix}"],
                bias=weights[f"bias_ih_l0{suffix}"] + weights[f"bias_hh_l0{suffix}"],
                recurrent=weights[f"weight_hh_l0{suffix}"],
            )
            for suffix in ("", "_reverse")
        )
        return forward, backward

    def masks(self, own: Tensor, hidden: int) -> AttentionMasks:
        """Draw the dropout masks of a batch, with a row for each row of ``own``."""
        return AttentionMasks(
            hidden=dropout_mask(self.dropout, own, len(own), hidden),
            mean=dropout_mask(self.dropout, own, *own.shape),
        )


# ----------------------------------------------------------------------------
# States of all stack elements: chains over children, attention and stack depend on each other and
# advance together, in rounds of several steps (:class:`TimedTreeBatch`).


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
        composed, bounds(batch.forward_begin_sizes), bounds(batch.backward_begin_sizes),
        _steps(batch.forward_sizes, batch.forward_steps),
        _steps(batch.backward_sizes, batch.backward_steps),
        _steps(batch.stack_sizes, batch.stack_steps), strict=True,
    )  # fmt: skip
    return [_Round((slice(*rows), slice(*children)), *rest) for (rows, children), *rest in parts]


def _steps(sizes: Sizes, steps: Sizes) -> list[list[Rows]]:
    """Return the rows of each step of each round."""
    rows = bounds(sizes)
    return [rows[begin:end] for begin, end in bounds(steps)]


class _Forward:
    """The forward pass, with all that the backward pass needs."""

    def __init__(self, inputs: AttentionInputs, batch: TimedTreeBatch) -> None:
        count = len(batch.constituent_label)
        known = inputs.projected.stack
        hidden = inputs.stack.recurrent.shape[1]
        self.batch = batch
        self.first = len(known) - 1  # the first constituent among the vectors
        self.inputs = known.new_empty(len(known) + count, 4 * hidden)
        self.inputs[: self.first], self.inputs[-1] = known[:-1], known[-1]
        self.types = len(inputs.projected.forward)
        self.forward, self.forward_begins = _chain(
            inputs.projected.forward, batch.forward_vector, batch.forward_previous, count
        )
        self.backward, self.backward_begins = _chain(
            inputs.projected.backward, batch.backward_vector, batch.backward_previous, count
        )
        self.attention = AttentionCells(inputs.prepared, inputs.masks, batch.child_constituent)
        self.layers = [
            stack_layer(known, batch.stack_below, hidden, starts=batch.stack_sizes[0])
            for _ in range(1 + len(inputs.upper))
        ]

    def advance(self, part: _Round, tensors: AttentionInputs) -> None:
        if part.composed[0].start < part.composed[0].stop:
            self._compose(part.composed, tensors)
        forward, backward = tensors.forward.recurrent.t(), tensors.backward.recurrent.t()
        self.forward_begins.read(*part.forward_begins, forward)
        self.backward_begins.read(*part.backward_begins, backward)
        for rows in part.forward:
            self.forward.read(*rows, forward)
        for rows in part.backward:
            self.backward.read(*rows, backward)
        if part.stack:
            self._push(part.stack, tensors)

    def _push(self, steps: list[Rows], tensors: AttentionInputs) -> None:
        """Compute one layer after the other, each for all steps."""
        all_rows = slice(steps[0][0], steps[-1][1])
        inputs = self.inputs.index_select(0, self.batch.stack_vector[all_rows])
        self._steps(self.layers[0], steps, inputs, tensors.stack.recurrent)
        for lower, layer, weights in zip(self.layers, self.layers[1:], tensors.upper, strict=False):
            read = lower.state[all_rows, : lower.size]
            if weights.mask is not None:
                read = read * weights.mask[all_rows]
            inputs = torch.addmm(weights.bias, read, weights.inputs.t())
            self._steps(layer, steps, inputs, weights.recurrent)

    @staticmethod
    def _steps(layer: Cells, steps: list[Rows], inputs: Tensor, weight: Tensor) -> None:
        first = steps[0][0]
        for begin, end in steps:
            layer.advance(begin, end, inputs[begin - first : end - first], weight.t())

    def _compose(self, group: ComposedRows, tensors: AttentionInputs) -> None:
        rows, children = group
        batch, size = self.batch, self.forward.size
        read, top = self.attention.read[children], self.layers[-1]
        read[:, :size] = self.forward.state.index_select(0, batch.child_forward[children])[:, :size]
        read[:, size:] = self.backward.state.index_select(0, batch.child_backward[children])[
            :, :size
        ]
        hidden = top.state.index_select(0, batch.constituent_top[rows])[:, : top.size]
        vectors = self.attention.advance(group, hidden, tensors.attention)
        for reader, inputs, first in (
            (tensors.stack, self.inputs, self.first),
            (tensors.forward, self.forward.inputs, self.types),
            (tensors.backward, self.backward.inputs, self.types),
        ):
            out = inputs[first + rows.start : first + rows.stop]
            torch.addmm(reader.bias, vectors, reader.inputs.t(), out=out)


def _chain(
    words: Tensor, vector: Tensor, previous: Tensor, count: int
) -> tuple[CellChain, CellChain]:
    """Return a chain, and the cells that begin it from a zero state."""
    chain = cell_chain(words, vector[count:], previous, firsts=count, extra=count)
    return chain, CellChain(chain.inputs, chain.state, vector[:count])


class _Backward:
    """The backward pass."""

    def __init__(self, run: _Forward, tensors: AttentionInputs, gradient: Tensor) -> None:
        self._run, self._tensors = run, tensors
        self.inputs = torch.zeros_like(run.inputs)
        self.forward = CellChainBackward(run.forward, tensors.forward.recurrent)
        self.backward = CellChainBackward(run.backward, tensors.backward.recurrent)
        self._forward_begins = CellChainBackward(
            run.forward_begins, tensors.forward.recurrent, self.forward
        )
        self._backward_begins = CellChainBackward(
            run.backward_begins, tensors.backward.recurrent, self.backward
        )
        self.attention = AttentionCellsBackward(run.attention, tensors.attention)
        recurrent = [tensors.stack.recurrent, *(layer.recurrent for layer in tensors.upper)]
        self.layers = [
            CellsBackward(layer, weight)
            for layer, weight in zip(run.layers, recurrent, strict=True)
        ]
        self.layers[-1].state[:, : gradient.shape[1]] = gradient

    def advance(self, part: _Round) -> None:
        if part.stack:
            self._push(part.stack)
        for rows in reversed(part.backward):
            self.backward.read(*rows)
        for rows in reversed(part.forward):
            self.forward.read(*rows)
        self._backward_begins.read(*part.backward_begins)
        self._forward_begins.read(*part.forward_begins)
        if part.composed[0].start < part.composed[0].stop:
            self._compose(part.composed)

    def _push(self, steps: list[Rows]) -> None:
        rows = slice(steps[0][0], steps[-1][1])
        for number in range(len(self.layers) - 1, -1, -1):
            layer = self.layers[number]
            for begin, end in reversed(steps):
                layer.advance(begin, end)
            if number > 0:
                weights = self._tensors.upper[number - 1]
                read = layer.gates[rows] @ weights.inputs
                if weights.mask is not None:
                    read.mul_(weights.mask[rows])
                self.layers[number - 1].state[rows, : read.shape[1]] += read
        add_rows_(self.inputs, self._run.batch.stack_vector[rows], self.layers[0].gates[rows])

    def _compose(self, group: ComposedRows) -> None:
        rows, children = group
        run, tensors, batch = self._run, self._tensors, self._run.batch
        total = self._constituents(self.inputs, run.first)[rows] @ tensors.stack.inputs
        for chain, weights in ((self.forward, tensors.forward), (self.backward, tensors.backward)):
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
        run, upper = self._run, []
        for lower, layer, weights in zip(
            run.layers, self.layers[1:], self._tensors.upper, strict=False
        ):
            read = lower.state[:, : lower.size]
            read = read if weights.mask is None else read * weights.mask
            inputs, bias = layer.gates.t() @ read, layer.gates.sum(0)
            upper.append(UpperLayer(inputs, bias, layer.weight_gradient, mask=None))
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
            upper=tuple(upper),
        ).tensors()

    def _reader(self, inputs: Tensor, first: int, recurrent: Tensor) -> ReaderWeights:
        constituents = self._constituents(inputs, first)
        return ReaderWeights(
            inputs=constituents.t() @ self._run.attention.vectors,
            bias=constituents.sum(0),
            recurrent=recurrent,
        )


class _AttentionRounds(torch.autograd.Function):
    """``(rows, hidden)`` states of the top layer."""

    @staticmethod
    def forward(ctx: Any, batch: TimedTreeBatch, *tensors: Tensor | None) -> Tensor:
        inputs = AttentionInputs.of(tensors).by_column()
        run = _Forward(inputs, batch)
        for part in _rounds(batch):
            run.advance(part, inputs)
        ctx.save_for_backward(*tensors)
        ctx.run = run
        top = run.layers[-1]
        return top.state[:, : top.size].contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        run = _Backward(ctx.run, AttentionInputs.of(ctx.saved_tensors), gradients[0])
        for part in reversed(_rounds(ctx.run.batch)):
            run.advance(part)
        return None, *run.gradients()
