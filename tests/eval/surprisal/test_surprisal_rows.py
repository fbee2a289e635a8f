"""Rows of surprisals, what models see, and sentences that a search failed on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding import encode_sentences
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.words.pieces import (
    Subwords,
    SubwordSettings,
    subword_vocabulary,
    train_subwords,
)
from gardenpath.data.words.vocabulary import Vocabulary, build_vocabulary
from gardenpath.eval.surprisal.tables import (
    SentenceFailure,
    SurprisalRow,
    failures_of,
    rows_of,
    seen_as,
)


def _log2(*bits: float) -> Floats:
    return -np.array(bits) * math.log(2)


def test_rows_by_hand() -> None:
    rows = rows_of(
        "r", [["the", "cat"], ["a"]], [_log2(1, 2.5, 0), _log2(3, 4)], [["the", "<unk-lc>"], ["a"]]
    )
    found = [(r.run, r.sentence_id, r.word_id, r.word, r.seen_as, r.surprisal_bits) for r in rows]
    assert found == [
        ("r", 1, 1, "the", "the", pytest.approx(1.0)),
        ("r", 1, 2, "cat", "<unk-lc>", pytest.approx(2.5)),
        ("r", 1, 3, "</s>", "</s>", 0.0),
        ("r", 2, 1, "a", "a", pytest.approx(3.0)),
        ("r", 2, 2, "</s>", "</s>", pytest.approx(4.0)),
    ]
    assert [row.seen for row in rows] == [True, False, True, True, True]
    assert math.copysign(1, rows[2].surprisal_bits) == 1


def test_ends_are_left_out_by_option() -> None:
    sentences = [["</s>", "b"], ["c"]]
    scores = [_log2(1, 2, 9), _log2(3, 9)]
    rows = rows_of("r", sentences, scores, sentences, end=False)
    assert [row.word for row in rows] == ["</s>", "b", "c"]
    assert [row.surprisal_bits for row in rows] == pytest.approx([1, 2, 3])


def test_impossible_and_undefined_words_have_rows() -> None:
    scores = np.array([-math.inf, math.nan, math.nan])
    first, second, end = rows_of("r", [["a", "b"]], [scores], [["a", "b"]])
    assert first.surprisal_bits == math.inf
    assert math.isnan(second.surprisal_bits) and math.isnan(end.surprisal_bits)


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0]])
def test_scores_of_other_lengths_are_refused(scores: list[float]) -> None:
    with pytest.raises(ValueError):
        rows_of("r", [["a"]], [np.array(scores)], [["a"]])


@pytest.mark.parametrize(
    ("view", "seen"),
    [("cat", True), ("<unk>", False), ("<unk-lc-s>", False), ("▁c at", True),
     ("▁c <unk>", False), ("UNK", True), ("<unknown>", True)],
)  # fmt: skip
def test_what_counts_as_seen(view: str, seen: bool) -> None:
    row = SurprisalRow(run="", sentence_id=1, word_id=1, word="x", seen_as=view, surprisal_bits=0.0)
    assert row.seen is seen


def _words() -> Vocabulary:
    counts = {("the", True): 5, ("cat", False): 4, ("Xyzzy", True): 1, ("dogs", False): 1}
    return build_vocabulary(counts, labels=(), language="en", min_count=2)


def _pieces() -> tuple[Subwords, Vocabulary]:
    text = ["the hungry cat meows", "the cats meow", "hungry cats"] * 5
    subwords = train_subwords(text, SubwordSettings(algorithm="bpe", pieces=25))
    return subwords, subword_vocabulary(subwords, {}, labels=(), language="en")


def test_unknown_words_are_seen_as_their_class() -> None:
    assert seen_as(["the", "cat", "cats", "<unk>"], _words()) == (
        "the",
        "cat",
        "<unk-lc-s>",
        "<unk>",
    )


@given(
    st.lists(st.sampled_from(["the", "The", "cat", "Zs", "dogs", "7", "，", "</s>"]), max_size=5)
)
def test_what_is_shown_is_what_is_encoded(words: list[str]) -> None:
    vocabulary = _words()
    assert [vocabulary.ids[view] for view in seen_as(words, vocabulary)] == vocabulary.encode(words)


def test_pieces_are_shown_as_they_are_encoded() -> None:
    subwords, vocabulary = _pieces()
    words = ["the", "meow", "hung猫", "猫"]
    views = seen_as(words, vocabulary, subwords)
    split = encode_sentences([words], vocabulary, subwords)
    shown = [vocabulary.ids[piece] for view in views for piece in view.split(" ")]
    assert shown == split.tokens.tolist()
    assert [view.count(" ") + 1 for view in views] == np.diff(split.word_starts(0)).tolist()
    rows = rows_of("r", [words], [np.zeros(5)], [views], end=False)
    assert [row.seen for row in rows] == [True, True, False, False]


def test_failures_are_named_by_place_and_remedy() -> None:
    sentences = [Sentence(("the", name), Source("in.txt", 2 * n)) for n, name in enumerate("abcd")]
    right = _log2(1, 2, 3)
    undefined = np.array([-1.0, math.nan, math.nan])
    log_probs = [right, right, undefined, right]
    found = failures_of(sentences, log_probs, {0: "", 2: "raise search.max_open"})
    expected = SentenceFailure(
        sentence_id=3, place="in.txt:4", word_id=2, remedy="raise search.max_open"
    )
    assert found == (expected,)
    assert str(expected) == "in.txt:4: no surprisal from word 2 on (raise search.max_open)"


def test_words_after_an_impossible_one_are_reported_without_remedy() -> None:
    sentence = Sentence(("a", "b"), Source("in.txt", 1))
    (failure,) = failures_of([sentence], [np.array([-math.inf, -1.0, math.nan])], {})
    assert (failure.word_id, failure.remedy) == (3, "")
