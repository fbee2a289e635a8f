"""Diagnostics of searches, on numbers worked out by hand."""

from __future__ import annotations

import io
import math
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding import EncodedSplit
from gardenpath.eval.parsing import (
    best_shares_of,
    convergence,
    convergence_table,
    mass_rows,
    mean_best_share,
    widened,
)
from gardenpath.eval.search.result import BEST_JOINT, MEASURED, SearchFailure, SentenceResult
from gardenpath.eval.search.settings import WordSync

SETTINGS = WordSync(action_beam=10, word_beam=3, fast_track=2, max_open=7, marginal="candidates")


def bits(*values: float) -> Floats:
    return -np.array(values) * math.log(2)


def rendered(table: Table) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(table)
    return out.getvalue()


def test_beams_grow_and_nothing_else() -> None:
    wide = widened(SETTINGS, 4)
    assert (wide.action_beam, wide.word_beam, wide.fast_track) == (40, 12, 2)
    assert (wide.max_open, wide.marginal) == (7, "candidates")
    assert widened(SETTINGS, 1) == SETTINGS
    assert widened(SETTINGS, 4).margin_bits is None
    assert widened(replace(SETTINGS, margin_bits=7.0), 2).margin_bits == 14.0


def test_changes_are_against_the_beam_before() -> None:
    scores = {
        10: [bits(1, 2, 3), bits(4, 5)],
        20: [bits(1, 1.5, 3), bits(4, 4)],
        40: [bits(1, 1.5, 3), bits(4.25, 4)],
    }
    asked = []

    def score(settings: WordSync) -> list[Floats]:
        asked.append(settings)
        return scores[settings.action_beam]

    first, second, third = convergence(score, SETTINGS)
    assert asked == [widened(SETTINGS, factor) for factor in (1, 2, 4)]
    assert (first.max_change_bits, first.mean_change_bits, first.sentence) == (None, None, None)
    assert first.mean_surprisal_bits == pytest.approx(3)
    assert (first.events, first.failed) == (5, 0)
    assert second.max_change_bits == pytest.approx(1)
    assert second.mean_change_bits == pytest.approx(1.5 / 5)
    assert (second.sentence, second.word) == (2, 2)
    assert third.max_change_bits == pytest.approx(0.25)
    assert (third.sentence, third.word) == (2, 1)
    assert (third.action_beam, third.word_beam, third.factor) == (40, 12, 4)


def test_words_that_were_not_reached_take_no_part() -> None:
    scores = iter([[bits(1, math.nan, math.nan)], [bits(3, 2, math.nan)]])
    first, second = convergence(lambda _: next(scores), SETTINGS, factors=(1, 2))
    assert (first.failed, second.failed) == (2, 1)
    assert first.mean_surprisal_bits == pytest.approx(1)
    assert (second.max_change_bits, second.mean_change_bits) == (2, 2)


def test_nothing_reached_is_not_a_number() -> None:
    for nothing in ([bits(math.nan)], []):
        _, second = convergence(lambda _, found=nothing: found, SETTINGS, factors=(1, 2))  # type: ignore[misc]
        assert math.isnan(second.mean_surprisal_bits)
        assert second.max_change_bits is not None
        assert math.isnan(second.max_change_bits)


def test_searches_of_other_sentences_are_refused() -> None:
    scores = iter([[bits(1, 2)], [bits(1)]])
    with pytest.raises(ValueError, match="different sentences"):
        convergence(lambda _: next(scores), SETTINGS)


def make_split(*sentences: list[bool]) -> EncodedSplit:
    starts = [start for sentence in sentences for start in sentence]
    return EncodedSplit(
        tokens=np.zeros(len(starts), dtype=np.int32),
        starts_word=np.array(starts, dtype=bool),
        offsets=np.cumsum([0, *map(len, sentences)]),
        actions=np.zeros(0, dtype=np.int32),
        action_offsets=np.zeros(len(sentences) + 1, dtype=np.int64),
    )


def make_result(*shares: float, failure: SearchFailure | None = None) -> SentenceResult:
    log_probs = np.full((len(shares), 1), -1.0)
    measures = np.zeros((len(shares), 1, MEASURED))
    # The log probability of the best analysis, and a total of one.
    measures[:, 0, BEST_JOINT] = np.log(shares)
    return SentenceResult(log_probs, measures, failure=failure)


def test_shares_are_those_after_the_last_piece() -> None:
    split = make_split([True], [True, False, True, True, False, False])
    result = make_result(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    assert best_shares_of(result, split, 1).tolist() == [0.2, 0.3, 0.6, 0.7]
    assert best_shares_of(make_result(0.5, 1.0), split, 0).tolist() == [0.5, 1.0]


def test_shares_end_where_the_search_failed() -> None:
    split = make_split([True, False, True])
    result = make_result(0.1, 0.2, failure=SearchFailure(2, False, False))
    np.testing.assert_array_equal(best_shares_of(result, split, 0), [0.2, np.nan, np.nan])


def test_mass_has_a_row_for_each_word_and_end() -> None:
    split = make_split([True, True], [True])
    failed = make_result(failure=SearchFailure(0, True, False))
    sentences = [["a", "[red]b"], ["c"]]
    results = [make_result(0.5, 0.25, 0.75), failed]
    shares = [best_shares_of(one, split, n).tolist() for n, one in enumerate(results)]
    rows = mass_rows(sentences, shares)
    assert [(r.sentence, r.word_id, r.word) for r in rows] == [
        (1, 1, "a"), (1, 2, "[red]b"), (1, 3, None), (2, 1, "c"), (2, 2, None),
    ]  # fmt: skip
    assert mean_best_share(rows) == pytest.approx(0.5)
    assert math.isnan(mean_best_share(rows[3:]))


def test_the_table_shows_sizes_and_changes() -> None:
    scores = iter([[bits(1, 2)], [bits(1, 1.5)], [bits(math.nan, math.nan)]])
    text = rendered(convergence_table(convergence(lambda _: next(scores), SETTINGS)))
    lines = [line for line in text.splitlines() if "×" in line]
    assert len(lines) == 3
    assert "0.5000" in lines[1]
    assert "1:2" in lines[1]
    assert "2/2" in lines[2]
