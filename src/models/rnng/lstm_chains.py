"""Chains of LSTM cells over the children of constituents, level by level.

A chain starts from a state that is given, or from a cell that begins it (:class:`BeginningCells`).
Cells read the input projections of word types, or of constituents as these are completed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gardenpath.models.rnng.lstm_levels import add_rows_, cell_, cell_backward_


class CellChain:
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


class CellChainBackward:
    """The backward pass of one direction; ``state`` collects the gradients of states."""

    def __init__(self, chain: CellChain, weight: Tensor) -> None:
        self._chain = chain
        self._weight = weight
        self.state = torch.zeros_like(chain.state)
        self.gates = torch.empty_like(chain.gates)
        self.inputs = torch.zeros_like(chain.inputs)

    def advance(self, begin: int, end: int) -> None:
        """Propagate the gradients of a level to inputs and previous cells."""
        if begin == end:
            return
        chain, gates = self._chain, self.gates[begin:end]
        previous = chain.previous[begin:end]
        passed = gates.new_empty(end - begin, 2 * chain.size)
        cell_backward_(
            (
                chain.gates[begin:end],
                chain.cell_tanh[begin:end],
                chain.state[:, chain.size :].index_select(0, previous),
            ),
            self.state[chain.firsts + begin : chain.firsts + end],
            gates,
            passed[:, chain.size :],
        )
        torch.mm(gates, self._weight, out=passed[:, : chain.size])
        add_rows_(self.state, previous, passed)
        add_rows_(self.inputs, chain.vector[begin:end], gates)

    @property
    def weight_gradient(self) -> Tensor:
        """``(4 · size, size)``, after all levels."""
        chain = self._chain
        return self.gates.t() @ chain.state[:, : chain.size].index_select(0, chain.previous)


class BeginningCells:
    """The cells that begin chains from a zero state: they compute the first states of a chain."""

    def __init__(self, chain: CellChain, vector: Tensor) -> None:
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

    def __init__(self, cells: BeginningCells, chain: CellChainBackward) -> None:
        self._cells, self._chain = cells, chain

    def advance(self, begin: int, end: int) -> None:
        """Propagate the gradients of a level to inputs."""
        if begin == end:
            return
        cells = self._cells
        gates = torch.empty_like(cells.gates[begin:end])
        saved = (cells.gates[begin:end], cells.cell_tanh[begin:end], None)
        cell_backward_(saved, self._chain.state[begin:end], gates, None)
        add_rows_(self._chain.inputs, cells.vector[begin:end], gates)
