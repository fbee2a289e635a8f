"""Batches: nothing lost, nothing twice, budgets kept, and the same order for the same seed."""

from __future__ import annotations

import functools
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Ints
from gardenpath.data.batches import trees as timed_tree_batches
from gardenpath.data.batches import trees as tree_batches
from gardenpath.data.batches.stack_plan import plan_stacks
from gardenpath.data.batches.tokens import (
    BatchLoader,
    TokenBatch,
    Uncounted,
    bracket_collate,
    plan_batches,
    share_of,
    token_batch,
)
from gardenpath.data.batches.trees import in_rounds, timed_tree_collate, tree_collate
from gardenpath.data.corpus import BatchSettings
from gardenpath.data.encoding import EncodedSplit, StoredSplit
from gardenpath.data.trees.legality import Strategy
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from tests.tree_samples import SHAPES, STRATEGIES, encode_trees


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


# ----------------------------------------------------------------------------
# Batches: nothing lost, nothing twice, budgets kept, and the same order for the same seed.


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


# ----------------------------------------------------------------------------
# Shares of batches: together they are the batch, and they are balanced.


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


# ----------------------------------------------------------------------------
# Batches of tokens, sentence by sentence.


def test_token_batch() -> None:
    split = split_of([[7, 8, 9], [5], [6, 6]], starts_word=[True, False, True, True, True, False])
    batch = token_batch(split, np.array([1, 0]))
    assert batch.inputs.tolist() == [[BEGIN_ID, 5, PAD_ID, PAD_ID], [BEGIN_ID, 7, 8, 9]]
    assert batch.targets.tolist() == [[5, END_ID, PAD_ID, PAD_ID], [7, 8, 9, END_ID]]
    assert batch.is_token.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.starts_word.tolist() == [[True, False, False, False], [True, False, True, False]]
    assert batch.is_end.tolist() == [[False, True, False, False], [False, False, False, True]]
    assert batch.inputs.dtype == batch.targets.dtype == torch.int64


@given(st.lists(st.lists(st.integers(4, 99), min_size=1, max_size=7), min_size=1, max_size=6))
def test_targets_are_inputs_one_step_later(sentences: list[list[int]]) -> None:
    batch = token_batch(split_of(sentences), np.arange(len(sentences)))
    width = max(map(len, sentences)) + 1
    assert batch.inputs.shape == (len(sentences), width)
    for row, sentence in enumerate(sentences):
        padding = [PAD_ID] * (width - len(sentence) - 1)
        assert batch.inputs[row].tolist() == [BEGIN_ID, *sentence, *padding]
        assert batch.targets[row].tolist() == [*sentence, END_ID, *padding]
        assert batch.is_token[row].sum() == len(sentence) + 1


def test_batch_of_one_is_the_row_of_a_batch_of_many() -> None:
    split = numbered_split(6)
    together = token_batch(split, np.arange(6))
    for number in range(6):
        alone = token_batch(split, np.array([number]))
        width = alone.inputs.shape[1]
        assert torch.equal(alone.targets[0], together.targets[number, :width])
        assert torch.equal(alone.inputs[0], together.inputs[number, :width])


def test_to_moves_every_tensor() -> None:
    batch = token_batch(numbered_split(3), np.arange(3))
    moved = batch.to("meta")
    assert {getattr(moved, field.name).device.type for field in fields(moved)} == {"meta"}
    assert {getattr(batch, field.name).device.type for field in fields(batch)} == {"cpu"}
    assert_same([batch.to(torch.device("cpu"))], [batch])


# ----------------------------------------------------------------------------
# Batches planned in windows: the same as from a plan of the whole split, in bounded memory.


def assert_same_batch(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    for field in fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if isinstance(left, torch.Tensor):
            assert torch.equal(left, right), field.name
        else:
            assert left == right, field.name


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("is_timed", [False, True])
def test_windows_give_the_batches_of_a_whole_plan(strategy: Strategy, is_timed: bool) -> None:
    split, vocabulary = encode_trees([*SHAPES] * 25)
    labels = len(vocabulary.labels)
    whole = plan_stacks(split, strategy)
    make: Callable[..., Any] = timed_tree_collate if is_timed else tree_collate
    collate = make(split, strategy=strategy, label_count=labels)

    def from_whole(sentences: Ints) -> Any:
        if is_timed:
            plan = in_rounds(whole)
            return timed_tree_batches._TimeAssembly(split, plan, sentences, labels).batch()
        return tree_batches._LevelAssembly(split, whole, sentences, labels).batch()

    loader = BatchLoader(split.lengths, collate=collate, settings=SMALL, shuffle_seed=3)
    plan = plan_batches(split.lengths, SMALL, shuffle_seed=(3, 0))
    assert len(plan) > 32, "several windows"
    for batch, sentences in zip(loader, plan, strict=True):
        assert_same_batch(batch, from_whole(sentences))
        assert_same_batch(collate(sentences), from_whole(sentences))


def test_resuming_in_the_middle_of_a_window() -> None:
    split, vocabulary = encode_trees([*SHAPES] * 25)
    collate = tree_collate(split, strategy="top_down", label_count=len(vocabulary.labels))

    def loader() -> BatchLoader[Any]:
        return BatchLoader(split.lengths, collate=collate, settings=SMALL, shuffle_seed=3)

    expected, resumed = list(loader()), loader()
    resumed.load_state_dict({"epoch": 0, "batches": 19})
    rest = list(resumed)
    assert len(rest) == len(expected) - 19
    for one, other in zip(rest, expected[19:], strict=True):
        assert_same_batch(one, other)


def test_brackets_do_not_depend_on_the_other_sentences() -> None:
    split, vocabulary = encode_trees([*SHAPES] * 3)
    collate = bracket_collate(split, vocabulary_size=len(vocabulary))
    whole = collate(np.arange(len(split)))
    for number in range(len(split)):
        alone = collate(np.array([number]))
        length = alone.inputs.shape[1]
        for name in ("inputs", "targets", "is_symbol", "is_word", "legal", "open_at"):
            together = getattr(whole, name)[number, :length]
            assert torch.equal(getattr(alone, name)[0], together), name


def _collate(model: str, split: EncodedSplit) -> Callable[[Ints], Any]:
    match model:
        case "tokens":
            return functools.partial(token_batch, split)
        case "brackets":
            return bracket_collate(split, vocabulary_size=30)
        case "trees":
            return tree_collate(split, strategy="top_down", label_count=10)
        case _:
            return timed_tree_collate(split, strategy="in_order", label_count=10)


def _bytes_of_batches(model: str, folder: Path) -> int:
    """The largest memory while the first batches of an epoch are built."""
    tracemalloc.start()
    try:
        split = StoredSplit.open(folder)
        loader = BatchLoader(
            split.lengths, collate=_collate(model, split), settings=SMALL, shuffle_seed=1
        )
        for _ in islice(loader, 40):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("model", ["tokens", "brackets", "trees", "timed trees"])
def test_memory_follows_the_number_of_sentences_alone(tmp_path: Path, model: str) -> None:
    """Some bytes per sentence for offsets, lengths and the order; none per word or action."""
    shapes, _ = encode_trees(SHAPES)
    sizes = (200, 6000)
    for count in sizes:
        shapes.take(np.arange(count) % len(SHAPES)).save(tmp_path / str(count))
    small, large = (_bytes_of_batches(model, tmp_path / str(count)) for count in sizes)
    # Four arrays of numbers of 8 bytes, a few of them copied, and views for the batches.
    assert (large - small) / (sizes[1] - sizes[0]) < 110
