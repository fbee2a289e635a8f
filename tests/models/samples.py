"""Small vocabularies, splits and batches, and what must hold for every scorer."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.batches.tokens import TokenBatch, token_batch
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.sentence import Scorer
from gardenpath.data.words.vocabulary import SPECIALS, Vocabulary

SPECIAL_COUNT = len(SPECIALS)


def make_vocabulary(*words: str) -> Vocabulary:
    """The special symbols and the given words."""
    tokens = (*SPECIALS, *words)
    return Vocabulary(
        tokens=tokens, counts=(1,) * len(tokens), labels=(), language="en", min_count=1
    )


def make_split(sentences: Sequence[Sequence[int]]) -> EncodedSplit:
    """Sentences of ids, each token a word."""
    lengths = [len(sentence) for sentence in sentences]
    tokens = np.array([token for sentence in sentences for token in sentence], dtype=np.int32)
    return EncodedSplit(
        tokens=tokens,
        starts_word=np.ones(len(tokens), dtype=bool),
        offsets=np.cumsum([0, *lengths]),
        actions=np.zeros(0, dtype=np.int32),
        action_offsets=np.zeros(len(lengths) + 1, dtype=np.int64),
    )


def make_batch(sentences: Sequence[Sequence[int]]) -> TokenBatch:
    """One batch of sentences of ids."""
    return token_batch(make_split(sentences), np.arange(len(sentences)))


def random_sentences(
    seed: int, *, count: int, vocabulary_size: int, longest: int = 8
) -> list[list[int]]:
    """Sentences of random ids, among them the unknown word."""
    generator = np.random.default_rng(seed)
    return [
        generator.integers(SPECIAL_COUNT - 1, vocabulary_size, size=length).tolist()
        for length in generator.integers(1, longest + 1, size=count)
    ]


# ----------------------------------------------------------------------------
# What holds for every scorer: checks that tests of any family can use.


Sentences = Sequence[Sequence[str]]


def check_form(scorer: Scorer, sentences: Sentences) -> list[Floats]:
    """One number per word and one for the end, none of them positive; returns them."""
    found = scorer.word_log_probs(sentences)
    assert [len(one) for one in found] == [len(words) + 1 for words in sentences]
    for one in found:
        assert one.dtype == np.float64
        assert (one <= 1e-12).all()  # also false if a number is NaN
    return found


def check_single(scorer: Scorer, sentences: Sentences, *, atol: float) -> None:
    """A batch of N sentences has the scores of N single ones."""
    together = scorer.word_log_probs(sentences)
    for words, expected in zip(sentences, together, strict=True):
        (alone,) = scorer.word_log_probs([words])
        np.testing.assert_allclose(alone, expected, rtol=0, atol=atol)


def check_order(scorer: Scorer, sentences: Sentences, *, atol: float) -> None:
    """The order of sentences does not matter, nor that one occurs twice."""
    expected = scorer.word_log_probs(sentences)
    shuffled = [*reversed(range(len(sentences))), 0]
    found = scorer.word_log_probs([sentences[number] for number in shuffled])
    for number, one in zip(shuffled, found, strict=True):
        np.testing.assert_allclose(one, expected[number], rtol=0, atol=atol)


def check_prefixes(scorer: Scorer, sentences: Sentences, *, atol: float) -> int:
    """Equal beginnings have equal scores, whatever follows; returns how many were compared."""
    pairs = list(zip(sentences, scorer.word_log_probs(sentences), strict=True))
    compared = 0
    for (words, one), (others, other) in itertools.combinations(pairs, 2):
        length = _common(words, others)
        np.testing.assert_allclose(one[:length], other[:length], rtol=0, atol=atol)
        compared += length
    return compared


def check_every_prefix(scorer: Scorer, words: Sequence[str], *, atol: float) -> None:
    """A sentence that breaks off has the scores of the whole one up to there."""
    (whole,) = scorer.word_log_probs([words])
    for length in range(len(words)):
        (part,) = scorer.word_log_probs([words[:length]])
        np.testing.assert_allclose(part[:-1], whole[:length], rtol=0, atol=atol)


def sum_of_probabilities(scorer: Scorer, words: Sequence[str], following: Sequence[str]) -> float:
    """Sum of the probabilities of the end and of words that may follow some words."""
    scores = scorer.word_log_probs([[*words, word] for word in following])
    (alone,) = scorer.word_log_probs([words])
    return float(np.exp([one[len(words)] for one in scores]).sum() + np.exp(alone[-1]))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return len(list(pairs))
