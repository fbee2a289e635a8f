"""Sums of log probabilities and the averages that are reported."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from gardenpath.models.output import BatchScores, Totals, score_tokens
from tests.models.samples import make_batch


def test_words_and_ends_are_summed_apart() -> None:
    batch = make_batch([[4, 5], [6]])
    log_prob = torch.tensor([[-1.0, -2.0, -4.0], [-8.0, -16.0, 0.0]])
    scores = score_tokens(log_prob, batch)
    assert {kind: value.item() for kind, value in scores.log_prob.items()} == {
        "word": -11.0,
        "end": -20.0,
    }
    assert (scores.words.item(), scores.sentences.item()) == (3, 2)


def test_loss_is_per_word_or_end() -> None:
    batch = make_batch([[4, 5], [6]])
    log_prob = torch.tensor([[-1.0, -2.0, -4.0], [-8.0, -16.0, 0.0]])
    assert score_tokens(log_prob, batch).loss().item() == pytest.approx(31 / 5)


def test_losses_of_the_parts_of_a_batch_add_up() -> None:
    first = BatchScores({"word": torch.tensor(-6.0)}, torch.tensor(3), torch.tensor(1))
    second = BatchScores({"word": torch.tensor(-4.0)}, torch.tensor(0), torch.tensor(1))
    events = (first.events + second.events).double()
    assert (first.loss(events) + second.loss(events)).item() == pytest.approx(10 / 5)
    assert first.loss(events).dtype == torch.float32


def test_uncounted_scores_have_gradients_of_zero() -> None:
    weight = torch.tensor(2.0, requires_grad=True)
    scores = BatchScores({"word": -3 * weight}, torch.tensor(3), torch.tensor(1)).uncounted()
    assert (scores.events.item(), scores.log_prob["word"].item()) == (0, 0)
    scores.loss(torch.tensor(5.0)).backward()
    assert weight.grad is not None and weight.grad.item() == 0


def test_pieces_of_a_word_count_once() -> None:
    batch = make_batch([[4, 5, 6]])
    batch = replace(batch, starts_word=torch.tensor([[True, False, True, False]]))
    scores = score_tokens(torch.full((1, 4), -1.0), batch)
    assert scores.words.item() == 2
    assert scores.loss().item() == pytest.approx(4 / 3)


def test_loss_has_a_gradient_in_the_precision_of_the_model() -> None:
    value = torch.tensor(-3.0, dtype=torch.float64, requires_grad=True)
    loss = BatchScores({"word": value}, torch.tensor(1), torch.tensor(1)).loss()
    assert loss.dtype == torch.float64
    loss.backward()
    assert value.grad is not None and value.grad.item() == -0.5


def test_totals_with_and_without_the_end() -> None:
    totals = Totals(log_prob={"word": -11.0, "end": -20.0}, words=3, sentences=2)
    assert totals.loss == pytest.approx(31 / 5)
    assert totals.perplexity == pytest.approx(math.exp(31 / 5))
    assert totals.perplexity_without_end == pytest.approx(math.exp(11 / 3))
    assert totals.as_metrics() == {
        "loss": totals.loss,
        "perplexity": totals.perplexity,
        "perplexity_without_end": totals.perplexity_without_end,
    }


def test_an_enormous_loss_is_an_infinite_perplexity() -> None:
    totals = Totals(log_prob={"word": -5000.0, "end": -1.0}, words=1, sentences=1)
    assert totals.perplexity == math.inf
    assert totals.perplexity_without_end == math.inf
