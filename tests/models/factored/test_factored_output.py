"""A factored output layer is a distribution: that of its classes and of their words."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
import torch

from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.errors import DamagedRunError, GardenpathError
from gardenpath.models import output as class_blocks
from gardenpath.models.output import NO_CLASS, FactoredToken, NextToken, learn_classes, make_output
from gardenpath.models.weights import load_weights, save_weights
from tests.models.factored.slow_factored import slow_log_probs
from tests.models.samples import make_batch, make_split, random_sentences

WORDS, HIDDEN, NEVER = 40, 6, (PAD_ID, BEGIN_ID, END_ID)


def make_layer(*, bias: bool = True, singles: int = 0, seed: int = 0) -> FactoredToken:
    """Random weights and classes of different sizes, one of them without words."""
    torch.manual_seed(seed)
    layer = FactoredToken(
        hidden=HIDDEN, vocabulary_size=WORDS + singles, bias=bias, never=NEVER, singles=singles
    ).double()
    for weight in layer.parameters():
        torch.nn.init.normal_(weight, std=1.5)
    classes = np.full(WORDS, NO_CLASS)
    sizes = torch.tensor([0, 9, 9, 9, 8, 1, 1])
    classes[len(NEVER) :] = torch.arange(7).repeat_interleave(sizes)[torch.randperm(37)].numpy()
    layer.set_classes(classes)
    return layer


def make_rows(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(1)
    states = torch.randn(count, HIDDEN, dtype=torch.float64, generator=random)
    return states, torch.randint(len(NEVER), WORDS, (count,), generator=random)


def expected_log_probs(layer: FactoredToken, states: torch.Tensor) -> torch.Tensor:
    allowed = [token not in NEVER for token in range(len(layer.branch))]
    return torch.stack([slow_log_probs(layer, state, allowed) for state in states])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("singles", [0, 3])
def test_probabilities_are_those_of_class_and_word_and_sum_to_one(bias: bool, singles: int) -> None:
    layer = make_layer(bias=bias, singles=singles)
    states, _ = make_rows(9)
    expected = expected_log_probs(layer, states)
    torch.testing.assert_close(layer.logits(states), expected, rtol=1e-12, atol=1e-12)
    ones = torch.ones(9, dtype=torch.float64)
    torch.testing.assert_close(expected.exp().sum(1), ones, rtol=1e-12, atol=0)
    assert (layer.logits(states)[:, list(NEVER)] == -torch.inf).all()
    nested = layer.logits(states.view(3, 3, HIDDEN))
    torch.testing.assert_close(nested.flatten(0, 1), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("count", [1, 7, 300])
def test_targets_have_the_probabilities_of_the_whole_distribution(bias: bool, count: int) -> None:
    layer = make_layer(bias=bias)
    states, words = make_rows(count)
    expected = expected_log_probs(layer, states).gather(1, words.unsqueeze(1)).squeeze(1)
    found = layer.target_log_prob(states, words)
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)
    scores = layer.branch_score(states, words) - layer.branch_logits(states).logsumexp(1)
    found = scores + layer.within_log_prob(states, words)
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)
    contexts = torch.tensor([0, count - 1, 0])
    found = layer.log_prob_after(states, contexts, words[contexts])
    torch.testing.assert_close(found, expected[contexts], rtol=1e-11, atol=1e-11)


def test_no_rows_have_no_probabilities() -> None:
    states, words = make_rows(1)
    assert make_layer().target_log_prob(states[:0], words[:0]).shape == (0,)


def test_symbols_that_never_come_have_no_probability() -> None:
    states, _ = make_rows(3)
    found = make_layer().target_log_prob(states, torch.tensor(NEVER))
    assert found.tolist() == [-torch.inf] * 3


@pytest.mark.parametrize("most", [1, 200, 1 << 24])
def test_gradients_are_those_of_the_slow_layer(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_blocks, "_MOST_GATHERED", most)
    layer = make_layer()
    given, words = make_rows(80)
    weights = [*layer.parameters()]
    gradients = []
    for slow in (False, True):
        states = given.clone().requires_grad_()
        if slow:
            picked = expected_log_probs(layer, states).gather(1, words.unsqueeze(1)).squeeze(1)
        else:
            picked = layer.target_log_prob(states, words)
        loss = (picked * torch.linspace(0.5, 1.5, 80, dtype=torch.float64)).sum()
        gradients.append(torch.autograd.grad(loss, [states, *weights]))
    for found, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)
        assert found.isfinite().all()


def test_log_prob_is_that_of_the_targets_and_zero_on_padding() -> None:
    layer, batch = FactoredToken(hidden=5, vocabulary_size=9).double(), make_batch([[4, 5, 6], [7]])
    states = torch.randn(2, 4, 5).double()
    found = layer.log_prob(states, batch)
    expected = layer.logits(states).gather(2, batch.targets[..., None])[..., 0]
    torch.testing.assert_close(found[batch.is_token], expected[batch.is_token])
    assert found[~batch.is_token].tolist() == [0.0, 0.0]


def test_classes_are_stored_with_the_weights(tmp_path: Path) -> None:
    layer = make_layer(seed=1)
    other = FactoredToken(hidden=HIDDEN, vocabulary_size=WORDS, never=NEVER).double()
    assert not torch.equal(layer.word_class, other.word_class)
    save_weights(layer, tmp_path / "weights")
    load_weights(other, tmp_path / "weights")
    for (name, one), (_, two) in zip(layer.named_buffers(), other.named_buffers(), strict=True):
        assert torch.equal(one, two), name
    states, words = make_rows(20)
    assert torch.equal(layer.target_log_prob(states, words), other.target_log_prob(states, words))
    names = {"linear.weight", "linear.bias", "class_linear.weight", "class_linear.bias"}
    assert set(layer.state_dict()) == {*names, "word_class"}


@pytest.mark.parametrize(
    ("word", "number"), [(5, 7), (5, NO_CLASS), (5, -2), (BEGIN_ID, 0), (slice(3, None), 2)]
)
def test_classes_of_another_vocabulary_are_refused(
    word: int | slice, number: int, tmp_path: Path
) -> None:
    layer = make_layer()
    classes = layer.word_class.numpy().copy()
    classes[word] = number
    assert layer.word_branches == 7 and layer.members.shape[1] < WORDS - 3
    with pytest.raises(GardenpathError, match="classes of words do not fit"):
        layer.set_classes(classes)
    layer.word_class.copy_(torch.from_numpy(classes))
    save_weights(layer, tmp_path / "weights")
    with pytest.raises(DamagedRunError, match="weights: the classes of words do not fit"):
        load_weights(make_layer(), tmp_path / "weights")


def test_classes_are_learned_by_all_layers_of_a_network() -> None:
    split = make_split(random_sentences(0, count=50, vocabulary_size=WORDS))
    first, third = make_layer(), make_layer(singles=2)
    before = first.word_class.clone()
    learn_classes(torch.nn.Sequential(first, torch.nn.Linear(2, 2), third), split)
    assert not torch.equal(first.word_class, before)
    assert torch.equal(first.word_class, third.word_class)


def test_the_settings_choose_the_layer() -> None:
    make = functools.partial(make_output, hidden=4, vocabulary_size=9)
    full = make("full")
    assert type(full) is NextToken and isinstance(make("factored"), FactoredToken)
    assert type(make("full", has_pieces=True)) is NextToken
    with pytest.raises(GardenpathError, match="output=factored needs a vocabulary of whole words"):
        make("factored", has_pieces=True)
    assert full.branch_of(torch.arange(9)).tolist() == list(range(9))
