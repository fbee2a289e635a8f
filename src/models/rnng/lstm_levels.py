"""LSTM cells over many rows, level by level, with hand-written backward passes.

Rows of one level depend only on rows of earlier levels, so each level is one matrix product.
Everything that is not recurrent (input projections, weight gradients) is computed for all levels at
once. Gates are in the order of :class:`torch.nn.LSTM`: input, forget,
cell, output. States are stored as one matrix ``[hidden, cell]``, so that gathering and scattering
take one operation.
"""

from __future__ import annotations

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


def cell_(gates: Tensor, cell_before: Tensor | None, state: Tensor, cell_tanh: Tensor) -> None:
    """Perform one LSTM step in place: activate ``gates``, write ``state`` and tanh of its cell."""
    hidden = gates.shape[1] // 4
    gates[:, : 2 * hidden].sigmoid_()
    gates[:, 3 * hidden :].sigmoid_()
    into, forget, new, out = gates.chunk(4, dim=1)
    torch.tanh(new, out=new)
    cell = state[:, hidden:]
    torch.mul(into, new, out=cell)
    if cell_before is not None:
        cell.addcmul_(forget, cell_before)
    torch.tanh(cell, out=cell_tanh)
    torch.mul(out, cell_tanh, out=state[:, :hidden])


def cell_backward_(
    saved: tuple[Tensor, Tensor, Tensor | None],
    state_gradient: Tensor,
    gates: Tensor,
    cell_before: Tensor | None,
) -> None:
    """Write the gradients of ``gates`` before activation and of ``cell_before``, for one level.

    ``saved`` are the activated gates, the tanh of the cell and the previous cell, which is missing
    if it is zero. With dh and dc the gradients of hidden state and cell, the full gradient of the
    cell is d = dc + dh · out · (1 - tanh²).
    """
    activated, cell_tanh, before = saved
    hidden = cell_tanh.shape[1]
    into, forget, new, out = activated.chunk(4, dim=1)
    hidden_gradient, cell_gradient = state_gradient[:, :hidden], state_gradient[:, hidden:]
    to_into, to_forget, to_new, to_out = gates.chunk(4, dim=1)
    by_out = hidden_gradient * out
    full = torch.addcmul(cell_gradient, by_out, cell_tanh * cell_tanh, value=-1).add_(by_out)
    torch.mul(full, new, out=to_into)
    torch.mul(full, into, out=to_new)
    to_new.addcmul_(to_new * new, new, value=-1)
    torch.mul(hidden_gradient, cell_tanh, out=to_out)
    if before is None:
        to_forget.zero_()
    else:
        torch.mul(full, before, out=to_forget)
    if cell_before is not None:
        torch.mul(full, forget, out=cell_before)
    # The derivative of the sigmoid is s · (1 - s).
    slope = torch.addcmul(activated, activated, activated, value=-1)
    gates[:, : 2 * hidden].mul_(slope[:, : 2 * hidden])
    to_out.mul_(slope[:, 3 * hidden :])


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

    def __init__(self, layer: StackLayer, weight: Tensor, first: int) -> None:
        self._layer, self._weight, self._first = layer, weight, first
        self.state = torch.zeros_like(layer.state)
        self.gates = torch.empty_like(layer.gates)

    def advance(self, begin: int, end: int) -> None:
        """Propagate the gradients of a level to its gates and to the states below."""
        layer, gates, hidden = self._layer, self.gates[begin:end], self._layer.hidden
        saved = layer.gates[begin:end], layer.cell_tanh[begin:end]
        if begin == 0:
            cell_backward_((*saved, None), self.state[:end], gates, None)
            return
        rows = layer.below[begin:end]
        before = layer.state.index_select(0, rows)[:, hidden:]
        passed = gates.new_empty(end - begin, 2 * hidden)
        cell_backward_((*saved, before), self.state[begin:end], gates, passed[:, hidden:])
        torch.mm(gates, self._weight, out=passed[:, :hidden])
        add_rows_(self.state, rows, passed)

    @property
    def weight_gradient(self) -> Tensor:
        """``(4 · hidden, hidden)``, after all levels."""
        layer, first = self._layer, self._first
        before = layer.state[:, : layer.hidden].index_select(0, layer.below[first:])
        return self.gates[first:].t() @ before


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
        layer = StackLayerBackward(ctx.layer, weight, ctx.sizes[0])
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
    kept = 1 - dropout.p
    # Several times faster than dropout of a matrix of ones.
    return like.new_empty(rows, columns).uniform_().lt_(kept).div_(kept)


def apply_in_full_precision(function: type[torch.autograd.Function], *arguments: Any) -> Tensor:
    """Apply a function outside of mixed precision, because states accumulate over many steps."""
    device = next(a.device.type for a in arguments if isinstance(a, Tensor))
    with torch.autocast(device_type=device, enabled=False):
        result: Tensor = function.apply(*map(_widened, arguments))
    return result


def _widened(argument: Any) -> Any:
    is_half = isinstance(argument, Tensor) and argument.dtype in (torch.float16, torch.bfloat16)
    return argument.float() if is_half else argument
