"""Small vocabularies, splits and batches for the tests of models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gardenpath.data.batches.tokens import TokenBatch, token_batch
from gardenpath.data.encoding import EncodedSplit
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
