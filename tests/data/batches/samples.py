"""Small splits for the tests of batches."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import torch

from gardenpath.data.batches.tokens import TokenBatch
from gardenpath.data.encoding import EncodedSplit


def split_of(sentences: list[list[int]], starts_word: list[bool] | None = None) -> EncodedSplit:
    tokens = [token for sentence in sentences for token in sentence]
    offsets = np.cumsum([0, *map(len, sentences)])
    return EncodedSplit(
        tokens=np.array(tokens, dtype=np.int32),
        starts_word=np.array(starts_word or [True] * len(tokens), dtype=bool),
        offsets=offsets.astype(np.int64),
        actions=np.zeros(0, dtype=np.int32),
        action_offsets=np.zeros(len(offsets), dtype=np.int64),
    )


def numbered_split(count: int = 57, seed: int = 3) -> EncodedSplit:
    """Sentences of random lengths; each repeats one token of its own, so that it can be told."""
    lengths = np.random.default_rng(seed).integers(1, 15, size=count).tolist()
    return split_of([[100 + number] * length for number, length in enumerate(lengths)])


def assert_same(one: list[TokenBatch], other: list[TokenBatch]) -> None:
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        for field in fields(left):
            assert torch.equal(getattr(left, field.name), getattr(right, field.name))
