"""Batches: nothing lost, nothing twice, budgets kept, and the same order for the same seed."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Ints
from gardenpath.data.batches.tokens import (
    BatchLoader,
    TokenBatch,
    Uncounted,
    plan_batches,
    token_batch,
)
from gardenpath.data.corpus import BatchSettings
from gardenpath.data.encoding import EncodedSplit
from tests.data.batches.samples import assert_same, numbered_split

SMALL = BatchSettings(max_tokens=60, max_sentences=5)


def sentences_in(batch: TokenBatch) -> list[int]:
    return batch.inputs[:, 1].tolist() if batch.inputs.shape[1] > 1 else []


def loader(
    split: EncodedSplit,
    *,
    settings: BatchSettings = SMALL,
    seed: int | None = 1,
    epoch: int = 0,
    shard: int = 0,
    shards: int = 1,
) -> BatchLoader[TokenBatch]:
    return BatchLoader(
        split.lengths,
        collate=partial(token_batch, split),
        settings=settings,
        shuffle_seed=seed,
        epoch=lambda: epoch,
        shard=shard,
        shards=shards,
    )


# ---- Plans


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=120),
    max_tokens=st.integers(1, 200),
    max_sentences=st.integers(1, 12),
    seed=st.one_of(st.none(), st.tuples(st.integers(0, 9), st.integers(0, 9))),
)
def test_plan(
    lengths: list[int], max_tokens: int, max_sentences: int, seed: tuple[int, int] | None
) -> None:
    array: Ints = np.array(lengths, dtype=np.int64)
    settings = BatchSettings(max_tokens=max_tokens, max_sentences=max_sentences)
    plan = plan_batches(array, settings, shuffle_seed=seed)
    assert Counter(np.concatenate(plan).tolist()) == Counter(range(len(lengths)))
    for batch in plan:
        assert 1 <= len(batch) <= max_sentences
        # A sentence that is too long for the budget still has to go somewhere: alone.
        assert len(batch) == 1 or len(batch) * (int(array[batch].max()) + 1) <= max_tokens


def test_plan_without_shuffling_rises_in_length() -> None:
    lengths = numbered_split(80).lengths
    order = np.concatenate(plan_batches(lengths, SMALL, shuffle_seed=None))
    assert (np.diff(lengths[order]) >= 0).all()


def test_lengths_in_a_batch_are_close() -> None:
    """Bucketing: a tenth of the padding that batches in random order would have, or less."""
    lengths = np.random.default_rng(0).integers(1, 60, size=4000)
    settings = BatchSettings(max_tokens=10**6, max_sentences=32)
    plan = plan_batches(lengths, settings, shuffle_seed=(0, 0))
    padding = sum(int((lengths[batch].max() - lengths[batch]).sum()) for batch in plan)
    random = np.random.default_rng(1).permutation(4000)[:3200].reshape(100, 32)
    at_random = sum(int((lengths[batch].max() - lengths[batch]).sum()) for batch in random)
    assert padding < at_random / 10


def test_batches_are_filled() -> None:
    lengths = np.full(100, 9, dtype=np.int64)
    by_tokens = plan_batches(lengths, BatchSettings(max_tokens=70), shuffle_seed=(0, 0))
    assert sorted(map(len, by_tokens)) == [2] + [7] * 14
    by_count = plan_batches(
        lengths, BatchSettings(max_tokens=10**6, max_sentences=8), shuffle_seed=None
    )
    assert list(map(len, by_count)) == [8] * 12 + [4]


# ---- Loaders


def test_every_sentence_once_per_epoch() -> None:
    split = numbered_split()
    for epoch in range(3):
        seen = [token for batch in loader(split, epoch=epoch) for token in sentences_in(batch)]
        assert sorted(seen) == list(range(100, 157))


def test_order_follows_from_seed_and_epoch() -> None:
    split = numbered_split()
    first = list(loader(split, seed=1, epoch=2))
    assert_same(first, list(loader(split, seed=1, epoch=2)))
    orders = {
        tuple(
            token
            for batch in loader(split, seed=seed, epoch=epoch)
            for token in sentences_in(batch)
        )
        for seed in (1, 2)
        for epoch in (0, 1, 2)
    }
    assert len(orders) == 6


def test_epoch_is_asked_for_anew() -> None:
    epoch, split = 0, numbered_split()
    batches = BatchLoader(
        split.lengths,
        collate=partial(token_batch, split),
        settings=SMALL,
        shuffle_seed=1,
        epoch=lambda: epoch,
    )
    first = list(batches)
    assert_same(list(batches), first)
    epoch = 1
    assert_same(list(batches), list(loader(numbered_split(), epoch=1)))
    assert [sentences_in(batch) for batch in batches] != [sentences_in(batch) for batch in first]


def test_length_is_the_number_of_batches() -> None:
    batches = loader(numbered_split())
    assert len(batches) == len(list(batches)) > 10


def parts_of(
    split: EncodedSplit, seed: int | None, shards: int
) -> list[list[TokenBatch | Uncounted[TokenBatch]]]:
    loaders: list[BatchLoader[Any]] = [
        loader(split, seed=seed, shard=number, shards=shards) for number in range(shards)
    ]
    assert len({len(one) for one in loaders}) == 1
    return [list(one) for one in loaders]


@pytest.mark.parametrize("shards", [2, 3, 50])
@pytest.mark.parametrize("seed", [5, None])
def test_shards_divide_each_batch(seed: int | None, shards: int) -> None:
    """All take equally many steps, in which they take the batch of one process, nothing twice."""
    split = numbered_split()
    whole = list(loader(split, seed=seed))
    steps = list(zip(*parts_of(split, seed, shards), strict=True))
    assert len(steps) == len(whole)
    for step, batch in zip(steps, whole, strict=True):
        taken = [one for part in step if isinstance(part, TokenBatch) for one in sentences_in(part)]
        assert sorted(taken) == sorted(sentences_in(batch))


def test_an_empty_share_is_a_sentence_that_does_not_count() -> None:
    split = numbered_split()
    whole = list(loader(split, seed=5))
    for part in parts_of(split, 5, 50)[-1]:
        assert isinstance(part, Uncounted)
        assert len(sentences_in(part.batch)) == 1
        assert isinstance(part.to("cpu"), Uncounted)
    assert len(whole) > 10


@pytest.mark.parametrize("given_out", [0, 1, 5])
def test_resuming_goes_on_with_the_next_batch(given_out: int) -> None:
    split = numbered_split()
    expected = list(loader(split, epoch=3))
    interrupted = loader(split, epoch=3)
    stream = iter(interrupted)
    for _ in range(given_out):
        next(stream)
    resumed = loader(split, epoch=3)
    resumed.load_state_dict(interrupted.state_dict() if given_out else {"epoch": 3, "batches": 0})
    assert_same(list(resumed), expected[given_out:])
    assert_same(list(resumed), expected)


def test_state_of_another_epoch_is_not_used() -> None:
    split = numbered_split()
    resumed = loader(split, epoch=4)
    resumed.load_state_dict({"epoch": 3, "batches": 2})
    assert_same(list(resumed), list(loader(split, epoch=4)))


def test_state_counts_from_where_it_resumed() -> None:
    resumed = loader(numbered_split(), epoch=2)
    resumed.load_state_dict({"epoch": 2, "batches": 3})
    next(iter(resumed))
    assert resumed.state_dict() == {"epoch": 2, "batches": 4}


def test_workers_change_nothing() -> None:
    split = numbered_split(30)
    with_worker = BatchSettings(max_tokens=60, max_sentences=5, workers=1)
    assert_same(list(loader(split, settings=with_worker)), list(loader(split)))
