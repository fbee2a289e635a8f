"""The LSTM against gates computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.models.sequential.family import LstmSettings
from gardenpath.models.sequential.networks import LstmNetwork
from gardenpath.models.weights import load_weights, save_weights
from tests.models import network_checks as checks

SIZE = checks.SIZE


def _network(*, dropout: float = 0.0, tied: bool = False) -> LstmNetwork:
    torch.manual_seed(3)
    network = LstmNetwork(
        LstmSettings(layers=2, hidden=6, embedding=6, dropout=dropout, tied=tied),
        vocabulary_size=SIZE,
    )
    return _with_random_weights(network).double().eval()


def _with_random_weights(network: LstmNetwork) -> LstmNetwork:
    """Biases too, so that a forgotten one shows."""
    with torch.no_grad():
        for weight in network.parameters():
            weight.normal_(std=0.5)
    return network


def _by_hand(network: LstmNetwork, sentence: list[int]) -> Tensor:
    """One token, one layer and one gate at a time."""
    layers = network.lstm.num_layers
    hidden = [torch.zeros(6).double() for _ in range(layers)]
    cell = [torch.zeros(6).double() for _ in range(layers)]
    log_probs = []
    for word, target in zip([BEGIN_ID, *sentence], [*sentence, END_ID], strict=True):
        below = network.embedding.weight[word]
        for layer in range(layers):
            w_ih, w_hh, b_ih, b_hh = network.lstm.all_weights[layer]
            gates = w_ih @ below + b_ih + w_hh @ hidden[layer] + b_hh
            i, f, g, o = gates.chunk(4)
            cell[layer] = f.sigmoid() * cell[layer] + i.sigmoid() * g.tanh()
            hidden[layer] = below = o.sigmoid() * cell[layer].tanh()
        logits = network.output.linear.weight @ below + network.output.linear.bias
        logits[[PAD_ID, BEGIN_ID]] = -torch.inf
        log_probs.append(logits[target] - logits.exp().sum().log())
    return torch.stack(log_probs).detach()


@pytest.mark.parametrize("tied", [False, True])
def test_log_prob_equals_gates_by_hand(tied: bool) -> None:
    network = _network(tied=tied)
    checks.require_log_prob(network, [_by_hand(network, s) for s in checks.SENTENCES])


def test_padding_is_unused() -> None:
    checks.require_padding_unused(_network())


def test_batch_of_one_equals_batch_of_many() -> None:
    checks.require_batch_of_one_equals_batch_of_many(_network())


def test_future_words_are_unused() -> None:
    checks.require_future_words_unused(_network())


def test_probabilities_sum_to_one() -> None:
    checks.require_probabilities_sum_to_one(_network())


def test_no_tensor_is_made_on_the_default_device() -> None:
    checks.require_explicit_devices(_network(tied=True))


def test_dropout_is_off_in_evaluation() -> None:
    checks.require_dropout_in_training_only(_network(dropout=0.5))


def test_default_sizes() -> None:
    network = LstmNetwork(LstmSettings(), vocabulary_size=SIZE)
    lstm = network.lstm
    assert (lstm.num_layers, lstm.hidden_size, lstm.input_size) == (2, 256, 256)
    assert network.output.linear.weight is not network.embedding.weight


@pytest.mark.parametrize(("size", "width"), [("tiny", 128), ("small", 256), ("base", 650)])
def test_named_sizes(size: str, width: int) -> None:
    network = LstmNetwork(LstmSettings(size=size), vocabulary_size=SIZE)  # type: ignore[arg-type]
    assert (network.lstm.hidden_size, network.embedding.embedding_dim) == (width, width)


def test_single_numbers_override_the_size() -> None:
    network = LstmNetwork(
        LstmSettings(size="tiny", layers=1, hidden=10, embedding=20), vocabulary_size=SIZE
    )
    lstm = network.lstm
    assert (lstm.num_layers, lstm.hidden_size, lstm.input_size) == (1, 10, 20)


def test_tied_weights_share_storage_and_are_saved_once(tmp_path: Path) -> None:
    network = _network(tied=True)
    assert network.output.linear.weight.data_ptr() == network.embedding.weight.data_ptr()
    save_weights(network, tmp_path / "w.safetensors")
    saved = load_file(tmp_path / "w.safetensors")
    assert [tuple(w.shape) for w in saved.values()].count((SIZE, 6)) == 1

    other = LstmNetwork(
        LstmSettings(layers=2, hidden=6, embedding=6, tied=True), vocabulary_size=SIZE
    )
    load_weights(other, tmp_path / "w.safetensors")
    assert torch.equal(other.output.linear.weight, network.embedding.weight.float())
    assert other.output.linear.weight is other.embedding.weight


def test_tying_needs_equal_widths() -> None:
    assert LstmSettings(size="tiny", tied=True).mistakes() == []
    assert LstmSettings(size="tiny", tied=False, embedding=64).mistakes() == []
    (mistake,) = LstmSettings(size="tiny", tied=True, embedding=64).mistakes()
    assert "embedding (64)" in mistake and "hidden (128)" in mistake


def test_forget_gates_begin_open() -> None:
    network = LstmNetwork(LstmSettings(hidden=5), vocabulary_size=SIZE)
    for _, _, b_ih, b_hh in network.lstm.all_weights:
        assert (b_ih + b_hh).tolist() == [0.0] * 5 + [1.0] * 5 + [0.0] * 10
