"""Chains of LSTM cells over the children of constituents, level by level.

A chain starts from a state that is given, or from a cell that begins it (:class:`BeginningCells`).
Cells read the input projections of word types, or of constituents as these are completed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gardenpath.models.rnng.lstm_levels import CellDerivatives, add_rows_, cell_


class Chain:
    """One direction of a composition LSTM: buffers for all of its cells.

    Cell k reads row ``vector[k]`` of the inputs after row ``previous[k]`` of the states, which are
    numbered: the first states of chains (``firsts``), then cells.
    """

    def __init__(
        self, word_inputs: Tensor, vector: Tensor, previous: Tensor, *, firsts: int, extra: int
    ) -> None:
        words, width = word_inputs.shape
        self.size = width // 4
        self.firsts = firsts
        self.vector, self.previous = vector, previous
        cells = len(vector)
        # Input projections: of word types, then of constituents as they are completed.
        self.inputs = word_inputs.new_empty(words + extra, width)
        self.inputs[:words] = word_inputs
        self.state = word_inputs.new_empty(firsts + cells, 2 * self.size)
        self.gates = word_inputs.new_empty(cells, width)
        self.cell_tanh = word_inputs.new_empty(cells, self.size)

    def advance(self, begin: int, end: int, transposed: Tensor) -> None:
        """Compute the cells of a level."""
        if begin == end:
            return
        before = self.state.index_select(0, self.previous[begin:end])
        inputs = self.inputs.index_select(0, self.vector[begin:end])
        gates = self.gates[begin:end]
        torch.addmm(inputs, before[:, : self.size], transposed, out=gates)
        state = self.state[self.firsts + begin : self.firsts + end]
        cell_(gates, before[:, self.size :], state, self.cell_tanh[begin:end])


class ChainBackward:
    """The backward pass of one direction."""

    def __init__(self, chain: Chain, weight: Tensor) -> None:
        self._chain = chain
        self._weight = weight
        self.before = chain.state.index_select(0, chain.previous)
        self._derivatives = CellDerivatives(
            chain.gates, chain.cell_tanh, self.before[:, chain.size :]
        )
        self.state = torch.zeros_like(chain.state)
        self.gates = torch.empty_like(chain.gates)
        self.inputs = torch.zeros_like(chain.inputs)

    def advance(self, begin: int, end: int) -> None:
        """Propagate the gradients of a level to inputs and previous cells."""
        if begin == end:
            return
        chain = self._chain
        level = self.gates[begin:end]
        passed = level.new_empty(end - begin, 2 * chain.size)
        state = self.state[chain.firsts + begin : chain.firsts + end]
        self._derivatives.backward_(begin, end, state, level, passed)
        torch.mm(level, self._weight, out=passed[:, : chain.size])
        add_rows_(self.state, chain.previous[begin:end], passed)
        add_rows_(self.inputs, chain.vector[begin:end], level)

    @property
    def weight_gradient(self) -> Tensor:
        return self.gates.t() @ self.before[:, : self._chain.size]


class BeginningCells:
    """The cells that begin chains from a zero state: they compute the first states of a chain."""

    def __init__(self, chain: Chain, vector: Tensor) -> None:
        self.chain, self.vector = chain, vector
        self.gates = chain.inputs.new_empty(len(vector), 4 * chain.size)
        self.cell_tanh = chain.inputs.new_empty(len(vector), chain.size)

    def advance(self, begin: int, end: int) -> None:
        """Compute the cells of a level."""
        if begin == end:
            return
        gates = self.gates[begin:end]
        gates.copy_(self.chain.inputs.index_select(0, self.vector[begin:end]))
        cell_(gates, None, self.chain.state[begin:end], self.cell_tanh[begin:end])


class BeginningCellsBackward:
    """The backward pass of these cells, whose gradients go to the inputs alone."""

    def __init__(self, cells: BeginningCells, chain: ChainBackward) -> None:
        self._cells, self._chain = cells, chain
        zero = cells.cell_tanh.new_zeros(1, 1).expand_as(cells.cell_tanh)
        self._derivatives = CellDerivatives(cells.gates, cells.cell_tanh, zero)

    def advance(self, begin: int, end: int) -> None:
        """Propagate the gradients of a level to inputs."""
        if begin == end:
            return
        state = self._chain.state[begin:end]
        gates = state.new_empty(end - begin, self._cells.gates.shape[1])
        self._derivatives.backward_(begin, end, state, gates, torch.empty_like(state))
        add_rows_(self._chain.inputs, self._cells.vector[begin:end], gates)
