"""Steps of the stack LSTM in the search against the network's own."""

from __future__ import annotations

import pytest
import torch

from gardenpath.models.syntactic.rnng_stack import SearchStack
from tests.models.rnng.test_rnng import make_network
from tests.tree_samples import SHAPES, encode_trees


@pytest.mark.parametrize("by_sigmoid", [False, True])
@pytest.mark.parametrize("shares", [False, True])
def test_steps_are_those_of_the_network(by_sigmoid: bool, shares: bool) -> None:
    network = make_network(encode_trees(SHAPES)[1]).eval()
    stack = SearchStack(network, by_sigmoid=by_sigmoid)
    random = torch.Generator().manual_seed(0)
    size = network.word_embedding.embedding_dim
    again = torch.tensor([0, 2, 2, 1, 0]) if shares else None
    rows = 5
    with torch.inference_mode():
        state = torch.zeros(rows, stack.state_size, dtype=torch.float64)
        expected = state
        for _ in range(4):
            vectors = torch.randn(rows, size, dtype=torch.float64, generator=random) * 3
            below = state[:3] if shares else state
            if again is not None:
                expected = expected[again]
            after = torch.empty_like(state)
            stack.step(stack.inputs(vectors), below, again, after)
            expected = network.stack.step(vectors, expected)
            output = torch.empty(rows, size, dtype=torch.float64)
            stack.output(after, output)
            u = torch.relu(network.to_output(network.stack.top_hidden(expected)))
            torch.testing.assert_close(output, u, rtol=0, atol=1e-12)
            state = after
