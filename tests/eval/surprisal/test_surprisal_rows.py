"""Rows of surprisals, what models see, and jobs that go on where they were."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding.encoded import encode_sentences
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.words.subwords import (
    Subwords,
    SubwordSettings,
    subword_vocabulary,
    train_subwords,
)
from gardenpath.data.words.vocabulary import Vocabulary, build_vocabulary
from gardenpath.eval.journal import Journal
from gardenpath.eval.search.result import SearchFailure
from gardenpath.eval.surprisal.surprisal_rows import (
    SentenceFailure,
    SurprisalRow,
    failures_of,
    rows_of,
    score_in_chunks,
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


class _Scorer:
    """Scores a word by its length, and remembers what it was asked; stops after some calls."""

    def __init__(self, calls: int = 10**9) -> None:
        self._calls = calls
        self.asked: list[list[tuple[str, ...]]] = []

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        if len(self.asked) == self._calls:
            raise KeyboardInterrupt
        self.asked.append([tuple(words) for words in sentences])
        return [_expected(words) for words in sentences]


def _expected(words: Sequence[str]) -> Floats:
    return -np.array([*(float(len(word)) for word in words), 0.25 * len(words)])


SENTENCES = [["the", "dog"], ["a"], ["the", "cat", "x"], ["b", "cc"], ["the", "cat"], ["a"], ["z"]]


def test_chunks_are_sorted_and_results_are_not() -> None:
    scorer = _Scorer()
    words: list[int] = []
    found = score_in_chunks(scorer, SENTENCES, Journal(None, "k"), chunk=3, progress=words.append)
    assert [scores.tolist() for scores in found] == [_expected(s).tolist() for s in SENTENCES]
    assert scorer.asked == [
        [("a",), ("a",), ("b", "cc")],
        [("the", "cat"), ("the", "cat", "x"), ("the", "dog")],
        [("z",)],
    ]
    assert words == [4, 7, 1]


@pytest.mark.parametrize("calls", [0, 1, 2, 3])
def test_a_killed_job_does_only_the_rest(tmp_path: Path, calls: int) -> None:
    path = tmp_path / "out.tsv.partial" / "a.jsonl"
    first = _Scorer(calls)
    if calls < 3:
        with pytest.raises(KeyboardInterrupt):
            score_in_chunks(first, SENTENCES, Journal(path, "k"), chunk=3)
    else:
        score_in_chunks(first, SENTENCES, Journal(path, "k"), chunk=3)
    second = _Scorer()
    journal = Journal(path, "k")
    found = score_in_chunks(second, SENTENCES, journal, chunk=3)
    assert [scores.tolist() for scores in found] == [_expected(s).tolist() for s in SENTENCES]
    assert [s for call in first.asked + second.asked for s in call] == sorted(map(tuple, SENTENCES))
    journal.close(remove=True)
    assert list(tmp_path.iterdir()) == []


def test_a_journal_of_other_settings_does_not_leak(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a.jsonl", "old")
    journal.add(0, [-99.0, -99.0, -99.0])
    journal.close()
    found = score_in_chunks(_Scorer(), SENTENCES, Journal(tmp_path / "a.jsonl", "new"))
    assert found[0].tolist() == _expected(SENTENCES[0]).tolist()


class _Failing(_Scorer):
    """Finds no hypothesis at the word ``x``; numbers its failures as they stand in the call."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: dict[int, SearchFailure] = {}

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        found = super().word_log_probs(sentences)
        self.failures = {}
        for number, words in enumerate(sentences):
            if "x" in words:
                place = list(words).index("x")
                found[number][place:] = math.nan
                self.failures[number] = SearchFailure(place, hit_open=True, hit_consecutive=False)
        return found


def test_failures_keep_their_place_and_remedy_over_chunks_and_restarts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    score_in_chunks(_Failing(), SENTENCES, Journal(path, "k"), chunk=2)
    journal = Journal(path, "k")
    again = _Failing()
    found = score_in_chunks(again, SENTENCES, journal, chunk=2)
    assert again.asked == [] and journal.notes == {2: "raise search.max_open"}
    inputs = [
        Sentence(tuple(words), Source("in.txt", 2 * number))
        for number, words in enumerate(SENTENCES)
    ]
    expected = SentenceFailure(
        sentence_id=3, place="in.txt:4", word_id=3, remedy="raise search.max_open"
    )
    assert failures_of(inputs, found, journal.notes) == (expected,)
    assert str(expected) == "in.txt:4: no surprisal from word 3 on (raise search.max_open)"


def test_words_after_an_impossible_one_are_reported_without_remedy() -> None:
    sentence = Sentence(("a", "b"), Source("in.txt", 1))
    (failure,) = failures_of([sentence], [np.array([-math.inf, -1.0, math.nan])], {})
    assert (failure.word_id, failure.remedy) == (3, "")
