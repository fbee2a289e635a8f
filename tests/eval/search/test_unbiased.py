"""More replicates where standard errors are too large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from gardenpath.data.arrays import Floats
from gardenpath.eval.search.replicates import (
    not_converged,
    standard_error,
    t_quantile,
    tolerance_note,
)
from gardenpath.eval.search.result import MEASURED, SearchFailure, SentenceResult, with_replicates
from gardenpath.eval.search.settings import Unbiased, WordSync
from gardenpath.eval.search.unbiased import until_tolerance
from tests.eval.search.test_scorer import make_scorer
from tests.eval.search.toy_model import random_model, search

SETTINGS = Unbiased(replicates=4, tolerance=0.1, max_replicates=32)


def fake(spread: Sequence[float], replicates: range) -> SentenceResult:
    """Estimates that deviate by so much at each prefix, up and down in turn."""
    sign = np.array([1.0 if number % 2 else -1.0 for number in replicates])
    log_probs = np.log(0.5) * np.arange(1, len(spread) + 1)[:, None] + np.outer(spread, sign)
    return SentenceResult(log_probs, np.zeros((len(spread), len(replicates), MEASURED)))


def test_only_words_that_matter_are_repeated() -> None:
    spreads = {0: [0.0, 0.3], 1: [0.3, 0.3], 2: [0.0, 0.01]}
    asked: list[tuple[tuple[int, ...], range]] = []

    def search(numbers: Sequence[int], replicates: range) -> Mapping[int, SentenceResult]:
        asked.append((tuple(numbers), replicates))
        return {number: fake(spreads[number], replicates) for number in numbers}

    def deviations(number: int, result: SentenceResult) -> Floats:
        found = result.token_deviations(1)
        assert found is not None
        return found

    found = until_tolerance(search, deviations, [0, 1, 2], SETTINGS, [{0}, None, None])
    # The first is uncertain where it does not matter, the third nowhere.
    assert asked[0] == ((0, 1, 2), range(4))
    assert asked[1] == ((1,), range(4, 8))
    assert found[0].replicates == found[2].replicates == 4
    assert found[1].replicates in (16, 32)
    errors = standard_error(deviations(1, found[1]))
    assert not_converged(errors, None, 0.1) == (errors > 0.1).sum()
    assert not_converged(errors, {0}, 0.1) == (errors[0] > 0.1)


def test_a_note_says_what_has_not_converged() -> None:
    assert tolerance_note("rnng", [0, 0], "8 words", 0.1) is None
    note = tolerance_note("rnng", [2, 0, 1], "9 words", 0.1)
    assert note is not None and note.startswith(
        "rnng: the standard error of 3 of 9 words, in 2 sentences, is above search.tolerance=0.1"
    )


def test_joined_replicates_are_those_of_one_search() -> None:
    settings = Unbiased(
        action_beam=4, word_beam=2, replicates=4, max_open=3, max_consecutive=2,
        tolerance=1e-6, max_replicates=16,
    )  # fmt: skip
    sentences = [["a", "b", "c"], ["a", "c"]]
    repeated, _ = make_scorer(settings).search(sentences, keeps_history=False)
    whole, _ = make_scorer(replace(settings, replicates=16, tolerance=None)).search(
        sentences, keeps_history=False
    )
    for one, other in zip(repeated, whole, strict=True):
        assert one.replicates == 16
        np.testing.assert_allclose(one.replicate_log_probs, other.replicate_log_probs, atol=1e-9)
        np.testing.assert_allclose(
            one.measures.entropy_bits, other.measures.entropy_bits, atol=1e-9
        )


def test_a_lost_replicate_counts_as_zero() -> None:
    whole = fake([0.0, 0.0], range(4))
    lost = replace(fake([0.0], range(4)), failure=SearchFailure(1, False, False))
    both = with_replicates([whole, lost])
    assert both.failure is None and both.replicates == 8
    assert np.isneginf(both.replicate_log_probs[1, 4:]).all()
    assert with_replicates([lost, lost]).failure == lost.failure


def test_a_sentence_that_no_replicate_survives_is_searched_again() -> None:
    """The first replicates may be unlucky together."""
    failed = replace(fake([0.0], range(4)), failure=SearchFailure(1, False, False))
    asked = []

    def search(numbers: Sequence[int], replicates: range) -> Mapping[int, SentenceResult]:
        asked.append(replicates)
        return {0: failed if replicates.start < 8 else fake([0.0, 0.0], replicates)}

    def deviations(number: int, result: SentenceResult) -> Floats:
        return np.zeros((2, result.replicates))

    found = until_tolerance(search, deviations, [0], SETTINGS, [None])
    assert asked == [range(4), range(4, 8), range(8, 16)]
    assert found[0].failure is None and found[0].replicates == 16
    np.testing.assert_allclose(found[0].prefix_log_probs[1], np.log(0.5**2 * 8 / 16))


# ----------------------------------------------------------------------------
# The unbiased search in systems given by tables: expectations, errors, and random numbers.


LIMITS: dict[str, Any] = {"max_open": 2, "max_consecutive": 2}
EVERYTHING = WordSync(action_beam=2000, word_beam=2000, **LIMITS)
NARROW = Unbiased(action_beam=4, word_beam=2, replicates=400, **LIMITS)
JOB = [[1, 2, 0], [1, 2, 1], [0]]


@pytest.mark.parametrize(
    "is_packed, roulette", [(True, 1e-6), (True, 0.1), (True, 3.0), (False, 0.1)]
)
def test_estimates_have_the_exact_expectation(is_packed: bool, roulette: float) -> None:
    scores = []
    for seed in range(3):
        model = random_model(seed, bound_gap=0.5)
        exact = search(model, JOB, EVERYTHING)
        found = search(model, JOB, replace(NARROW, roulette=roulette), is_packed=is_packed)
        for one, other in zip(found, exact, strict=True):
            expected = np.exp(other.prefix_log_probs)[:, None]
            estimates = np.exp(one.replicate_log_probs)
            error = estimates.std(1, ddof=1) / np.sqrt(estimates.shape[1])
            uncertain = error > 1e-12 * expected[:, 0]
            np.testing.assert_allclose(
                estimates.mean(1)[~uncertain], expected[~uncertain, 0], rtol=1e-9
            )
            scores += ((estimates.mean(1) - expected[:, 0]) / np.maximum(error, 1e-300))[
                uncertain
            ].tolist()
    assert len(scores) > 10
    # Standard scores, as they should be: not one far off, and neither too small nor too large.
    assert np.abs(scores).max() < 4.2
    assert stats.chi2.sf(np.square(scores).sum(), len(scores)) > 1e-4


def test_beams_that_hold_everything_leave_nothing_to_chance() -> None:
    model = random_model(2)
    settings = Unbiased(action_beam=2000, word_beam=2000, roulette=1e-6, replicates=4, **LIMITS)
    exact = search(model, JOB, EVERYTHING)
    for one, other in zip(search(model, JOB, settings), exact, strict=True):
        np.testing.assert_allclose(one.prefix_log_probs, other.prefix_log_probs, rtol=0, atol=1e-4)


def test_packed_and_fixed_shapes_and_company_do_not_matter() -> None:
    model = random_model(5)
    settings = replace(NARROW, replicates=8)
    together = search(model, JOB, settings)
    apart = search(model, JOB, replace(settings, share_prefixes=False))
    fixed = search(model, JOB, replace(settings, roulette=1e-6), is_packed=False)
    packed = search(model, JOB, replace(settings, roulette=1e-6))
    for number, sentence in enumerate(JOB):
        (alone,) = search(model, [sentence], settings)
        for other in (apart[number], alone):
            np.testing.assert_allclose(
                together[number].replicate_log_probs, other.replicate_log_probs, atol=1e-9
            )
        np.testing.assert_allclose(
            packed[number].replicate_log_probs, fixed[number].replicate_log_probs, atol=1e-9
        )
    # Sentences with a common prefix have the same estimates of it.
    np.testing.assert_array_equal(
        together[0].replicate_log_probs[:2], together[1].replicate_log_probs[:2]
    )


def test_replicates_are_independent_and_reproducible() -> None:
    model = random_model(7)
    few, many = (search(model, JOB[:1], replace(NARROW, replicates=count))[0] for count in (4, 400))
    # A replicate depends on its number, not on how many there are.
    np.testing.assert_allclose(
        few.replicate_log_probs, many.replicate_log_probs[:, :4], rtol=0, atol=1e-9
    )
    other = search(model, JOB[:1], replace(NARROW, seed=2))[0]
    last = np.exp(many.replicate_log_probs[-1])
    assert not np.allclose(last, np.exp(other.replicate_log_probs[-1]))
    # Neighbours, and the same numbers under another seed, are uncorrelated.
    assert abs(np.corrcoef(last[:-1], last[1:])[0, 1]) < 4 / np.sqrt(len(last))
    assert abs(np.corrcoef(last, np.exp(other.replicate_log_probs[-1]))[0, 1]) < 0.2


def test_intervals_cover_the_truth() -> None:
    covered, count = 0, 0
    settings = replace(NARROW, action_beam=6, word_beam=4, replicates=16)
    for seed in range(8):
        model = random_model(seed)
        exact = search(model, JOB, EVERYTHING)
        for one, other in zip(search(model, JOB, settings), exact, strict=True):
            tokens = len(one.prefix_log_probs) - 1
            truth = -other.token_log_probs(tokens) / np.log(2)
            found = -one.token_log_probs(tokens) / np.log(2)
            deviations = one.token_deviations(tokens)
            assert deviations is not None
            width = t_quantile(16) * standard_error(deviations)
            inside = np.abs(found - truth) <= width + 1e-9
            covered, count = covered + int(inside.sum()), count + len(inside)
    assert covered / count > 0.88


def test_a_failure_of_all_replicates_is_a_failure() -> None:
    model = random_model(3, never=[2])
    failed, fine = search(model, [[0, 2], [0, 1]], replace(NARROW, replicates=4))
    assert failed.failure is not None and failed.failure.token == 1
    assert failed.replicate_log_probs.shape == (1, 4)
    assert fine.failure is None


def test_no_standard_error_from_too_few_replicates() -> None:
    assert "at least 4" in replace(NARROW, replicates=3).mistakes()[0]
    assert replace(NARROW, replicates=1).mistakes() == []
    assert replace(NARROW, replicates=4, tolerance=0.1, max_replicates=64).mistakes() == []
    assert "larger" not in replace(NARROW, replicates=1, tolerance=0.1).mistakes()[0]
    assert replace(NARROW, replicates=128, max_replicates=64).mistakes()
