"""The softmax over what can come next."""

from __future__ import annotations

import torch

from gardenpath.data.words.vocabulary import BEGIN_ID, PAD_ID
from gardenpath.models.output import NextToken
from tests.models.samples import make_batch

SIZE = 9


def _layer() -> NextToken:
    torch.manual_seed(0)
    return NextToken(hidden=5, vocabulary_size=SIZE).double()


def test_probabilities_sum_to_one_without_padding_and_begin() -> None:
    probabilities = _layer().logits(torch.randn(7, 5).double()).softmax(-1)
    assert (probabilities[:, [PAD_ID, BEGIN_ID]] == 0.0).all()
    torch.testing.assert_close(probabilities.sum(-1), torch.ones(7).double(), rtol=1e-14, atol=0)


def test_log_prob_is_that_of_the_targets_and_zero_on_padding() -> None:
    layer, batch = _layer(), make_batch([[4, 5, 6], [7]])
    states = torch.randn(2, 4, 5).double()
    found = layer.log_prob(states, batch)
    expected = layer.logits(states).log_softmax(-1).gather(2, batch.targets[..., None])[..., 0]
    torch.testing.assert_close(found[batch.is_token], expected[batch.is_token], rtol=1e-12, atol=0)
    assert found[~batch.is_token].tolist() == [0.0, 0.0]


def test_states_on_padding_get_no_gradient() -> None:
    layer, batch = _layer(), make_batch([[4, 5, 6], [7]])
    states = torch.randn(2, 4, 5).double().requires_grad_()
    layer.log_prob(states, batch).sum().backward()
    assert states.grad is not None
    has_gradient = states.grad.abs().sum(-1) > 0
    assert torch.equal(has_gradient, batch.is_token)


def test_the_mask_is_not_saved() -> None:
    assert set(_layer().state_dict()) == {"linear.weight", "linear.bias"}
