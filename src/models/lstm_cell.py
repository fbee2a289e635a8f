"""One step of an LSTM, in place."""

from __future__ import annotations

import torch
from torch import Tensor


def lstm_cell(gates: Tensor, hidden: Tensor, cell: Tensor, *, few_launches: bool = False) -> None:
    """Write what follows the cell over it, and the hidden state; the gates are used up."""
    # On a CPU the sigmoid is several times faster than ``tanh``; on a GPU launches count.
    tanh = torch.tanh if few_launches else _tanh_by_sigmoid
    into, forget, new, out = gates.chunk(4, dim=1)
    cell.mul_(forget.sigmoid_()).addcmul_(into.sigmoid_(), tanh(new, out=new))
    tanh(cell, out=hidden).mul_(out.sigmoid_())


def _tanh_by_sigmoid(values: Tensor, *, out: Tensor) -> Tensor:
    return torch.mul(values, 2, out=out).sigmoid_().mul_(2).sub_(1)
