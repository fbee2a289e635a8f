"""Scoring through the store: nothing twice, nothing lost, everything as if computed at once."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.errors import InputError
from gardenpath.store import surprisals as surprisal_store
from gardenpath.store.surprisals import (
    STORE_VERSION,
    EntryNeeds,
    Matters,
    Stored,
    SurprisalStore,
    score_through,
)
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


# ----------------------------------------------------------------------------
# Surprisals on disk: what was put comes back, and damage never becomes a number.


SENTENCE = ("the", "cat", "sat")
SCORES = Stored([-1.5, -0.25, -3.125, -0.0])
PARSES = Stored(
    SCORES.log_probs, parses=[[(0.75, "(S (NP the"), (0.25, "(X the")], [(1.0, "x")], []]
)
COLUMNS = Stored(
    SCORES.log_probs,
    columns={"entropy_bits": [0.1, 0.2, math.inf, 0.3], "best_share": [1.0, 0.5, 0.25, 0.125]},
)
DEVIATIONS = [[0.5, -0.5], [0.25, -0.25], [0.0, 0.0], [-1.5, 1.5]]
REPLICATED = Stored([-2.0] * 4, columns={"surprisal_se": [0.1] * 4}, deviations=DEVIATIONS)


@pytest.fixture
def store_surprisal_store(tmp_path: Path) -> SurprisalStore:
    return SurprisalStore(tmp_path / "cache" / "surprisals.sqlite")


def execute(store_surprisal_store: SurprisalStore, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(store_surprisal_store.path, isolation_level=None)) as connection:
        connection.execute(statement, values)


def shown(found: dict[Words, Stored]) -> dict[Words, str]:
    """Equal to the last bit, NaN included."""
    return {words: repr(stored) for words, stored in found.items()}


# ---- What was put comes back


def test_nothing_is_stored_at_first(store_surprisal_store: SurprisalStore) -> None:
    assert store_surprisal_store.get("model", [SENTENCE]) == {}
    assert not store_surprisal_store.path.parent.exists(), "asking writes nothing"
    store_surprisal_store.put("model", {})
    assert not store_surprisal_store.path.exists()


def test_scores_come_back(store_surprisal_store: SurprisalStore) -> None:
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    assert store_surprisal_store.get("model", [list(SENTENCE), ("another",)]) == {SENTENCE: SCORES}
    assert store_surprisal_store.get("another model", [SENTENCE]) == {}
    assert SurprisalStore(store_surprisal_store.path).get("model", [SENTENCE]) == {SENTENCE: SCORES}


def test_failures_and_parses_come_back(store_surprisal_store: SurprisalStore) -> None:
    failed = Stored([-1.0, math.nan, -math.inf], remedy="widen the beam: 猫")
    store_surprisal_store.put("model", {("a", "b"): failed, SENTENCE: PARSES})
    found = store_surprisal_store.get("model", [("a", "b"), SENTENCE])
    assert found[SENTENCE] == PARSES
    assert found["a", "b"].remedy == failed.remedy
    assert found["a", "b"].log_probs[0] == -1.0
    assert math.isnan(found["a", "b"].log_probs[1])
    assert found["a", "b"].log_probs[2] == -math.inf
    assert found["a", "b"].parses is None


words = st.lists(st.text(), max_size=6).map(tuple)


@settings(max_examples=20)
@given(st.dictionaries(words, st.floats(allow_nan=False), max_size=8), st.text())
def test_all_words_and_numbers_come_back(
    tmp_path_factory: pytest.TempPathFactory, content: dict[Words, float], key: str
) -> None:
    """Words may hold blanks, quotes, line ends and what is not valid Unicode."""
    store_surprisal_store = SurprisalStore(tmp_path_factory.mktemp("store") / "s?#% .sqlite")
    scored = {one: Stored([value] * (len(one) + 1)) for one, value in content.items()}
    store_surprisal_store.put(key, scored)
    assert store_surprisal_store.get(key, content) == scored


_singles = st.floats(width=32, allow_nan=False)
_names = st.one_of(st.text(min_size=1), st.sampled_from(["entropy_bits", "best_share"]))


@st.composite
def _entries(draw: st.DrawFn) -> tuple[Words, Stored]:
    """A sentence with any columns, and the deviations of any number of replicates."""
    one = draw(words)
    numbers = st.lists(st.floats(), min_size=len(one) + 1, max_size=len(one) + 1)
    replicates = draw(st.integers(0, 5))
    row = st.lists(_singles, min_size=replicates, max_size=replicates)
    rows = st.lists(row, min_size=len(one) + 1, max_size=len(one) + 1)
    return one, Stored(
        draw(numbers),
        remedy=draw(st.none() | st.text()),
        columns=draw(st.dictionaries(_names, numbers, max_size=4)),
        deviations=draw(st.none() | rows),
    )


@settings(max_examples=30)
@given(st.lists(_entries(), max_size=4))
def test_all_columns_and_deviations_come_back(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[Words, Stored]]
) -> None:
    store_surprisal_store = SurprisalStore(tmp_path_factory.mktemp("store") / "s.sqlite")
    store_surprisal_store.put("model", dict(entries))
    assert shown(store_surprisal_store.get("model", dict(entries))) == shown(dict(entries))


def test_deviations_are_kept_in_single_precision(store_surprisal_store: SurprisalStore) -> None:
    given = Stored([-1.0, -2.0], deviations=[[0.1, -0.1], [1 / 3, -1 / 3]])
    store_surprisal_store.put("model", {("a",): given})
    deviations = store_surprisal_store.get("model", [("a",)])["a",].deviations
    assert deviations is not None and given.replicates == len(deviations[0]) == 2
    for found, expected in zip(deviations, [[0.1, -0.1], [1 / 3, -1 / 3]], strict=True):
        assert found == pytest.approx(expected, rel=1e-7)


def test_words_with_blanks_are_not_split(store_surprisal_store: SurprisalStore) -> None:
    one, other = ("New York",), ("New", "York")
    store_surprisal_store.put(
        "model", {one: Stored([-1.0, -2.0]), other: Stored([-3.0, -4.0, -5.0])}
    )
    found = store_surprisal_store.get("model", [one, other])
    assert found[one].log_probs == (-1.0, -2.0) and found[other].log_probs == (-3.0, -4.0, -5.0)


def test_strings_that_are_not_unicode(store_surprisal_store: SurprisalStore) -> None:
    scored: dict[Words, Stored] = {
        ("\udc80",): Stored([-1.0, -2.0], parses=[[(1.0, "(NP \udc80")]])
    }
    store_surprisal_store.put("model", scored)
    assert store_surprisal_store.get("model", scored) == scored


def test_bits() -> None:
    stored = Stored([-math.log(2), 0.0, -0.0, math.nan, -math.inf])
    bits = stored.surprisal_bits
    assert bits[:3] == (1.0, 0.0, 0.0)
    assert [math.copysign(1, value) for value in bits[:3]] == [1.0, 1.0, 1.0]
    assert math.isnan(bits[3]) and bits[4] == math.inf


@pytest.mark.parametrize(
    ("columns", "deviations", "message"),
    [
        ({"best_share": [1.0] * 3}, None, "column best_share has 3 values, not 4"),
        ({}, DEVIATIONS[:3], "deviations are not 4 rows"),
        ({}, [*DEVIATIONS[:3], [0.5]], "as many replicates each"),
    ],
)
def test_numbers_of_a_search_must_fit_the_sentence(
    store_surprisal_store: SurprisalStore,
    columns: dict[str, list[float]],
    deviations: list[list[float]] | None,
    message: str,
) -> None:
    with pytest.raises(ValueError, match=message):
        store_surprisal_store.put(
            "model", {SENTENCE: Stored([-1.0] * 4, columns=columns, deviations=deviations)}
        )
    assert not store_surprisal_store.path.exists()


def test_scores_must_fit_the_sentence(store_surprisal_store: SurprisalStore) -> None:
    with pytest.raises(ValueError, match="3 log probabilities for 3 words and the end"):
        store_surprisal_store.put("model", {SENTENCE: Stored([-1.0, -2.0, -3.0])})
    assert not store_surprisal_store.path.exists()


# ---- What is there stays


def test_parses_are_added_and_never_lost(store_surprisal_store: SurprisalStore) -> None:
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    store_surprisal_store.put("model", {SENTENCE: PARSES})
    assert store_surprisal_store.get("model", [SENTENCE])[SENTENCE] == PARSES
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    assert store_surprisal_store.get("model", [SENTENCE])[SENTENCE] == PARSES


def test_numbers_that_others_may_have_read_do_not_change(
    store_surprisal_store: SurprisalStore,
) -> None:
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    store_surprisal_store.put("model", {SENTENCE: Stored([-9.0] * 4), ("a",): Stored([-1.0, -2.0])})
    found = store_surprisal_store.get("model", [SENTENCE, ("a",)])
    assert found == {SENTENCE: SCORES, ("a",): Stored([-1.0, -2.0])}


def test_an_entry_is_replaced_by_one_that_says_more(store_surprisal_store: SurprisalStore) -> None:
    """With columns, or from more replicates; never the other way round."""
    more = Stored(
        [-3.0] * 4, columns=REPLICATED.columns, deviations=[[*row, 0.0] for row in DEVIATIONS]
    )
    stages = [SCORES, COLUMNS, REPLICATED, more]
    for stage, entry in enumerate(stages):
        for other in (entry, *stages[:stage]):
            store_surprisal_store.put("model", {SENTENCE: other})
            assert store_surprisal_store.get("model", [SENTENCE]) == {SENTENCE: entry}
    same = Stored([-9.0] * 4, columns=more.columns, deviations=more.deviations)
    store_surprisal_store.put("model", {SENTENCE: same})
    assert store_surprisal_store.get("model", [SENTENCE]) == {SENTENCE: more}, (
        "numbers stay as they are"
    )


def test_parses_stay_with_new_numbers_and_are_added_to_old_ones(
    store_surprisal_store: SurprisalStore,
) -> None:
    store_surprisal_store.put("model", {SENTENCE: PARSES})
    store_surprisal_store.put("model", {SENTENCE: COLUMNS})
    both = Stored(COLUMNS.log_probs, parses=PARSES.parses, columns=COLUMNS.columns)
    assert store_surprisal_store.get("model", [SENTENCE]) == {SENTENCE: both}
    store_surprisal_store.put("another", {SENTENCE: COLUMNS})
    store_surprisal_store.put("another", {SENTENCE: Stored([-9.0] * 4, parses=PARSES.parses)})
    assert store_surprisal_store.get("another", [SENTENCE]) == {SENTENCE: both}


def test_a_batch_is_put_as_a_whole(
    store_surprisal_store: SurprisalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    good = surprisal_store._row("model", ("a",), Stored([-1.0, -2.0]))
    bad = (*good[:1], None, *good[2:])
    rows = iter([good, bad])
    monkeypatch.setattr(surprisal_store, "_row", lambda *_: next(rows))
    with pytest.raises(InputError):
        store_surprisal_store.put("model", {("a",): SCORES, ("b",): SCORES})
    assert set(store_surprisal_store.get("model", [SENTENCE, ("a",), ("b",)])) == {SENTENCE}


def test_ten_thousand_sentences_take_a_moment(store_surprisal_store: SurprisalStore) -> None:
    scored = {
        (*(f"word{number}-{place}" for place in range(12)), str(number)): Stored([-1.25] * 14)
        for number in range(10_000)
    }
    began = time.process_time()
    store_surprisal_store.put("model", scored)
    found = store_surprisal_store.get("model", [*scored, ("another",)])
    seconds = time.process_time() - began
    assert found == scored
    assert seconds < 2, "about half a second on an idle machine"


# ---- Files


def test_the_write_ahead_log_is_used_on_a_local_disk(store_surprisal_store: SurprisalStore) -> None:
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    with closing(sqlite3.connect(store_surprisal_store.path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_the_rollback_journal_is_used_on_a_network(
    store_surprisal_store: SurprisalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surprisal_store, "is_network", lambda _: True)
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    store_surprisal_store.put("model", {("a",): Stored([-1.0, -2.0])})
    with closing(sqlite3.connect(store_surprisal_store.path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
    assert set(store_surprisal_store.get("model", [SENTENCE, ("a",)])) == {SENTENCE, ("a",)}


def test_the_log_of_a_deleted_file_is_not_taken_over(store_surprisal_store: SurprisalStore) -> None:
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    holder = sqlite3.connect(store_surprisal_store.path)
    holder.execute("SELECT * FROM surprisals").fetchall()
    store_surprisal_store.put("model", {("a",): Stored([-1.0, -2.0])})
    log = store_surprisal_store.path.with_name(f"{store_surprisal_store.path.name}-wal")
    content = log.read_bytes()
    assert content
    holder.close()
    store_surprisal_store.path.unlink()
    log.write_bytes(content)
    store_surprisal_store.put("model", {("b",): Stored([-3.0, -4.0])})
    assert set(store_surprisal_store.get("model", [SENTENCE, ("a",), ("b",)])) == {("b",)}


def test_a_newer_file_is_refused(store_surprisal_store: SurprisalStore) -> None:
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    execute(store_surprisal_store, f"PRAGMA user_version={STORE_VERSION + 1}")
    for act in (
        lambda: store_surprisal_store.get("model", [SENTENCE]),
        lambda: store_surprisal_store.put("model", {SENTENCE: SCORES}),
    ):
        with pytest.raises(InputError, match="newer version of Gardenpath") as caught:
            act()
        assert (
            caught.value.path == str(store_surprisal_store.path) and "update" in caught.value.remedy
        )


def test_another_file_of_sqlite_is_refused(store_surprisal_store: SurprisalStore) -> None:
    store_surprisal_store.path.parent.mkdir()
    execute(store_surprisal_store, "CREATE TABLE surprisals (a)")
    with pytest.raises(InputError, match="is not a file of surprisals"):
        store_surprisal_store.put("model", {SENTENCE: SCORES})


def test_a_file_from_before_0_2_0_is_refused(store_surprisal_store: SurprisalStore) -> None:
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    execute(store_surprisal_store, "PRAGMA user_version=1")
    with pytest.raises(InputError, match=r"of a version before 0\.2\.0.*computed again"):
        store_surprisal_store.get("model", [SENTENCE])


def test_files_are_merged(store_surprisal_store: SurprisalStore, tmp_path: Path) -> None:
    """The file that is read stays as it is; entries with columns replace those without."""
    entries = {
        SENTENCE: PARSES,
        ("a",): Stored([-1.0, math.nan], remedy="wider: 猫"),
        ("b",): Stored([0, 1]),
    }
    other = SurprisalStore(tmp_path / "other.sqlite")
    other.put("model", entries)
    store_surprisal_store.put("model", {SENTENCE: REPLICATED})
    assert store_surprisal_store.add_from(other) == len(entries)
    assert shown(other.get("model", entries)) == shown(entries)
    merged = store_surprisal_store.get("model", entries)
    assert merged["a",].remedy == entries["a",].remedy and merged["b",] == entries["b",]
    assert (merged[SENTENCE].log_probs, merged[SENTENCE].deviations) == (
        REPLICATED.log_probs, REPLICATED.deviations,
    )  # fmt: skip
    assert merged[SENTENCE].parses == PARSES.parses
    other.add_from(store_surprisal_store)
    assert shown(other.get("model", merged)) == shown(merged)


# ---- Damage


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100, b"SQLite format 3\0"])
def test_a_file_that_is_no_store_is_named(
    store_surprisal_store: SurprisalStore, content: bytes
) -> None:
    store_surprisal_store.path.parent.mkdir()
    store_surprisal_store.path.write_bytes(content)
    for act in (
        lambda: store_surprisal_store.get("model", [SENTENCE]),
        lambda: store_surprisal_store.put("model", {SENTENCE: SCORES}),
    ):
        with pytest.raises(InputError, match=r"delete surprisals\.sqlite") as caught:
            act()
        assert caught.value.path == str(store_surprisal_store.path)


@pytest.mark.parametrize(
    "change",
    [
        "log_probs = x'000000000000f0bf000000000000f0bf000000000000f0bf000000000000f0bf'",
        "log_probs = x'00'",
        "log_probs = 'text'",
        "log_probs = 3",
        "remedy = 'none'",
        "parses = '[]'",
        "checksum = ''",
        "checksum = x'00'",
        "model_key = 'another'",
        "sentence = '[\"another\"]'",
    ],
)
def test_a_damaged_row_is_an_error(store_surprisal_store: SurprisalStore, change: str) -> None:
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    _require_damage(store_surprisal_store, change)


def _require_damage(store_surprisal_store: SurprisalStore, change: str) -> None:
    execute(store_surprisal_store, f"UPDATE surprisals SET {change}")
    with pytest.raises(InputError, match="is damaged") as caught:
        for key in ("model", "another"):
            store_surprisal_store.get(key, [SENTENCE, ("another",)])
    assert caught.value.path == str(store_surprisal_store.path) and "delete" in caught.value.remedy


@pytest.mark.parametrize(
    "change",
    [
        "column_names = NULL",
        "column_names = '[\"best_share\"]'",
        "column_names = x'00'",
        "column_values = NULL",
        "column_values = x'0000000000000000'",
        "column_values = 'text'",
        "column_names = NULL, column_values = NULL",
        "deviations = NULL",
        "deviations = x'00'",
        "deviations = 3",
        "column_names = NULL, column_values = NULL, deviations = NULL",
    ],
)
def test_damaged_numbers_of_a_search_are_an_error(
    store_surprisal_store: SurprisalStore, change: str
) -> None:
    store_surprisal_store.put("model", {SENTENCE: REPLICATED})
    _require_damage(store_surprisal_store, change)


@pytest.mark.parametrize(
    ("names", "values", "deviations"),
    [
        (None, b"", None),
        ("[]", b"", None),
        ("3", b"", None),
        ('{"a": 1}', bytes(32), None),
        ('["a", "a"]', bytes(64), None),
        ("[1]", bytes(32), None),
        ('["a"]', bytes(24), None),
        (None, None, bytes(24)),
    ],
)
def test_odd_numbers_with_a_right_checksum_are_an_error(
    store_surprisal_store: SurprisalStore,
    names: str | None,
    values: bytes | None,
    deviations: bytes | None,
) -> None:
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    row = surprisal_store._row("model", SENTENCE, SCORES)
    checksum = surprisal_store._checksum(*row[:5], names, values, deviations)
    change = "column_names = ?, column_values = ?, deviations = ?, checksum = ?"
    execute(
        store_surprisal_store,
        f"UPDATE surprisals SET {change}",
        names,
        values,
        deviations,
        checksum,
    )
    with pytest.raises(InputError, match="is damaged"):
        store_surprisal_store.get("model", [SENTENCE])


def test_no_flipped_bit_becomes_another_number(store_surprisal_store: SurprisalStore) -> None:
    """All bytes of a small file, one after the other: an error, nothing, or the truth."""
    scored = {
        SENTENCE: PARSES, ("猫",): Stored([-1.0, -2.0], remedy="x"), ("a", "b"): Stored([-1.0] * 3),
        ("the", "dog", "sat"): REPLICATED,
        ("the", "dog"): Stored([-1.0] * 3, columns={"é": [1.0] * 3}),
    }  # fmt: skip
    store_surprisal_store.put("model", scored)
    execute(store_surprisal_store, "PRAGMA journal_mode=DELETE")
    good = store_surprisal_store.path.read_bytes()
    outcomes = set()
    for place in [*range(0, 120, 7), *(n for n in range(100, len(good)) if good[n])]:
        content = bytearray(good)
        content[place] ^= 1 << place % 8
        store_surprisal_store.path.write_bytes(bytes(content))
        try:
            found = store_surprisal_store.get("model", scored)
        except InputError:
            outcomes.add("error")
        else:
            assert found.items() <= scored.items(), place
            outcomes.add("truth" if found == scored else "nothing")
    assert outcomes == {"error", "truth", "nothing"}


def test_a_folder_in_the_way_is_named(store_surprisal_store: SurprisalStore) -> None:
    store_surprisal_store.path.mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be used: unable to open") as caught:
        store_surprisal_store.put("model", {SENTENCE: SCORES})
    assert "paths.surprisals=" in caught.value.remedy


def test_a_file_that_is_locked_for_long_is_named(
    store_surprisal_store: SurprisalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_surprisal_store.put("model", {SENTENCE: SCORES})
    monkeypatch.setattr(surprisal_store, "_PATIENCE", 0.05)
    with closing(sqlite3.connect(store_surprisal_store.path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputError, match="cannot be used: database is locked"):
            store_surprisal_store.put("model", {("a",): Stored([-1.0, -2.0])})
        assert store_surprisal_store.get("model", [SENTENCE]) == {SENTENCE: SCORES}, (
            "readers do not wait"
        )
