"""Kneser-Ney against a slow oracle, and the properties that every model must have."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.models.ngram.model import (
    FALLBACK_DISCOUNTS,
    NgramModel,
    estimate_discounts,
    train_ngram,
)
from tests.models.samples import make_split, random_sentences
from tests.models.slow_kneser_ney import SlowKneserNey

SIZE = 8

corpora = st.lists(st.lists(st.integers(3, SIZE - 1), max_size=5), min_size=1, max_size=14)
contexts = st.lists(st.integers(3, SIZE - 1), max_size=5)


def _train(sentences: list[list[int]], *, order: int, size: int = SIZE) -> NgramModel:
    return train_ngram(make_split(sentences), vocabulary_size=size, order=order)


def _require_equal(
    model: NgramModel, oracle: SlowKneserNey, context: list[int], size: int = SIZE
) -> None:
    expected = [oracle.probability(word, context) for word in range(size)]
    found = np.exp(model.next_log_probs(context))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@settings(max_examples=60, deadline=None)
@given(sentences=corpora, context=contexts, order=st.integers(1, 5))
def test_probabilities_equal_those_of_the_oracle(
    sentences: list[list[int]], context: list[int], order: int
) -> None:
    model = _train(sentences, order=order)
    oracle = SlowKneserNey(sentences, order=order, vocabulary_size=SIZE)
    _require_equal(model, oracle, context)
    for length in range(len(sentences[0]) + 1):
        _require_equal(model, oracle, sentences[0][:length])


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_estimated_discounts_give_the_probabilities_of_the_oracle(order: int) -> None:
    """On a skewed corpus, where all counts of counts are there and no discount is a fallback."""
    generator = np.random.default_rng(order)
    size = 40
    sentences = [
        np.minimum(3 + generator.geometric(0.12, size=6), size - 1).tolist() for _ in range(120)
    ]
    model = _train(sentences, order=order, size=size)
    oracle = SlowKneserNey(sentences, order=order, vocabulary_size=size)
    for context in ([], sentences[0][:1], sentences[1][:3], sentences[2], [3, 3, 3, 3]):
        _require_equal(model, oracle, context, size)
    assert oracle._discounts[0] != FALLBACK_DISCOUNTS


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_scores_of_sentences_equal_those_of_the_oracle(order: int) -> None:
    sentences = random_sentences(order, count=30, vocabulary_size=SIZE)
    model = _train(sentences, order=order)
    oracle = SlowKneserNey(sentences, order=order, vocabulary_size=SIZE)
    unseen = random_sentences(99, count=6, vocabulary_size=SIZE)
    for sentence, scores in zip(unseen, model.score([np.array(s) for s in unseen]), strict=True):
        expected = [
            math.log(oracle.probability(word, sentence[:position]))
            for position, word in enumerate([*sentence, END_ID])
        ]
        np.testing.assert_allclose(scores, expected, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(sentences=corpora, context=contexts, order=st.integers(1, 5))
def test_probabilities_sum_to_one_after_any_context(
    sentences: list[list[int]], context: list[int], order: int
) -> None:
    probabilities = np.exp(_train(sentences, order=order).next_log_probs(context))
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert probabilities[[PAD_ID, BEGIN_ID]].tolist() == [0.0, 0.0]
    possible = np.delete(probabilities, [PAD_ID, BEGIN_ID])
    assert (possible > 0.0).all()


def test_discounts_by_hand() -> None:
    # n1 = 6, n2 = 3, n3 = 2, n4 = 1: Y = 6 / (6 + 2 · 3) = 1/2
    counts = np.array([1] * 6 + [2] * 3 + [3] * 2 + [4] + [9] * 5)
    expected = (1 - 2 * 0.5 * 3 / 6, 2 - 3 * 0.5 * 2 / 3, 3 - 4 * 0.5 * 1 / 2)
    assert estimate_discounts(counts) == pytest.approx(expected)
    assert expected == pytest.approx((0.5, 1.0, 2.0))


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ([1, 1, 2, 3], "no n-gram occurs four times"),
        ([], "there are no n-grams"),
        ([1, 1, 1, 1, 2, 3, 4], "D2 would be zero and leave nothing for unseen words"),
        ([1] * 10 + [2] + [3] * 5 + [4], "D2 would be negative"),
    ],
)
def test_fallback_discounts_where_no_estimate_is_possible(counts: list[int], why: str) -> None:
    assert estimate_discounts(np.array(counts, dtype=np.int64)) == FALLBACK_DISCOUNTS, why


def test_bigrams_by_hand() -> None:
    """One sentence, 'a b': all counts are one, so D1 = 1/2 throughout."""
    a, b = 4, 5
    model = _train([[a, b]], order=2, size=6)
    # Unigrams a, b and the end: each is preceded by one word; 4 words can be predicted.
    unigram = 0.5 / 3 + 0.5 * (1 / 4)
    unknown = 0.5 * (1 / 4)
    np.testing.assert_allclose(
        np.exp(model.next_log_probs([])),
        [0, 0, 0.5 * unigram, 0.5 * unknown, 0.5 + 0.5 * unigram, 0.5 * unigram],
        rtol=1e-12,
    )


def test_ngrams_at_the_beginning_keep_their_counts() -> None:
    """'a' begins three sentences and 'b' one: p(a | <s>) must reflect 3 : 1, not 1 : 1."""
    a, b = 4, 5
    model = _train([[a], [a], [a], [b]], order=3, size=6)
    probabilities = np.exp(model.next_log_probs([]))
    oracle = SlowKneserNey([[a], [a], [a], [b]], order=3, vocabulary_size=6)
    # (3 - 1.5) / 4 and (1 - 0.5) / 4, and each its share of the rest.
    direct = probabilities[a] - probabilities[b]
    rest = (1.5 + 0.5) / 4 * (oracle._interpolated(a, ()) - oracle._interpolated(b, ()))
    assert direct == pytest.approx((3 - 1.5) / 4 - (1 - 0.5) / 4 + rest, rel=1e-12)


def test_a_corpus_of_one_empty_sentence() -> None:
    model = _train([[]], order=5)
    assert np.exp(model.next_log_probs([])).sum() == pytest.approx(1.0)
    assert model.next_log_probs([]).argmax() == END_ID
