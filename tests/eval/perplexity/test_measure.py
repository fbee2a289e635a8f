"""Perplexity from word probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from gardenpath.data.arrays import Floats
from gardenpath.eval.perplexity import Perplexity, measure


class _Halves:
    """Gives each word probability 1/2 and each end 1/8."""

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        return [np.log(np.array([0.5] * len(words) + [0.125])) for words in sentences]


SENTENCES = [["a", "b", "c"], ["d"]]


def test_sums_are_in_nats_with_ends_apart() -> None:
    found = measure(_Halves(), SENTENCES)
    assert (found.sentences, found.words) == (2, 4)
    assert found.word_nats == pytest.approx(4 * math.log(2))
    assert found.end_nats == pytest.approx(6 * math.log(2))


def test_perplexity_with_and_without_the_end_by_hand() -> None:
    found = measure(_Halves(), SENTENCES)
    assert found.with_end == pytest.approx(2 ** (10 / 6))
    assert found.without_end == pytest.approx(2.0)


def test_bits_by_hand() -> None:
    found = measure(_Halves(), SENTENCES)
    assert found.bits_per_sentence == pytest.approx(5.0)
    assert found.bits_per_word == pytest.approx(10 / 6)


def test_a_model_without_ends_has_no_perplexity_without_them() -> None:
    found = Perplexity(sentences=2, words=4, word_nats=12 * math.log(2), end_nats=None)
    assert found.without_end is None
    assert found.with_end == pytest.approx(2 ** (12 / 6))
    assert found.bits_per_sentence == pytest.approx(6.0)


def test_an_impossible_word_makes_perplexity_infinite() -> None:
    class Impossible:
        def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
            return [np.array([-np.inf, -1.0]) for _ in sentences]

    assert measure(Impossible(), [["a"]]).with_end == math.inf
