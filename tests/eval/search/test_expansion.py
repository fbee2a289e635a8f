"""The search over six states against tables worked out by hand (see ``six_states``)."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest

from gardenpath.eval.search.protocol import Work
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.settings import WordSync
from tests.eval.search.toy_model import A, B, C, X, Y, Z, search, six_states

EVERYTHING = WordSync(action_beam=100, word_beam=100, fast_track=1, max_open=100, max_consecutive=2)
NARROW = replace(EVERYTHING, action_beam=2, word_beam=2)

# Every way to do the same with less work, and with more.
SAVINGS = list(itertools.product([True, False], repeat=3))


def changed(**changes: Any) -> WordSync:
    return replace(EVERYTHING, **changes)


def probabilities(result: SentenceResult) -> list[float]:
    return [math.exp(log_prob) for log_prob in result.prefix_log_probs]


def survivors(result: SentenceResult) -> list[tuple[Any, list[list[int]]]]:
    """Probability and columns of the survivors of the last word."""
    assert result.last is not None
    return [
        (math.exp(score), result.last.columns(place))
        for place, score in enumerate(result.last.score)
        if score > -math.inf
    ]


def assert_found(
    settings: WordSync,
    sentence: list[int],
    expected: list[float],
    *,
    bound_gap: float | None = None,
) -> None:
    """The first prefixes have these probabilities, with packed and with fixed shapes."""
    for is_packed in (True, False):
        model = six_states(bound_gap=bound_gap)
        (result,) = search(model, [sentence], settings, is_packed=is_packed)
        found = probabilities(result)[: len(expected)]
        assert found == pytest.approx(expected, rel=1e-12)


def test_a_beam_that_holds_everything_finds_everything() -> None:
    # Second word: those in state 5 hold 0.393 - 0.144 = 0.249, times 0.18 + 0.27 = 0.45; the one in
    # state 1 goes on with 0.144 * (0.25 + 0.225 + 0.05 + 0.045 + 0.01) = 0.144 * 0.58.
    second = 0.249 * 0.45 + 0.144 * 0.58
    assert_found(EVERYTHING, [X, Y], [0.393, second, 0.2 * second])
    assert_found(replace(EVERYTHING, marginal="candidates"), [X, Y], [0.393, second, 0.2 * second])


def test_without_fast_track_words_must_find_a_place_in_the_action_beam() -> None:
    # Step 1: A 0.6, B 0.4. Step 2: AB 0.18, BB 0.16 | A x 0.15, AA 0.12, B x 0.024.
    # Step 3: BB x 0.144, AB x 0.045.
    settings = replace(NARROW, fast_track=0)
    assert_found(settings, [X], [0.144 + 0.045])
    # y, step 1, from BB x in state 1: y 0.036 | B 0.0432, A 0.0288; from AB x in state 5: y 0.0081,
    # CLOSE 0.0225. The best two are B and y. Step 2, from B: y 0.0324.
    # The end, from 0.036 and 0.0324: CLOSE 0.018 and 0.0162 keep END 0.0072 and 0.00648 out; no
    # constituent may be opened after the last word, and state 2 has no end: nothing is found.
    (result,) = search(six_states(), [[X, Y]], settings)
    assert probabilities(result) == pytest.approx([0.189, 0.036 + 0.0324], rel=1e-12)
    assert result.failure is not None
    assert result.failure.token == 2
    assert result.failure.remedy == "raise search.action_beam"


def test_fast_track_lets_the_best_word_through() -> None:
    # As above, but A x 0.15 goes through as the best of step 2 that found no place.
    (result,) = search(six_states(), [[X]], NARROW, keeps_history=True)
    assert probabilities(result)[0] == pytest.approx(0.15 + 0.144, rel=1e-12)
    # y, from A x in state 5: y 0.027, CLOSE 0.075; from BB x: y 0.036, B 0.0432, A 0.0288. The
    # beam holds CLOSE and B; y 0.036 goes through. Step 2: CLOSE y 0.0405, B y 0.0324, and
    # CLOSE B 0.03 has no place. Survivors: 0.0405 and 0.036.
    (result,) = search(six_states(), [[X, Y]], NARROW, keeps_history=True)
    assert probabilities(result)[1] == pytest.approx(0.0405 + 0.036, rel=1e-12)
    # The end: after A x CLOSE y nothing is open, END 0.0081 is all that is left of it. From BB x y:
    # CLOSE 0.018, END 0.0072. The beam holds CLOSE and END 0.0081; END 0.0072 goes through.
    assert probabilities(result)[2] == pytest.approx(0.0153, rel=1e-12)
    assert survivors(result) == [
        (pytest.approx(0.0081), [[A], [C], []]),
        (pytest.approx(0.0072), [[B, B], [], []]),
    ]


def test_fast_track_of_two_lets_two_through() -> None:
    # Step 2 of x: A x 0.15 and B x 0.024; three words are found in all.
    settings = replace(NARROW, fast_track=2, marginal="candidates")
    assert_found(settings, [X], [0.15 + 0.024 + 0.144 + 0.045])


def test_candidates_count_what_does_not_survive() -> None:
    # As with survivors; AB x 0.045, B y 0.0324 are found, but do not survive.
    settings = replace(NARROW, marginal="candidates")
    assert_found(settings, [X, Y], [0.294 + 0.045, 0.0765 + 0.0324, 0.0153])


@pytest.mark.parametrize("word_beam, expected", [(1, 0.15), (2, 0.294), (3, 0.339), (4, 0.369)])
def test_survivors_are_the_best_of_all_that_generate_the_word(
    word_beam: int, expected: float
) -> None:
    (result,) = search(
        six_states(), [[X, Y]], replace(EVERYTHING, word_beam=word_beam), keeps_history=True
    )
    assert probabilities(result)[0] == pytest.approx(expected, rel=1e-12)
    by_hand = [
        (0.15, [[A]]),
        (0.144, [[B, B]]),
        (0.045, [[A, B]]),
        (0.03, [[A, A]]),
    ]
    assert result.last is not None and result.last.before is not None
    first = replace(result, last=result.last.before.before)
    assert survivors(first) == [(pytest.approx(p), columns) for p, columns in by_hand[:word_beam]]
    assert result.best_share[0] == pytest.approx(0.15 / expected)


def test_stopping_when_the_beam_is_full_finds_less() -> None:
    # Four places, three openings. Step 2: AB 0.18, BB 0.16, A x 0.15, AA 0.12; B x goes through.
    # Step 3: BB x 0.144, AB x 0.045, AAB 0.036, AA x 0.03; AAA 0.024 has no place. By now five
    # words are found, more than there are places: AAB is left where it is. Otherwise it would find
    # AAB x 0.036 * 0.25 = 0.009 in step 4.
    exhausted = replace(EVERYTHING, action_beam=4, max_consecutive=3)
    assert_found(exhausted, [X], [0.393 + 0.009])
    assert_found(replace(exhausted, stop="beam_full"), [X], [0.393])


@pytest.mark.parametrize("limit", ["max_open", "max_consecutive"])
def test_limits_on_openings(limit: str) -> None:
    # One opening: A x 0.15 and B x 0.024. Then one is open: max_open=1 forbids another, and so does
    # state 2 after CLOSE, B having no y: 0.174 * (0.18 + 0.27) either way.
    settings = changed(**{limit: 1})
    assert_found(settings, [X, Y], [0.174, 0.174 * 0.45, 0.174 * 0.45 * 0.2])


def test_the_limit_on_open_constituents_is_one_on_depth() -> None:
    # max_open=2: after BB x in state 1 two are open, and only y itself may come: 0.144 * 0.25.
    second = 0.249 * 0.45 + 0.144 * 0.25
    assert_found(replace(EVERYTHING, max_open=2), [X, Y], [0.393, second, 0.2 * second])
    # max_consecutive=2 alone: two more may be opened.
    second = 0.249 * 0.45 + 0.144 * 0.58
    assert_found(replace(EVERYTHING, max_open=4), [X, Y], [0.393, second, 0.2 * second])


@pytest.mark.parametrize(
    "changes, remedy",
    [
        ({"max_open": 1}, "raise search.max_open"),
        ({"max_consecutive": 1}, "raise search.max_consecutive"),
        ({"action_beam": 1}, "raise search.action_beam"),
    ],
)
def test_a_failure_names_its_remedy(changes: dict[str, Any], remedy: str) -> None:
    # z comes from BB alone: 0.4 * 0.4 * 0.1. One place in the action beam is A's, then AB's.
    assert_found(EVERYTHING, [Z], [0.016])
    for is_packed in (True, False):
        failed, fine = search(six_states(), [[Z, X], [X]], changed(**changes), is_packed=is_packed)
        assert failed.failure is not None and fine.failure is None
        assert failed.failure.token == 0
        assert failed.failure.remedy == remedy
        assert failed.prefix_log_probs == failed.best_share == ()
        assert len(fine.prefix_log_probs) == 2


@pytest.mark.parametrize("bounded, lazy_words, share_prefixes", SAVINGS)
@pytest.mark.parametrize("bound_gap", [None, 0.0, 0.3])
def test_savings_leave_the_table_as_it_is(
    bounded: bool, lazy_words: bool, share_prefixes: bool, bound_gap: float | None
) -> None:
    settings = replace(
        NARROW, bounded=bounded, lazy_words=lazy_words, share_prefixes=share_prefixes
    )
    assert_found(settings, [X, Y], [0.294, 0.0765, 0.0153], bound_gap=bound_gap)


def test_savings_save_work() -> None:
    def work(**changes: bool) -> Work:
        found = Work()
        settings = changed(word_beam=1, max_consecutive=6, **changes)
        search(six_states(bound_gap=0.0), [[X]], settings, work=found)
        return found

    everything = work(bounded=False, lazy_words=False)
    bounded, lazy = work(lazy_words=False), work(bounded=False)
    # A and B are expanded; then A x 0.15 is the bar, and AB 0.18 and BB 0.16 are above it, AA 0.12
    # is not. Behind x, END 0.03 is the bar and CLOSE 0.075 above it: five in all.
    assert bounded.expanded == 5
    assert bounded.expanded < everything.expanded
    assert lazy.expanded == everything.expanded
    assert lazy.word_scores < everything.word_scores
    assert bounded.word_scores < everything.word_scores
    # A x is computed first and sure of its place; B x 0.024 cannot be better, nor what follows.
    assert work().word_scores == 1
