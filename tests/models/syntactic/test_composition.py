"""The step in place against torch's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gardenpath.models.syntactic.composition import cell_


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-14), (torch.float32, 1e-6)])
def test_a_step_is_that_of_torch(dtype: torch.dtype, tolerance: float) -> None:
    torch.manual_seed(0)
    size = 5
    cell = nn.LSTMCell(3, size, dtype=dtype)
    inputs, hidden, before = (3 * torch.randn(9, n, dtype=dtype) for n in (3, size, size))
    with torch.inference_mode():
        expected = cell(inputs, (hidden, before))
        gates = inputs @ cell.weight_ih.T + cell.bias_ih + hidden @ cell.weight_hh.T + cell.bias_hh
        state = torch.empty(9, 2 * size, dtype=dtype)
        # The hidden state may stand where its tanh stood.
        cell_(gates, before, state, state[:, :size])
    torch.testing.assert_close(state, torch.cat(expected, dim=1), rtol=0, atol=tolerance)
