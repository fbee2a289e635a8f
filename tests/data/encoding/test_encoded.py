"""Encoded splits: renumbering, pieces, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.encoding import (
    EncodedSplit,
    Inventory,
    RawSplit,
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
    encoded.save(tmp_path / "train")
    loaded = StoredSplit.open(tmp_path / "train")
    for name in ("tokens", "starts_word", "offsets", "actions", "action_offsets"):
        before, after = getattr(encoded, name), getattr(loaded, name)
        np.testing.assert_array_equal(after, before)
        assert after.dtype == before.dtype


def test_damaged_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a prepared split"):
        StoredSplit.open(tmp_path)
    encode_words(raw_split(), elsewhere=np.arange(3), first=np.arange(3), label_ids=LABEL_IDS).save(
        tmp_path
    )
    (tmp_path / "tokens.npy").write_bytes(b"\x93NUMPY broken")
    with pytest.raises(InputError, match="is not a prepared split") as caught:
        StoredSplit.open(tmp_path)
    assert "delete" in caught.value.remedy
