"""Networks that read from left to right, against gates and attention computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.errors import GardenpathError
from gardenpath.models.output import SequentialNetwork
from gardenpath.models.sequential.family import DecoderSettings, LstmSettings
from gardenpath.models.sequential.networks import Block, LstmNetwork, TransformerNetwork
from gardenpath.models.weights import load_weights, save_weights
from tests.models.samples import make_batch, random_sentences

SIZE = 11

SENTENCES = [[4, 5, 6, 7, 8], [9], [10, 3, 4], [5, 5, 5, 5]]


def require_padding_unused(network: SequentialNetwork) -> None:
    """Other ids on padding change nothing."""
    batch = make_batch(SENTENCES)
    other = torch.where(batch.is_token, batch.inputs, torch.full_like(batch.inputs, 7))
    assert not torch.equal(other, batch.inputs)
    with torch.no_grad():
        expected = network.log_prob(batch)
        torch.testing.assert_close(
            network.log_prob(replace(batch, inputs=other)), expected, rtol=1e-12, atol=1e-12
        )
    assert (expected[~batch.is_token] == 0.0).all()


def require_batch_of_one_equals_batch_of_many(network: SequentialNetwork) -> None:
    """A sentence has the same probability in any company."""
    with torch.no_grad():
        together = network.log_prob(make_batch(SENTENCES))
        for row, sentence in enumerate(SENTENCES):
            alone = network.log_prob(make_batch([sentence]))[0]
            torch.testing.assert_close(together[row, : len(alone)], alone, rtol=1e-12, atol=1e-12)


def require_future_words_unused(network: SequentialNetwork) -> None:
    """A changed word changes no probability before it, and does change its own and later ones."""
    changed = [4, 5, 6, 9, 8]
    with torch.no_grad():
        before = network.log_prob(make_batch([SENTENCES[0]]))[0]
        after = network.log_prob(make_batch([changed]))[0]
    assert torch.equal(before[:3], after[:3])
    assert (before[3:] != after[3:]).all()


def require_probabilities_sum_to_one(network: SequentialNetwork) -> None:
    """After any prefix, over all words and the end of the sentence."""
    for prefix in ([], [4], [5, 6, 7]):
        continuations = [[*prefix, word] for word in range(SIZE)]
        with torch.no_grad():
            log_probs = network.log_prob(make_batch(continuations))[:, len(prefix)]
            end = network.log_prob(make_batch([prefix, [*prefix, 4]]))[0, len(prefix)]
        probabilities = log_probs.exp()
        assert probabilities[[PAD_ID, BEGIN_ID]].tolist() == [0.0, 0.0]
        torch.testing.assert_close(probabilities[END_ID], end.exp(), rtol=1e-12, atol=0)
        torch.testing.assert_close(
            probabilities.sum(), torch.ones((), dtype=torch.float64), rtol=1e-12, atol=0
        )


def require_log_prob(network: SequentialNetwork, by_hand: list[Tensor]) -> None:
    """Log probabilities equal those computed slowly, sentence by sentence."""
    with torch.no_grad():
        found = network.log_prob(make_batch(SENTENCES))
    for row, expected in enumerate(by_hand):
        torch.testing.assert_close(found[row, : len(expected)], expected, rtol=1e-10, atol=1e-10)


def require_explicit_devices(network: SequentialNetwork) -> None:
    """With another default device a tensor made without a device would be on that one."""
    batch = make_batch(SENTENCES)
    with torch.no_grad():
        expected = network.score(batch).loss()
    torch.set_default_device("meta")
    try:
        scores = network.score(batch)
        loss = scores.loss()
        loss.backward()
    finally:
        torch.set_default_device("cpu")
    assert loss.device.type == "cpu"
    torch.testing.assert_close(loss.detach(), expected, rtol=1e-12, atol=0)


def require_dropout_in_training_only(network: SequentialNetwork) -> None:
    """Dropout makes training random and leaves evaluation as it is."""
    batch = make_batch(random_sentences(0, count=5, vocabulary_size=SIZE))
    with torch.no_grad():
        network.train()
        assert not torch.equal(network.log_prob(batch), network.log_prob(batch))
        network.eval()
        assert torch.equal(network.log_prob(batch), network.log_prob(batch))


# ----------------------------------------------------------------------------
# The LSTM against gates computed by hand.


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
    require_log_prob(network, [_by_hand(network, s) for s in SENTENCES])


def test_padding_is_unused() -> None:
    require_padding_unused(_network())


def test_batch_of_one_equals_batch_of_many() -> None:
    require_batch_of_one_equals_batch_of_many(_network())


def test_future_words_are_unused() -> None:
    require_future_words_unused(_network())


def test_probabilities_sum_to_one() -> None:
    require_probabilities_sum_to_one(_network())


def test_no_tensor_is_made_on_the_default_device() -> None:
    require_explicit_devices(_network(tied=True))


def test_dropout_is_off_in_evaluation() -> None:
    require_dropout_in_training_only(_network(dropout=0.5))


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


# ----------------------------------------------------------------------------
# The Transformer against attention computed by hand.


HIDDEN, HEADS = 8, 2


def _network_transformer(*, dropout: float = 0.0, max_positions: int = 12) -> TransformerNetwork:
    torch.manual_seed(4)
    network = TransformerNetwork(
        DecoderSettings(
            layers=3, hidden=HIDDEN, heads=HEADS, max_positions=max_positions, dropout=dropout
        ),
        vocabulary_size=SIZE,
    )
    with torch.no_grad():
        for weight in network.parameters():
            weight.normal_(std=0.4)
    return network.double().eval()


def _normalised(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    centred = x - x.mean()
    return centred / (centred.square().mean() + norm.eps).sqrt() * norm.weight + norm.bias


def _gelu(x: Tensor) -> Tensor:
    """The approximation that GPT-2 uses."""
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _attended(states: list[Tensor], block: Block) -> list[Tensor]:
    """For each position, what it takes from itself and the positions before it."""
    normed = [_normalised(state, block.attention_norm) for state in states]
    projected = [block.attention.query_key_value(state).chunk(3) for state in normed]
    width = HIDDEN // HEADS
    results = []
    for position in range(len(states)):
        heads = []
        for head in range(HEADS):
            part = slice(head * width, (head + 1) * width)
            query = projected[position][0][part]
            weights = torch.stack(
                [
                    query @ projected[past][1][part] / math.sqrt(width)
                    for past in range(position + 1)
                ]
            ).exp()
            values = torch.stack([projected[past][2][part] for past in range(position + 1)])
            heads.append((weights / weights.sum()) @ values)
        results.append(block.attention.project(torch.cat(heads)))
    return results


def _by_hand_transformer(network: TransformerNetwork, sentence: list[int]) -> Tensor:
    states = [
        network.decoder.token_embedding.weight[word]
        + network.decoder.position_embedding.weight[position]
        for position, word in enumerate([BEGIN_ID, *sentence])
    ]
    for block in network.decoder.blocks:
        assert isinstance(block, Block)
        mixed = _attended(states, block)
        states = [state + other for state, other in zip(states, mixed, strict=True)]
        states = [
            s + block.contract(_gelu(block.expand(_normalised(s, block.feed_forward_norm))))
            for s in states
        ]
    log_probs = []
    for state, target in zip(states, [*sentence, END_ID], strict=True):
        logits = network.decoder.token_embedding.weight @ _normalised(
            state, network.decoder.final_norm
        )
        logits[[PAD_ID, BEGIN_ID]] = -torch.inf
        log_probs.append(logits[target] - logits.exp().sum().log())
    return torch.stack(log_probs).detach()


def test_log_prob_equals_attention_by_hand() -> None:
    network = _network_transformer()
    require_log_prob(network, [_by_hand_transformer(network, s) for s in SENTENCES])


def test_padding_is_unused_transformer() -> None:
    require_padding_unused(_network_transformer())


def test_batch_of_one_equals_batch_of_many_transformer() -> None:
    require_batch_of_one_equals_batch_of_many(_network_transformer())


def test_future_words_are_unused_transformer() -> None:
    require_future_words_unused(_network_transformer())


def test_probabilities_sum_to_one_transformer() -> None:
    require_probabilities_sum_to_one(_network_transformer())


def test_no_tensor_is_made_on_the_default_device_transformer() -> None:
    require_explicit_devices(_network_transformer())


def test_dropout_is_off_in_evaluation_transformer() -> None:
    require_dropout_in_training_only(_network_transformer(dropout=0.5))


@pytest.mark.parametrize(
    ("size", "layers", "hidden", "heads"),
    [("tiny", 2, 128, 4), ("small", 6, 384, 6), ("base", 12, 768, 12)],
)
def test_parameters_are_those_of_gpt2(size: str, layers: int, hidden: int, heads: int) -> None:
    with torch.device("meta"):
        network = TransformerNetwork(DecoderSettings(size=size), vocabulary_size=SIZE)  # type: ignore[arg-type]
    norms = 2 * 2 * hidden
    attention = hidden * 3 * hidden + 3 * hidden + hidden * hidden + hidden
    feed_forward = hidden * 4 * hidden + 4 * hidden + 4 * hidden * hidden + hidden
    embeddings = SIZE * hidden + 512 * hidden
    expected = embeddings + layers * (norms + attention + feed_forward) + 2 * hidden
    assert sum(weight.numel() for weight in network.parameters()) == expected
    assert len(network.decoder.blocks) == layers
    first = network.decoder.blocks[0]
    assert isinstance(first, Block)
    assert first.attention.heads == heads


def test_base_is_the_default() -> None:
    with torch.device("meta"):
        network = TransformerNetwork(DecoderSettings(), vocabulary_size=SIZE)
    assert len(network.decoder.blocks) == 12
    assert network.decoder.token_embedding.embedding_dim == 768


def test_gpt2_itself_has_124_million_parameters() -> None:
    with torch.device("meta"):
        network = TransformerNetwork(
            DecoderSettings(size="base", max_positions=1024), vocabulary_size=50257
        )
    assert sum(weight.numel() for weight in network.parameters()) == 124_439_808


def test_embeddings_are_tied_and_saved_once(tmp_path: Path) -> None:
    network = _network_transformer()
    assert (
        network.output.linear.weight.data_ptr() == network.decoder.token_embedding.weight.data_ptr()
    )
    save_weights(network, tmp_path / "w.safetensors")
    shapes = [tuple(w.shape) for w in load_file(tmp_path / "w.safetensors").values()]
    assert shapes.count((SIZE, HIDDEN)) == 1


def test_the_longest_sentence_that_fits_is_scored() -> None:
    network = _network_transformer(max_positions=5)
    assert network.log_prob(make_batch([[4, 5, 6, 7]])).shape == (1, 5)


def test_a_longer_sentence_is_refused_with_a_remedy() -> None:
    with pytest.raises(GardenpathError, match=r"5 symbols.*positions for 4") as caught:
        _network_transformer(max_positions=5).log_prob(make_batch([[4, 5, 6, 7, 8]]))
    assert "model.network.max_positions" in str(caught.value)
    assert "data.cleaning.max_tokens" in str(caught.value)


def test_heads_must_divide_the_width() -> None:
    assert DecoderSettings(size="tiny", heads=8).mistakes() == []
    (wrong,) = DecoderSettings(size="tiny", hidden=100, heads=3).mistakes()
    assert "hidden (100)" in wrong and "heads (3)" in wrong


def test_initial_weights_are_those_of_gpt2() -> None:
    torch.manual_seed(0)
    network = TransformerNetwork(DecoderSettings(size="tiny"), vocabulary_size=400)
    block = network.decoder.blocks[0]
    assert isinstance(block, Block)
    assert network.decoder.token_embedding.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert block.expand.weight.std().item() == pytest.approx(0.02, rel=0.02)
    residual = 0.02 / math.sqrt(2 * len(network.decoder.blocks))
    assert block.contract.weight.std().item() == pytest.approx(residual, rel=0.02)
    assert block.attention.project.weight.std().item() == pytest.approx(residual, rel=0.02)
    assert block.expand.bias.abs().sum().item() == 0.0
    assert (block.attention_norm.weight == 1.0).all()
