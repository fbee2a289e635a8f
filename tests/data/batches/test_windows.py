"""Batches planned in windows: the same as from a plan of the whole split, in bounded memory."""

from __future__ import annotations

import functools
import tracemalloc
from collections.abc import Callable
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gardenpath.data.arrays import Ints
from gardenpath.data.batches import trees as timed_tree_batches
from gardenpath.data.batches import trees as tree_batches
from gardenpath.data.batches.stack_plan import plan_stacks
from gardenpath.data.batches.tokens import BatchLoader, bracket_collate, plan_batches, token_batch
from gardenpath.data.batches.trees import in_rounds, timed_tree_collate, tree_collate
from gardenpath.data.corpus import BatchSettings
from gardenpath.data.encoding import EncodedSplit, StoredSplit
from gardenpath.data.trees.legality import Strategy
from tests.tree_samples import SHAPES, STRATEGIES, encode_trees

SMALL = BatchSettings(max_tokens=60, max_sentences=5)


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
