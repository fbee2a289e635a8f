"""Encoded splits: renumbering, pieces, files."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.encoding import (
    ARRAYS,
    ArrayWriter,
    EncodedSplit,
    Inventory,
    RawSplit,
    SplitWriter,
    StoredSplit,
    collect,
    encode_pieces,
    encode_sentences,
    encode_words,
)
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees.legality import Kind
from gardenpath.data.trees.tree import parse_tree
from gardenpath.data.words.vocabulary import SPECIALS, Vocabulary
from gardenpath.errors import InputError
from tests.tree_samples import SHAPES, encode_trees, save_split

SHIFT, REDUCE, OPEN = Kind.SHIFT, Kind.REDUCE, Kind.OPEN
# Labels S and NP are numbered 0 and 1 as they appear; sorted, NP comes first.
LABEL_IDS = np.array([1, 0])


def raw_split() -> RawSplit:
    """Words 0, 1, 2 and 1, 0."""
    trees = [parse_tree("(S (NP the cat) meows)"), parse_tree("(NP cat the)")]
    sentences = [Sentence(tree.words(), Source("x", 1), tree) for tree in trees]
    return collect(sentences, Inventory(), Inventory())


def test_encode_words() -> None:
    encoded = encode_words(
        raw_split(),
        elsewhere=np.array([10, 11, 12]),
        first=np.array([20, 21, 22]),
        label_ids=LABEL_IDS,
    )
    assert encoded.tokens.tolist() == [20, 11, 12, 21, 10]
    assert encoded.starts_word.tolist() == [True] * 5
    assert encoded.actions.tolist() == [
        *[OPEN + 1, OPEN + 0, SHIFT, SHIFT, REDUCE, SHIFT, REDUCE],
        *[OPEN + 0, SHIFT, SHIFT, REDUCE],
    ]
    assert encoded.lengths.tolist() == [3, 2]
    assert encoded.word_count == 5
    assert len(encoded) == 2
    assert encoded.sentence(1).tolist() == [21, 10]


def test_encode_pieces() -> None:
    encoded = encode_pieces(
        raw_split(), pieces={0: [10], 1: [11, 21, 31], 2: [12, 22]}, label_ids=LABEL_IDS
    )
    assert encoded.tokens.tolist() == [10, 11, 21, 31, 12, 22, 11, 21, 31, 10]
    assert encoded.starts_word.astype(int).tolist() == [1, 1, 0, 0, 1, 0, 1, 0, 0, 1]
    assert encoded.offsets.tolist() == [0, 6, 10]
    assert encoded.word_count == 5
    assert encoded.actions.tolist() == [
        *[OPEN + 1, OPEN + 0, SHIFT, SHIFT, SHIFT, SHIFT, REDUCE, SHIFT, SHIFT, REDUCE],
        *[OPEN + 0, SHIFT, SHIFT, SHIFT, SHIFT, REDUCE],
    ]
    assert encoded.action_offsets.tolist() == [0, 10, 16]


def test_from_pieces_to_words() -> None:
    encoded = encode_pieces(
        raw_split(), pieces={0: [10], 1: [11, 21, 31], 2: [12, 22]}, label_ids=LABEL_IDS
    )
    assert encoded.begins_word(0).astype(int).tolist() == [1, 1, 0, 0, 1, 0]
    assert encoded.word_starts(0).tolist() == [0, 1, 4, 6]
    assert encoded.last_pieces(0).tolist() == [0, 3, 5, 6]
    assert encoded.word_starts(1).tolist() == [0, 3, 4]
    assert encoded.last_pieces(1).tolist() == [2, 3, 4]
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    assert encoded.sum_to_words(0, values).tolist() == [1.0, 14.0, 48.0, 64.0]


@given(st.lists(st.integers(1, 4), max_size=6))
def test_words_by_loop(pieces: list[int]) -> None:
    """The places and sums of words with so many pieces each, worked out one after the other."""
    begins = np.array([place == 0 for count in pieces for place in range(count)], dtype=bool)
    split = EncodedSplit(
        tokens=np.zeros(len(begins), dtype=np.int32),
        starts_word=begins,
        offsets=np.array([0, len(begins)]),
        actions=np.zeros(0, dtype=np.int32),
        action_offsets=np.zeros(2, dtype=np.int64),
    )
    values = np.arange(0.5, len(begins) + 1, dtype=np.float64)
    starts, ends, sums, place = [], [], [], 0
    for count in [*pieces, 1]:
        starts.append(place)
        ends.append(place + count - 1)
        sums.append(sum(values[place : place + count]))
        place += count
    assert split.word_starts(0).tolist() == starts
    assert split.last_pieces(0).tolist() == ends
    assert split.sum_to_words(0, values).tolist() == sums


def test_encode_pieces_of_text_without_trees() -> None:
    plain = Sentence(("a", "b"), Source("x", 1))
    raw = collect([plain], Inventory(), Inventory())
    encoded = encode_pieces(raw, pieces={0: [5, 6], 1: [7]}, label_ids=np.zeros(0, dtype=np.int64))
    assert encoded.tokens.tolist() == [5, 6, 7]
    assert encoded.actions.tolist() == []
    assert encoded.action_offsets.tolist() == [0, 0]


def test_encode_sentences() -> None:
    vocabulary = Vocabulary((*SPECIALS, "the", "cat"), (0, 0, 0, 0, 5, 5), (), "en", 2)
    encoded = encode_sentences([["the", "cat"], [], ["dog"]], vocabulary, None)
    assert encoded.tokens.tolist() == [4, 5, 3]
    assert encoded.offsets.tolist() == [0, 2, 2, 3]
    assert encoded.starts_word.tolist() == [True, True, True]
    assert len(encode_sentences([], vocabulary, None)) == 0


def test_file_round_trip(tmp_path: Path) -> None:
    encoded = encode_pieces(
        raw_split(), pieces={0: [10], 1: [11, 21], 2: [12]}, label_ids=LABEL_IDS
    )
    save_split(encoded, tmp_path / "train")
    loaded = StoredSplit.open(tmp_path / "train")
    for name in ("tokens", "starts_word", "offsets", "actions", "action_offsets"):
        before, after = getattr(encoded, name), getattr(loaded, name)
        np.testing.assert_array_equal(after, before)
        assert after.dtype == before.dtype


def test_damaged_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a prepared split"):
        StoredSplit.open(tmp_path)
    numbers = np.arange(3)
    encoded = encode_words(raw_split(), elsewhere=numbers, first=numbers, label_ids=LABEL_IDS)
    save_split(encoded, tmp_path)
    (tmp_path / "tokens.npy").write_bytes(b"\x93NUMPY broken")
    with pytest.raises(InputError, match="is not a prepared split") as caught:
        StoredSplit.open(tmp_path)
    assert "delete" in caught.value.remedy


# ----------------------------------------------------------------------------
# Splits as numbers, before the vocabulary is known.


def sentence(text: str, line: int = 1) -> Sentence:
    tree = parse_tree(text)
    return Sentence(tree.words(), Source("cats.mrg", line), tree)


def test_inventory_numbers_in_order_of_appearance() -> None:
    inventory = Inventory()
    assert [inventory.number(item) for item in ("b", "a", "b", "c")] == [0, 1, 0, 2]
    assert inventory.items == ["b", "a", "c"]


def test_trees() -> None:
    words, labels = Inventory(), Inventory()
    raw = collect(
        [sentence("(S (NP the cat) meows)", 3), sentence("(NP the dog)", 8)], words, labels
    )
    assert words.items == ["the", "cat", "meows", "dog"]
    assert labels.items == ["S", "NP"]
    assert raw.words.tolist() == [0, 1, 2, 0, 3]
    assert raw.offsets.tolist() == [0, 3, 5]
    opens = [Kind.OPEN + 0, Kind.OPEN + 1]
    assert raw.actions.tolist() == [
        *[opens[0], opens[1], Kind.SHIFT, Kind.SHIFT, Kind.REDUCE, Kind.SHIFT, Kind.REDUCE],
        *[opens[1], Kind.SHIFT, Kind.SHIFT, Kind.REDUCE],
    ]
    assert raw.action_offsets.tolist() == [0, 7, 11]
    assert raw.sources == ["cats.mrg:3", "cats.mrg:8"]
    assert raw.is_first.tolist() == [True, False, False, True, False]


def test_inventories_are_shared_between_splits() -> None:
    words, labels = Inventory(), Inventory()
    collect([sentence("(NP the cat)")], words, labels)
    raw = collect([sentence("(VP the dog)")], words, labels)
    assert raw.words.tolist() == [0, 2]
    assert raw.actions.tolist()[0] == Kind.OPEN + 1


def test_text_has_no_actions() -> None:
    plain = Sentence(("the", "cat"), Source("cats.txt", 1))
    raw = collect([plain, plain], Inventory(), Inventory())
    assert raw.actions.tolist() == []
    assert raw.action_offsets.tolist() == [0, 0, 0]


def test_no_sentences() -> None:
    raw = collect([], Inventory(), Inventory())
    assert (raw.words.tolist(), raw.offsets.tolist(), raw.sources) == ([], [0], [])


def test_word_counts_by_place() -> None:
    words = Inventory()
    words.number("never")
    raw = collect([sentence("(S the the cat)"), sentence("(S cat)")], words, Inventory())
    assert raw.word_counts(words.items) == {
        ("the", True): 1,
        ("the", False): 1,
        ("cat", True): 1,
        ("cat", False): 1,
    }


# ----------------------------------------------------------------------------
# Splits on disk: read sentence by sentence, written block by block.


SPLIT = encode_trees([*SHAPES, *SHAPES])[0]


def assert_equal(one: EncodedSplit, other: EncodedSplit) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype == getattr(other, name).dtype


def stored(folder: Path) -> StoredSplit:
    save_split(SPLIT, folder)
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
    save_split(SPLIT, tmp_path / "whole")
    for name in ARRAYS:
        ours, whole = (tmp_path / kind / f"{name}.npy" for kind in ("blocks", "whole"))
        assert ours.read_bytes() == whole.read_bytes()
    assert writer.sizes["sentences"] == len(SPLIT)
    sizes = writer.sizes["tokens"], writer.sizes["actions"]
    assert sizes == (len(SPLIT.tokens), len(SPLIT.actions))
