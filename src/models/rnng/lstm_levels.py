"""LSTM cells over many rows, level by level, with hand-written backward passes.

Rows of one level depend only on rows of earlier levels, so each level is one matrix product.
Everything that is not recurrent (input projections, weight gradients, derivatives of the gates) is
computed for all levels at once. Gates are in the order of :class:`torch.nn.LSTM`: input, forget,
cell, output. States are stored as one matrix ``[hidden, cell]``, so that gathering and scattering
take one operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gardenpath.data.batches.tree_batches import Sizes


def bounds(sizes: Sizes) -> list[tuple[int, int]]:
    """Return the begin and end of each level."""
    result, begin = [], 0
    for size in sizes:
        result.append((begin, begin + size))
        begin += size
    return result


def cell_(
    gates: Tensor,
    cell_before: Tensor | None,
    state: Tensor,
    cell_tanh: Tensor,
    *,
    tanh: Callable[..., Tensor] = torch.tanh,
) -> None:
    """Perform one LSTM step in place: activate ``gates``, write ``state`` and tanh of its cell."""
    hidden = gates.shape[1] // 4
    gates[:, : 2 * hidden].sigmoid_()
    gates[:, 3 * hidden :].sigmoid_()
    into, forget, new, out = gates.chunk(4, dim=1)
    tanh(new, out=new)
    cell = state[:, hidden:]
    torch.mul(into, new, out=cell)
    if cell_before is not None:
        cell.addcmul_(forget, cell_before)
    tanh(cell, out=cell_tanh)
    torch.mul(out, cell_tanh, out=state[:, :hidden])


def tanh_by_sigmoid(values: Tensor, *, out: Tensor) -> Tensor:
    """Compute tanh by the sigmoid, which is several times faster on a CPU."""
    return torch.mul(values, 2, out=out).sigmoid_().mul_(2).sub_(1)


class CellDerivatives:
    """Derivatives of LSTM cells for all rows at once.

    With dh and dc the gradients of hidden state and cell, the full gradient of the cell is
    ``d = dc + dh · hidden_to_cell``; the gradients before activation are ``d · cell_to_gates`` for
    the first three gates and ``dh · hidden_to_out`` for the last; ``d · forget`` is passed on to
    the previous cell.
    """

    def __init__(self, gates: Tensor, cell_tanh: Tensor, cell_before: Tensor) -> None:
        into, forget, new, out = gates.chunk(4, dim=1)
        self.forget = forget
        self.hidden_to_cell = out * (1 - cell_tanh * cell_tanh)
        self.hidden_to_out = cell_tanh * out * (1 - out)
        self.cell_to_gates = torch.stack(
            [
                new * into * (1 - into),
                cell_before * forget * (1 - forget),
                into * (1 - new * new),
            ],
            dim=1,
        )

    def backward_(
        self, begin: int, end: int, state_gradient: Tensor, gates: Tensor, passed_on: Tensor
    ) -> None:
        """Write the gradients of the gates and, after column ``hidden``, of the previous cell."""
        hidden = self.forget.shape[1]
        hidden_gradient = state_gradient[:, :hidden]
        cell_gradient = torch.addcmul(
            state_gradient[:, hidden:], hidden_gradient, self.hidden_to_cell[begin:end]
        )
        torch.mul(
            cell_gradient.unsqueeze(1),
            self.cell_to_gates[begin:end],
            out=gates[:, : 3 * hidden].view(-1, 3, hidden),
        )
        torch.mul(hidden_gradient, self.hidden_to_out[begin:end], out=gates[:, 3 * hidden :])
        torch.mul(cell_gradient, self.forget[begin:end], out=passed_on[:, hidden:])


def add_rows_(target: Tensor, rows: Tensor, values: Tensor) -> None:
    """Compute ``target[rows] += values``, with repeated rows accumulated."""
    target.scatter_add_(0, rows.unsqueeze(1).expand_as(values), values)


class StackLayer:
    """One layer of the stack LSTM: buffers for the cells of all stack elements of a batch.

    ``below`` is the row below each row, at an earlier level. Level 0 starts from a zero state.
    """

    def __init__(self, like: Tensor, below: Tensor, hidden: int) -> None:
        self.hidden, self.below = hidden, below
        self.gates = like.new_empty(len(below), 4 * hidden)
        self.state = like.new_empty(len(below), 2 * hidden)
        self.cell_tanh = like.new_empty(len(below), hidden)

    def advance(self, begin: int, end: int, inputs: Tensor, transposed: Tensor) -> None:
        """Compute the cells of a level from their input projections with bias."""
        gates, state, cell_tanh = (
            buffer[begin:end] for buffer in (self.gates, self.state, self.cell_tanh)
        )
        if begin == 0:
            cell_(gates.copy_(inputs), None, state, cell_tanh)
            return
        before = self.state.index_select(0, self.below[begin:end])
        torch.addmm(inputs, before[:, : self.hidden], transposed, out=gates)
        cell_(gates, before[:, self.hidden :], state, cell_tanh)


class StackLayerBackward:
    """The backward pass of one layer; ``state`` collects the gradients of states."""

    def __init__(self, layer: StackLayer, weight: Tensor, sizes: Sizes) -> None:
        self._layer, self._weight, self._first = layer, weight, sizes[0]
        self._before = layer.state.index_select(0, layer.below)
        self._before[: self._first] = 0
        self._derivatives = CellDerivatives(
            layer.gates, layer.cell_tanh, self._before[:, layer.hidden :]
        )
        self.state = torch.zeros_like(layer.state)
        self.gates = torch.empty_like(layer.gates)
        self._passed_on = layer.state.new_empty(max(sizes), 2 * layer.hidden)

    def advance(self, begin: int, end: int) -> Tensor:
        """Propagate the gradients of a level to the states below and return those of its gates."""
        level, passed = self.gates[begin:end], self._passed_on[: end - begin]
        self._derivatives.backward_(begin, end, self.state[begin:end], level, passed)
        if begin > 0:
            torch.mm(level, self._weight, out=passed[:, : self._layer.hidden])
            add_rows_(self.state, self._layer.below[begin:end], passed)
        return level

    @property
    def weight_gradient(self) -> Tensor:
        """``(4 · hidden, hidden)``, after all levels."""
        first = self._first
        return self.gates[first:].t() @ self._before[first:, : self._layer.hidden]


class StackRecurrence(torch.autograd.Function):
    """Hidden states of all stack elements of a batch, for one layer.

    ``inputs`` are the input projections with bias, ``(rows, 4 · hidden)``.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, below: Tensor, sizes: Sizes) -> Tensor:
        layer = StackLayer(inputs, below, weight.shape[1])
        for begin, end in bounds(sizes):
            layer.advance(begin, end, inputs[begin:end], weight.t())
        ctx.save_for_backward(weight)
        ctx.layer, ctx.sizes = layer, sizes
        return layer.state[:, : layer.hidden].contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (weight,) = ctx.saved_tensors
        layer = StackLayerBackward(ctx.layer, weight, ctx.sizes)
        layer.state[:, : ctx.layer.hidden] = gradients[0]
        for begin, end in reversed(bounds(ctx.sizes)):
            layer.advance(begin, end)
        return layer.gates, layer.weight_gradient, None, None


def stack_states(inputs: Tensor, weight: Tensor, below: Tensor, sizes: Sizes) -> Tensor:
    """``(rows, hidden)``: see :class:`StackRecurrence`."""
    return apply_in_full_precision(StackRecurrence, inputs, weight, below, sizes)


def dropout_mask(dropout: nn.Dropout, like: Tensor, rows: int, columns: int) -> Tensor | None:
    """Draw a mask beforehand, for a layer that is computed level by level."""
    if not dropout.training or dropout.p == 0:
        return None
    mask: Tensor = dropout(like.new_ones(rows, columns))
    return mask


def apply_in_full_precision(function: type[torch.autograd.Function], *arguments: Any) -> Tensor:
    """Apply a function outside of mixed precision, because states accumulate over many steps."""
    device = next(a.device.type for a in arguments if isinstance(a, Tensor))
    with torch.autocast(device_type=device, enabled=False):
        result: Tensor = function.apply(*map(_widened, arguments))
    return result


def _widened(argument: Any) -> Any:
    is_half = isinstance(argument, Tensor) and argument.dtype in (torch.float16, torch.bfloat16)
    return argument.float() if is_half else argument
