"""Shares of batches: together they are the batch, and they are balanced."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Ints
from gardenpath.data.batches.tokens import share_of


def shares(lengths: Ints, batch: Ints, count: int) -> list[Ints]:
    return [share_of(batch, lengths, shard=number, shards=count) for number in range(count)]


@given(
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=40),
    count=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_shares_together_are_the_batch(lengths: list[int], count: int, seed: int) -> None:
    array: Ints = np.array(lengths, dtype=np.int64)
    batch = np.random.default_rng(seed).permutation(len(lengths))
    parts = shares(array, batch, count)
    assert sorted(np.concatenate(parts).tolist()) == sorted(batch.tolist())
    place = {number: position for position, number in enumerate(batch.tolist())}
    for part in parts:
        places = [place[number] for number in part.tolist()]
        assert places == sorted(places)


@given(
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=40),
    count=st.integers(2, 6),
)
def test_shares_are_balanced(lengths: list[int], count: int) -> None:
    """No process has more tokens than another by more than a sentence."""
    array: Ints = np.array(lengths, dtype=np.int64)
    tokens = [int((array[part] + 1).sum()) for part in shares(array, np.arange(len(array)), count)]
    assert max(tokens) - min(tokens) <= max(lengths) + 1
    empty = [amount for amount in tokens if amount == 0]
    assert len(empty) == max(0, count - len(lengths))


def test_sentences_of_similar_length_are_shared_almost_evenly() -> None:
    """As in batches, whose sentences are chosen by length."""
    lengths = np.random.default_rng(1).integers(18, 22, size=64)
    tokens = [int((lengths[part] + 1).sum()) for part in shares(lengths, np.arange(64), 4)]
    assert max(tokens) <= 1.01 * min(tokens)


def test_one_process_takes_the_batch() -> None:
    batch = np.array([5, 2, 7])
    assert share_of(batch, np.arange(9), shard=0, shards=1) is batch
