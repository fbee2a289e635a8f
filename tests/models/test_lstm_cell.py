"""The step in place against torch's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from src.models.lstm_cell import lstm_cell


@pytest.mark.parametrize("few_launches", [True, False])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-14), (torch.float32, 1e-6)])
def test_a_step_is_that_of_torch(few_launches: bool, dtype: torch.dtype, tolerance: float) -> None:
    torch.manual_seed(0)
    size = 5
    cell = nn.LSTMCell(3, size, dtype=dtype)
    inputs, hidden, state = (3 * torch.randn(9, n, dtype=dtype) for n in (3, size, size))
    with torch.inference_mode():
        expected = cell(inputs, (hidden, state))
        gates = inputs @ cell.weight_ih.T + cell.bias_ih + hidden @ cell.weight_hh.T + cell.bias_hh
        # Parts of one tensor, as the search has them.
        found = torch.cat([hidden, state], dim=1)
        lstm_cell(gates, found[:, :size], found[:, size:], few_launches=few_launches)
    torch.testing.assert_close(found, torch.cat(expected, dim=1), rtol=0, atol=tolerance)
