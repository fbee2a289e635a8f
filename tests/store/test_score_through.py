"""Scoring through the store: nothing twice, nothing lost, everything as if computed at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gardenpath.store.entries.entry_needs import EntryNeeds
from gardenpath.store.score_through import score_through
from gardenpath.store.surprisal_store import Stored, SurprisalStore
from gardenpath.text import Words

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
