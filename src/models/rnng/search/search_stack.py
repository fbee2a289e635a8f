"""Steps of the stack LSTM during a search, in as few operators as possible.

The gates are reordered once (input, forget, output, new), so that their sigmoids are one operator.
On a CPU, tanh is several times slower than the sigmoid; tanh(x) = 2σ(2x) - 1 is computed instead,
and the factors of two, which are exact, go into the weights: states are stored as h / 2 and 2c.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.models.rnng.rnng import RnngNetwork


class SearchStack:
    """The stack LSTM and the output layer u of a network, without dropout.

    ``by_sigmoid``: compute tanh by the sigmoid.
    """

    def __init__(self, network: RnngNetwork, *, by_sigmoid: bool) -> None:
        stack = network.stack
        self._by_sigmoid = by_sigmoid
        self._layers = len(stack.input)
        self.state_size = stack.state_size
        hidden_scale = 2.0 if by_sigmoid else 1.0
        scales = [1.0] + [hidden_scale] * (self._layers - 1)
        self._input = [
            self._ordered(weight) * scale for weight, scale in zip(stack.input, scales, strict=True)
        ]
        self._recurrent = [
            (self._ordered(weight) * hidden_scale).t().contiguous() for weight in stack.recurrent
        ]
        self._bias = [self._ordered(bias) for bias in stack.bias]
        self._output = (network.to_output.weight.detach() * hidden_scale).t().contiguous()
        self._output_bias = network.to_output.bias.detach()

    def _ordered(self, weight: Tensor) -> Tensor:
        """Reorder the rows of a weight by gate."""
        into, forget, new, out = weight.detach().chunk(4)
        return torch.cat([into, forget, out, new * 2 if self._by_sigmoid else new])

    def inputs(self, vectors: Tensor) -> Tensor:
        """``(rows, 4 · hidden)`` input projections of vectors to be pushed."""
        return functional.linear(vectors, self._input[0], self._bias[0])

    def step(self, inputs: Tensor, below: Tensor, again: Tensor | None, after: Tensor) -> None:
        """Write into ``after`` the states of vectors, given by their input projections.

        ``below``: ``(…, state_size)`` states they are pushed onto; ``again``: which of them is
        below each row, if several rows have the same. ``inputs`` are overwritten.
        """
        before = below.chunk(2 * self._layers, dim=1)
        places = after.chunk(2 * self._layers, dim=1)
        for layer in range(self._layers):
            hidden, cell = places[2 * layer], places[2 * layer + 1]
            cell_before = before[2 * layer + 1]
            if again is None:
                inputs.addmm_(before[2 * layer], self._recurrent[layer])
            else:
                recurrent = before[2 * layer] @ self._recurrent[layer]
                inputs += recurrent.index_select(0, again)
                cell_before = cell_before.index_select(0, again)
            self._cell(inputs, cell_before, hidden, cell)
            if layer + 1 < self._layers:
                inputs = functional.linear(hidden, self._input[layer + 1], self._bias[layer + 1])

    def _cell(self, gates: Tensor, before: Tensor, hidden: Tensor, cell: Tensor) -> None:
        """Perform one step in place: activate ``gates``, write ``hidden`` and ``cell``."""
        into, forget, out, new = gates.chunk(4, dim=1)
        if self._by_sigmoid:
            gates.sigmoid_()
            # 2c' = f · 2c + 2i(2σ - 1);  h / 2 = o(σ(2c) - ½)
            torch.mul(forget, before, out=cell)
            cell.addcmul_(into, new, value=4).sub_(into, alpha=2)
            torch.sigmoid(cell, out=hidden).sub_(0.5).mul_(out)
            return
        gates[:, : 3 * hidden.shape[1]].sigmoid_()
        new.tanh_()
        torch.mul(forget, before, out=cell)
        cell.addcmul_(into, new)
        torch.tanh(cell, out=hidden).mul_(out)

    def output(self, state: Tensor, output: Tensor) -> None:
        """Write u of ``(rows, state_size)`` states into ``output``."""
        hidden = state.chunk(2 * self._layers, dim=1)[-2]
        torch.addmm(self._output_bias, hidden, self._output, out=output).relu_()
