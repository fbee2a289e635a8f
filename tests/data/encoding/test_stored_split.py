"""Splits on disk: read sentence by sentence, written block by block."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.encoding import ARRAYS, ArrayWriter, EncodedSplit, SplitWriter, StoredSplit
from gardenpath.errors import InputError
from tests.tree_samples import SHAPES, encode_trees

SPLIT = encode_trees([*SHAPES, *SHAPES])[0]


def assert_equal(one: EncodedSplit, other: EncodedSplit) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype == getattr(other, name).dtype


def stored(folder: Path) -> StoredSplit:
    SPLIT.save(folder)
    return StoredSplit.open(folder)


@given(st.lists(st.integers(0, len(SPLIT) - 1), max_size=12))
def test_sentences_are_taken_one_by_one(numbers: list[int]) -> None:
    taken = SPLIT.take(np.array(numbers, dtype=np.int64))
    assert len(taken) == len(numbers)
    for place, number in enumerate(numbers):
        assert taken.sentence(place).tolist() == SPLIT.sentence(number).tolist()
        assert taken.begins_word(place).tolist() == SPLIT.begins_word(number).tolist()
        first, last = taken.action_offsets[place : place + 2]
        begin, end = SPLIT.action_offsets[number : number + 2]
        assert taken.actions[first:last].tolist() == SPLIT.actions[begin:end].tolist()


def test_a_file_gives_the_same_as_memory(tmp_path: Path) -> None:
    split = stored(tmp_path)
    generator = np.random.default_rng(1)
    for count in (0, 1, 5, len(SPLIT)):
        numbers = generator.integers(0, len(SPLIT), size=count)
        assert_equal(split.take(numbers), SPLIT.take(numbers))
    assert_equal(split, SPLIT)


def test_another_process_opens_the_folder(tmp_path: Path) -> None:
    content = pickle.dumps(stored(tmp_path))  # as worker processes that are started anew do
    assert len(content) < 1000, "the arrays are not sent"
    again = pickle.loads(content)  # noqa: S301
    assert_equal(again.take(np.arange(3)), SPLIT.take(np.arange(3)))


def test_a_file_that_is_cut_short_is_an_error(tmp_path: Path) -> None:
    split = stored(tmp_path)
    path = tmp_path / "tokens.npy"
    os.truncate(path, path.stat().st_size - 4)
    split.take(np.arange(1))
    with pytest.raises(InputError, match=r"tokens\.npy: ends too early"):
        split.take(np.array([len(SPLIT) - 1]))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("sizes", [[], [0], [3], [1, 0, 700, 2]])
def test_arrays_are_written_as_by_numpy(tmp_path: Path, dtype: Any, sizes: list[int]) -> None:
    parts = [np.arange(size).astype(dtype) for size in sizes]
    writer = ArrayWriter(tmp_path / "ours.npy", dtype)
    for part in parts:
        writer.append(part)
    writer.close()
    np.save(tmp_path / "numpy.npy", np.concatenate([np.zeros(0, dtype=dtype), *parts]))
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()


def test_splits_are_written_in_blocks(tmp_path: Path) -> None:
    writer = SplitWriter(tmp_path / "blocks")
    for begin, end in ((0, 4), (4, 4), (4, 5), (5, len(SPLIT))):
        writer.append(SPLIT.take(np.arange(begin, end)), b"")
    writer.close()
    SPLIT.save(tmp_path / "whole")
    for name in ARRAYS:
        ours, whole = (tmp_path / kind / f"{name}.npy" for kind in ("blocks", "whole"))
        assert ours.read_bytes() == whole.read_bytes()
    assert writer.sentences == len(SPLIT)
    assert (writer.tokens, writer.actions) == (len(SPLIT.tokens), len(SPLIT.actions))
