"""What must hold for every network that reads tokens from left to right."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.models.output import SequentialNetwork
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
