"""Rows in blocks of one class."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
import torch

from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID, SPECIALS
from gardenpath.errors import DamagedRunError, GardenpathError
from gardenpath.models import output as class_blocks_factored_output
from gardenpath.models import output as word_classes
from gardenpath.models.output import (
    NO_CLASS,
    FactoredToken,
    NextToken,
    class_blocks,
    class_count,
    classes_by_context,
    classes_by_frequency,
    learn_classes,
    make_output,
    most_in_class,
)
from gardenpath.models.weights import load_weights, save_weights
from tests.models.samples import make_batch, make_split, random_sentences
from tests.models.slow_models import slow_log_probs


@pytest.mark.parametrize("size", [1, 3, 32])
@pytest.mark.parametrize("rows", [0, 1, 5, 200])
@pytest.mark.parametrize("count", [1, 4, 50])
def test_every_row_has_a_place_in_a_block_of_its_class(size: int, rows: int, count: int) -> None:
    random = torch.Generator().manual_seed(rows + count)
    classes = torch.randint(count, (rows,), generator=random)
    blocks, place = class_blocks(classes, count, size=size)
    assert len(place.unique()) == rows
    assert torch.equal(blocks[place // size], classes)
    # Blocks are full except for the last of each class.
    needed = sum(-(-int(total) // size) for total in classes.bincount(minlength=count))
    assert len(blocks) == needed
    most = rows // size + min(count, rows)
    assert needed <= most


@pytest.mark.parametrize("rows", [1, 5, 200])
def test_blocks_that_may_not_be_needed_change_no_place(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU there are as many as could be."""
    classes = torch.randint(9, (rows,), generator=torch.Generator().manual_seed(0))
    blocks, place = class_blocks(classes, 9, size=4)
    more, same = class_blocks(classes, 9, size=4, waits=False)
    assert torch.equal(place, same)
    assert torch.equal(more[: len(blocks)], blocks)
    assert len(more) == rows // 4 + min(9, rows) and (more < 9).all()


# ----------------------------------------------------------------------------
# A factored output layer is a distribution: that of its classes and of their words.


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
    monkeypatch.setattr(class_blocks_factored_output, "_MOST_GATHERED", most)
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


# ----------------------------------------------------------------------------
# Classes of words: of limited size, the same for the same corpus, and of similar contexts.


NEVER_WORD_CLASSES = (0, 1)


def require_classes(found: np.ndarray, size: int) -> None:
    assert found.shape == (size,)
    assert (found[list(NEVER_WORD_CLASSES)] == NO_CLASS).all()
    words = np.delete(found, NEVER_WORD_CLASSES)
    assert words.min() >= 0 and words.max() < class_count(size)
    assert np.bincount(words).max() <= most_in_class(size)


@pytest.mark.parametrize("size", [4, 5, 30, 400])
def test_every_word_has_a_class_of_limited_size(size: int) -> None:
    require_classes(classes_by_frequency(size, NEVER_WORD_CLASSES), size)
    split = make_split(random_sentences(size, count=200, vocabulary_size=size))
    found = classes_by_context(split, size, NEVER_WORD_CLASSES)
    require_classes(found, size)
    assert np.array_equal(found, classes_by_context(split, size, NEVER_WORD_CLASSES))


def test_a_corpus_without_sentences_has_classes() -> None:
    require_classes(classes_by_context(make_split([]), 30, NEVER_WORD_CLASSES), 30)


def test_words_of_the_same_contexts_share_a_class() -> None:
    """Four kinds of words that follow each other; words of a kind are alike."""
    kinds, members = 4, 5
    random = np.random.default_rng(0)
    size = len(SPECIALS) + kinds * members
    sentences = [
        [len(SPECIALS) + kind * members + int(random.integers(members)) for kind in range(kinds)]
        for _ in range(400)
    ]
    found = classes_by_context(make_split(sentences), size, NEVER_WORD_CLASSES)
    classes = found[len(SPECIALS) :].reshape(kinds, members)
    of_kind = [set(row) for row in classes.tolist()]
    # No class contains words of two kinds.
    assert sum(map(len, of_kind)) == len(set().union(*of_kind))


def test_contexts_tell_more_about_learned_classes_than_about_others() -> None:
    split = make_split(_markov_sentences())
    size = 60
    learned = classes_by_context(split, size, NEVER_WORD_CLASSES)
    assert _information(split.tokens, learned) > _information(
        split.tokens, classes_by_frequency(size, NEVER_WORD_CLASSES)
    )


def _markov_sentences() -> list[list[int]]:
    """Each word is followed by few others, similar ones for words of the same remainder."""
    random = np.random.default_rng(1)
    sentences = []
    for _ in range(300):
        words = [int(random.integers(4, 60))]
        for _ in range(9):
            words.append(4 + (words[-1] % 7 + 7 * int(random.integers(8))) % 56)
        sentences.append(words)
    return sentences


def _information(tokens: np.ndarray, classes: np.ndarray) -> float:
    """Mutual information (nats) of a word and the class of the next."""
    table = np.zeros((60, class_count(60)))
    np.add.at(table, (tokens[:-1], classes[tokens[1:]]), 1.0)
    table /= table.sum()
    independent = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
    seen = table > 0
    return float((table[seen] * np.log(table[seen] / independent[seen])).sum())


def test_large_corpora_are_read_in_blocks_and_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    split = make_split(random_sentences(0, count=200, vocabulary_size=30))
    whole = classes_by_context(split, 30, NEVER_WORD_CLASSES)
    monkeypatch.setattr(word_classes, "_BLOCK_SENTENCES", 7)
    assert np.array_equal(classes_by_context(split, 30, NEVER_WORD_CLASSES), whole)
    monkeypatch.setattr(word_classes, "_MOST_TOKENS", len(split.tokens) // 3)
    assert not np.array_equal(classes_by_context(split, 30, NEVER_WORD_CLASSES), whole)
    monkeypatch.setattr(word_classes, "_CONTEXTS", 3)
    require_classes(classes_by_context(split, 30, NEVER_WORD_CLASSES), 30)


# ----------------------------------------------------------------------------
# The softmax over what can come next.


SIZE = 9


def _layer() -> NextToken:
    torch.manual_seed(0)
    return NextToken(hidden=5, vocabulary_size=SIZE).double()


def test_probabilities_sum_to_one_without_padding_and_begin() -> None:
    probabilities = _layer().logits(torch.randn(7, 5).double()).softmax(-1)
    assert (probabilities[:, [PAD_ID, BEGIN_ID]] == 0.0).all()
    torch.testing.assert_close(probabilities.sum(-1), torch.ones(7).double(), rtol=1e-14, atol=0)


def test_log_prob_is_that_of_the_targets_and_zero_on_padding_output() -> None:
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
