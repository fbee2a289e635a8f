"""A Transformer rewritten as a GPT-2 computes the same function, in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from gardenpath.models.sequential.family import DecoderSettings
from gardenpath.models.sequential.networks import TransformerNetwork
from gardenpath.sharing.transformers_folder import EXCLUDED_IDS, Gpt2Weights

VOCABULARY = 23


def _network(settings: DecoderSettings, scale: float) -> TransformerNetwork:
    """Weights at random, as large as ``scale`` says: also biases and norms."""
    torch.manual_seed(1)
    network = TransformerNetwork(settings, vocabulary_size=VOCABULARY).double().eval()
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=scale)
    return network


def _gpt2(weights: Gpt2Weights) -> Any:
    model = GPT2LMHeadModel(GPT2Config(**weights.config())).double().eval()
    model.load_state_dict(weights.state())
    return model


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("scale", [1e-4, 0.3, 3.0])
def test_log_probabilities_are_the_same(heads: int, scale: float) -> None:
    """Also if states are so small that the norms' ε matters."""
    settings = DecoderSettings(layers=2, hidden=12, heads=heads, max_positions=10)
    network = _network(settings, scale)
    model = _gpt2(Gpt2Weights(network, settings))
    tokens = torch.randint(0, VOCABULARY, (4, 10))
    with torch.inference_mode():
        expected = network.output.logits(network.decoder(tokens)).log_softmax(-1)
        found = model(tokens).logits.log_softmax(-1)
    others = [one for one in range(VOCABULARY) if one not in EXCLUDED_IDS]
    assert torch.allclose(found[..., others], expected[..., others], rtol=1e-9, atol=1e-9)
    assert (found[..., list(EXCLUDED_IDS)].exp() == 0).all()
    assert torch.allclose(found[..., others].exp().sum(-1), torch.ones(4, 10).double())


def test_without_the_rewriting_the_numbers_differ() -> None:
    """The rows of excluded tokens, as they were trained, would take part of the probability."""
    settings = DecoderSettings(layers=1, hidden=12, heads=3, max_positions=10)
    network = _network(settings, 0.3)
    weights = Gpt2Weights(network, settings)
    model = _gpt2(weights)
    tokens = torch.randint(0, VOCABULARY, (1, 5))
    with torch.inference_mode():
        old = model.lm_head.weight.shape[1] - 3
        for number in EXCLUDED_IDS:
            model.lm_head.weight[number] = 0.0
            model.lm_head.weight[number, :old] = network.output.linear.weight[number]
        found = model(tokens).logits.softmax(-1)
    assert (found[..., list(EXCLUDED_IDS)].sum(-1) > 1e-3).all()
