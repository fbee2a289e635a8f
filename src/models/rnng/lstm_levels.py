"""LSTM cells over many rows, level by level, with hand-written backward passes.

Rows of one level depend only on rows of earlier levels, so each level is one matrix product.
Everything that is not recurrent (input projections, weight gradients, derivatives of the gates) is
computed for all levels at once. Gates are in the order of :class:`torch.nn.LSTM`: input, forget,
cell, output. States are stored as one matrix ``[hidden, cell]``, so that gathering and scattering
take one operation.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

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


class StackRecurrence(torch.autograd.Function):
    """Hidden states of all stack elements of a batch, for one layer.

    ``inputs`` are the input projections with bias, ``(rows, 4 · hidden)``; ``below`` is the row
    below each row, one level down. Level 0 starts from a zero state.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, below: Tensor, sizes: Sizes) -> Tensor:
        rows, hidden = inputs.shape[0], weight.shape[1]
        gates = torch.empty_like(inputs)
        state = inputs.new_empty(rows, 2 * hidden)
        cell_tanh = inputs.new_empty(rows, hidden)
        transposed = weight.t()
        for begin, end in bounds(sizes):
            if begin == 0:
                gates[:end].copy_(inputs[:end])
                cell_(gates[:end], None, state[:end], cell_tanh[:end])
                continue
            before = state.index_select(0, below[begin:end])
            level = gates[begin:end]
            torch.addmm(inputs[begin:end], before[:, :hidden], transposed, out=level)
            cell_(level, before[:, hidden:], state[begin:end], cell_tanh[begin:end])
        ctx.save_for_backward(gates, state, cell_tanh, weight, below)
        ctx.sizes = sizes
        return state[:, :hidden].contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        gates, state, cell_tanh, weight, below = ctx.saved_tensors
        hidden = cell_tanh.shape[1]
        first = ctx.sizes[0]
        before = state.index_select(0, below)
        before[:first] = 0
        derivatives = CellDerivatives(gates, cell_tanh, before[:, hidden:])
        state_gradient = torch.zeros_like(state)
        state_gradient[:, :hidden] = gradients[0]
        gate_gradient = torch.empty_like(gates)
        passed_on = state.new_empty(max(ctx.sizes), 2 * hidden)
        for begin, end in reversed(bounds(ctx.sizes)):
            level, passed = gate_gradient[begin:end], passed_on[: end - begin]
            derivatives.backward_(begin, end, state_gradient[begin:end], level, passed)
            if begin > 0:
                torch.mm(level, weight, out=passed[:, :hidden])
                add_rows_(state_gradient, below[begin:end], passed)
        weight_gradient = gate_gradient[first:].t() @ before[first:, :hidden]
        return gate_gradient, weight_gradient, None, None


def stack_states(inputs: Tensor, weight: Tensor, below: Tensor, sizes: Sizes) -> Tensor:
    """``(rows, hidden)``: see :class:`StackRecurrence`."""
    return apply_in_full_precision(StackRecurrence, inputs, weight, below, sizes)


def apply_in_full_precision(function: type[torch.autograd.Function], *arguments: Any) -> Tensor:
    """Apply a function outside of mixed precision, because states accumulate over many steps."""
    device = next(a.device.type for a in arguments if isinstance(a, Tensor))
    with torch.autocast(device_type=device, enabled=False):
        result: Tensor = function.apply(*map(_widened, arguments))
    return result


def _widened(argument: Any) -> Any:
    is_half = isinstance(argument, Tensor) and argument.dtype in (torch.float16, torch.bfloat16)
    return argument.float() if is_half else argument
