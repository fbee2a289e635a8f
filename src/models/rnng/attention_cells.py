"""Gated attention over the children of all constituents of a batch, round by round.

Forward and hand-written backward pass of the equations in :mod:`attention_composition`, without the
LSTM over children. Everything that does not depend on the stack is given; weight gradients are
formed once, for all rounds.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


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
        weight = self._weights(query @ read.t(), self._owner[children])
        self.weight.append(weight)
        torch.mm(weight, read, out=mean)
        if self.masks.mean is not None:
            mean.mul_(self.masks.mean[rows])
        gate, mixed = self.gate[rows], self.mixed[rows]
        torch.addmm(self.prepared.gate[rows], mean, weights.gate.t(), out=gate).sigmoid_()
        torch.lerp(mean, self.prepared.own[rows], gate, out=mixed)
        vectors = torch.addmm(weights.bias, mixed, weights.output.t(), out=self.vectors[rows])
        return vectors.relu_()

    @staticmethod
    def _weights(fit: Tensor, owner: Tensor) -> Tensor:
        """``(constituents, children)``: zero for children of other constituents."""
        number = torch.arange(len(fit), device=fit.device).unsqueeze(1)
        return fit.masked_fill_(owner != number, -torch.inf).softmax(1)


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
        mean = self._to_mean(rows, gradient)
        by_weight = mean @ read.t()
        fit = weight * (by_weight - (by_weight * weight).sum(1, keepdim=True))
        query = torch.mm(fit, read, out=self._query[rows])
        read_gradient = torch.addmm(weight.t() @ mean, fit.t(), cells.query[rows])
        state = torch.mm(query, weights.match.t(), out=self._state[rows])
        hidden = state.mul_(cells.state[rows] > 0) @ weights.to_state
        if cells.masks.hidden is not None:
            hidden.mul_(cells.masks.hidden[rows])
        return read_gradient, hidden

    def _to_mean(self, rows: slice, gradient: Tensor) -> Tensor:
        """Return the gradient of the means before dropout."""
        cells, weights = self._cells, self._weights
        vectors = torch.mul(gradient, cells.vectors[rows] > 0, out=self._vectors[rows])
        mixed = torch.mm(vectors, weights.output, out=self._mixed[rows])
        gate = torch.mul(mixed, self._mixed_to_gate[rows], out=self._gate[rows])
        mean = torch.addcmul(mixed, mixed, cells.gate[rows], value=-1).addmm_(gate, weights.gate)
        return mean if cells.masks.mean is None else mean.mul_(cells.masks.mean[rows])

    @property
    def prepared_gradient(self) -> Prepared:
        """The gradient of what was given, after all rounds."""
        return Prepared(query=self._query, own=self._mixed * self._cells.gate, gate=self._gate)

    @property
    def weight_gradient(self) -> AttentionWeights:
        """The gradient of the weights, after all rounds."""
        cells = self._cells
        return AttentionWeights(
            to_state=self._state.t() @ torch.cat(cells.hidden),
            state_bias=self._state.sum(0),
            match=cells.state.t() @ self._query,
            gate=self._gate.t() @ cells.mean,
            output=self._vectors.t() @ cells.mixed,
            bias=self._vectors.sum(0),
        )
