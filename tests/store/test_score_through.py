"""Scoring through the store: nothing twice, nothing lost, everything as if computed at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from gardenpath.store.surprisals import EntryNeeds, Matters, Stored, SurprisalStore, score_through
from gardenpath.store.tables import SURPRISAL_SE
from gardenpath.util import Words

SENTENCES = [("the", "dog"), ("a", "cat", "sat"), ("the", "cat"), ("a", "cat"), ("a",), ("the",)]


class Counting:
    """A scorer that writes down what it was asked."""

    def __init__(self, *, parses: bool = False, dies_at: int | None = None) -> None:
        self.chunks: list[list[Words]] = []
        self._parses = parses
        self._dies_at = dies_at

    def __call__(self, sentences: Sequence[Words]) -> list[Stored]:
        if len(self.chunks) == self._dies_at:
            raise KeyboardInterrupt
        self.chunks.append(list(sentences))
        return [self.score(words) for words in sentences]

    def score(self, words: Words) -> Stored:
        log_probs = [-float(len(word)) for word in words]
        parses = [[(1.0, f"({word}")] for word in words] if self._parses else None
        return Stored([*log_probs, -0.5], parses=parses)


@pytest.fixture
def store(tmp_path: Path) -> SurprisalStore:
    return SurprisalStore(tmp_path / "s.sqlite")


def expected(*, parses: bool = False) -> dict[Words, Stored]:
    return {words: Counting(parses=parses).score(words) for words in SENTENCES}


def test_everything_is_computed_once_in_sorted_chunks(store: SurprisalStore) -> None:
    scorer, done = Counting(), list[int]()
    asked = [*SENTENCES, *SENTENCES]
    found = score_through(store, "m", asked, scorer, chunk=4, progress=done.append)
    assert found == expected() and list(found) == SENTENCES
    ordered = sorted(SENTENCES)
    assert scorer.chunks == [ordered[:4], ordered[4:]]
    assert sum(done) == sum(map(len, SENTENCES))
    again, done = Counting(), []
    assert score_through(store, "m", SENTENCES, again, progress=done.append) == expected()
    assert again.chunks == [] and done == [sum(map(len, SENTENCES))]
    assert score_through(store, "m", [], again) == {}
    score_through(store, "another", SENTENCES[:1], again)
    assert again.chunks == [SENTENCES[:1]]


def test_an_interrupted_job_loses_one_chunk(store: SurprisalStore) -> None:
    whole = Counting()
    score_through(None, "m", SENTENCES, whole, chunk=2)
    with pytest.raises(KeyboardInterrupt):
        score_through(store, "m", SENTENCES, Counting(dies_at=1), chunk=2)
    assert len(store.get("m", SENTENCES)) == 2
    second = Counting()
    assert score_through(store, "m", SENTENCES, second, chunk=2) == expected()
    assert second.chunks == whole.chunks[1:], "the same sentences together as without a kill"


@pytest.mark.parametrize("wanted", [True, SENTENCES[:2], set(SENTENCES[:2])])
def test_parses_are_computed_where_they_are_missing(store: SurprisalStore, wanted: object) -> None:
    score_through(store, "m", SENTENCES, Counting())
    scorer = Counting(parses=True)
    needs = EntryNeeds(parses=wanted)  # type: ignore[arg-type]
    found = score_through(store, "m", SENTENCES, scorer, needs=needs)
    chosen = SENTENCES if wanted is True else SENTENCES[:2]
    assert scorer.chunks == [sorted(chosen)]
    assert found == {**expected(), **{w: expected(parses=True)[w] for w in chosen}}
    again = Counting()
    assert score_through(store, "m", SENTENCES, again, needs=EntryNeeds(parses=chosen)) == found
    assert again.chunks == []


def test_what_was_stored_first_is_returned(store: SurprisalStore) -> None:
    """Another job may store a sentence while this one computes it, with other last digits."""
    first = {words: Stored([-7.0] * (len(words) + 1)) for words in SENTENCES[:3]}

    def overtaken(sentences: Sequence[Words]) -> list[Stored]:
        store.put("m", first)
        return Counting()(sentences)

    assert score_through(store, "m", SENTENCES, overtaken) == {**expected(), **first}


def test_without_a_store_everything_is_computed(store: SurprisalStore) -> None:
    for _ in range(2):
        scorer = Counting()
        assert score_through(None, "m", SENTENCES, scorer, chunk=5) == expected()
        assert [len(chunk) for chunk in scorer.chunks] == [5, 1]


def test_a_scorer_must_answer_for_every_sentence(store: SurprisalStore) -> None:
    with pytest.raises(ValueError, match="shorter"):
        score_through(store, "m", SENTENCES, lambda sentences: [])
    assert not store.path.exists()


def _searched(words: Words, errors: float, *, replicates: int = 4) -> Stored:
    """Scores with replicates; the standard error at position n is n times ``errors``."""
    places = range(len(words) + 1)
    return Stored(
        [-1.0] * len(places),
        columns={SURPRISAL_SE: [errors * place for place in places]},
        deviations=[[0.0] * replicates for _ in places],
    )


def test_entries_without_columns_count_as_missing_if_they_are_needed(store: SurprisalStore) -> None:
    """Once computed with columns, they are found, also by those that need none."""
    score_through(store, "m", SENTENCES, Counting())
    chunks: list[list[Words]] = []

    def search(sentences: Sequence[Words]) -> list[Stored]:
        chunks.append(list(sentences))
        return [_searched(words, 0.0) for words in sentences]

    for needs in (EntryNeeds(columns=True), EntryNeeds(columns=True), EntryNeeds()):
        found = score_through(store, "m", SENTENCES, search, needs=needs)
        assert found == {words: _searched(words, 0.0) for words in SENTENCES}
    assert chunks == [sorted(SENTENCES)]


@pytest.mark.parametrize(
    ("tolerance", "matters", "most", "is_met"),
    [
        (None, None, None, True),
        (0.3, None, 16, True),  # the error of the end is 0.3
        (0.29, None, 16, False),
        (0.29, None, 4, True),  # there are as many replicates as allowed
        (0.29, None, None, False),
        (0.29, {}, 16, False),
        (0.29, {("a", "b", "c"): ()}, 16, True),
        (0.15, {("a", "b", "c"): (0, 1)}, 16, True),
        (0.15, {("a", "b", "c"): {2}}, 16, False),
        (0.15, {("another",): ()}, 16, False),
    ],
)
def test_entries_that_are_too_uncertain_count_as_missing(
    tolerance: float | None, matters: Matters | None, most: int | None, is_met: bool
) -> None:
    words = ("a", "b", "c")
    needs = EntryNeeds(columns=True, tolerance_bits=tolerance, max_replicates=most, matters=matters)
    assert needs.are_met(words, _searched(words, 0.1)) is is_met
    undefined = _searched(words, math.nan)
    assert needs.are_met(words, undefined), "more replicates do not help a failed search"
    assert needs.are_met(words, Stored([-1.0] * 4, columns={"best_share": [1.0] * 4}))


def test_uncertain_entries_are_computed_again_and_replaced(store: SurprisalStore) -> None:
    """All later readers get the numbers of more replicates."""
    first = {words: _searched(words, 0.1) for words in SENTENCES}
    store.put("m", first)
    longest = ("a", "cat", "sat")
    needs = EntryNeeds(columns=True, tolerance_bits=0.25, max_replicates=64)

    def search(sentences: Sequence[Words]) -> list[Stored]:
        assert list(sentences) == [longest]
        return [_searched(words, 0.05, replicates=16) for words in sentences]

    expected = {**first, longest: _searched(longest, 0.05, replicates=16)}
    assert score_through(store, "m", SENTENCES, search, needs=needs) == expected
    assert score_through(store, "m", SENTENCES, Counting(dies_at=0)) == expected
