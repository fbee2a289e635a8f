"""Probabilities of words, and bounds of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gardenpath.data.words.vocabulary import BEGIN_ID, PAD_ID
from gardenpath.models import search_states as lazy_words
from gardenpath.models.output import NextToken
from gardenpath.models.search_states import LazyWords, continuations, piece_bias

SIZE, HIDDEN = 40, 6


def make_output(*, bias: bool = True) -> NextToken:
    torch.manual_seed(0)
    output = NextToken(hidden=HIDDEN, vocabulary_size=SIZE, bias=bias).double()
    for weight in output.parameters():
        torch.nn.init.normal_(weight, std=1.5)
    return output


def make_rows(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(1)
    states = torch.randn(count, HIDDEN, dtype=torch.float64, generator=random)
    words = torch.randint(BEGIN_ID + 1, SIZE, (count,), generator=random)
    return states, words


@pytest.mark.parametrize("bias", [True, False])
def test_probabilities_are_those_of_the_output_layer(bias: bool) -> None:
    output = make_output(bias=bias)
    states, words = make_rows(30)
    expected = output.logits(states).log_softmax(1).gather(1, words.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(LazyWords(output).log_prob(states, words), expected.detach())


def test_large_jobs_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    states, words = make_rows(30)
    whole = LazyWords(make_output()).log_prob(states, words)
    monkeypatch.setattr(lazy_words, "MOST_LOGITS", 4 * SIZE + 1)
    torch.testing.assert_close(LazyWords(make_output()).log_prob(states, words), whole)
    assert LazyWords(make_output()).log_prob(states[:0], words[:0]).shape == (0,)


def test_words_that_never_come_have_no_probability() -> None:
    states, _ = make_rows(2)
    layer = LazyWords(make_output())
    found = layer.log_prob(states, torch.tensor([PAD_ID, BEGIN_ID]))
    assert found.tolist() == [-torch.inf, -torch.inf]
    assert layer.bound(states, torch.tensor([PAD_ID, BEGIN_ID])).tolist() == [-torch.inf] * 2


@pytest.mark.parametrize("likely", [1, 5, 20, 1000])
def test_bounds_are_above_and_as_close_as_the_likely_words_allow(
    likely: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_words, "_LIKELY", likely)
    states, words = make_rows(200)
    layer = LazyWords(make_output())
    exact = layer.log_prob(states, words)
    bound = layer.bound(states, words)
    assert (bound >= exact - 1e-9).all()
    assert (bound <= 1e-9).all()
    if likely >= SIZE:
        torch.testing.assert_close(bound, exact, rtol=0, atol=1e-9)


def test_bounds_hold_for_rows_not_seen_before() -> None:
    states, words = make_rows(400)
    layer = LazyWords(make_output())
    layer.log_prob(states[:3], words[:3])
    bound = layer.bound(states[3:], words[3:])
    assert (bound >= layer.log_prob(states[3:], words[3:]) - 1e-9).all()


def make_pieces() -> tuple[NextToken, torch.Tensor]:
    """An output layer over pieces: the last third continues a word."""
    bias = piece_bias(np.arange(SIZE) >= 2 * SIZE // 3)
    assert bias is not None
    return make_output(), bias.double()


@pytest.mark.parametrize("likely", [1, 5, 20, 1000])
def test_pieces_that_may_not_come_have_no_probability(
    likely: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_words, "_LIKELY", likely)
    monkeypatch.setattr(lazy_words, "MOST_LOGITS", 7 * SIZE + 1)
    output, bias = make_pieces()
    states, words = make_rows(200)
    row = torch.arange(200) % 4
    layer = LazyWords(output, bias)
    found = layer.log_prob(states, words, row)
    bound = layer.bound(states, words, row)
    begins = layer.begins_log_prob(states, row)
    assert not bound.isnan().any()
    assert (bound >= found - 1e-9).all() and (bound <= 1e-9).all()
    for number in range(200):
        # Rows: nothing or only the beginning of a word may come, a continuation, both.
        may_come = (range(26), range(26), range(26, SIZE), range(SIZE))[int(row[number])]
        allowed = [word for word in may_come if word > BEGIN_ID]
        scores = output.logits(states[number]).detach()[allowed].log_softmax(0)
        word = int(words[number])
        expected = float(scores[allowed.index(word)]) if word in allowed else -torch.inf
        assert float(found[number]) == pytest.approx(expected, abs=1e-9)
        first = [place for place, word in enumerate(allowed) if word < 26]
        total = float(scores[first].logsumexp(0)) if first else -torch.inf
        assert float(begins[number]) == pytest.approx(total, abs=1e-9)


def test_continuations_are_read_from_the_bias() -> None:
    _, bias = make_pieces()
    found = continuations(bias)
    assert found is not None
    assert found.tolist() == [False] * 26 + [True] * 14
    assert piece_bias(None) is None and continuations(None) is None
