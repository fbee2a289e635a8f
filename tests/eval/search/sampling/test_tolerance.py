"""More replicates where standard errors are too large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.eval.search.replicates import not_converged, standard_error, tolerance_note
from gardenpath.eval.search.result import MEASURED, SearchFailure, SentenceResult, with_replicates
from gardenpath.eval.search.settings import Unbiased
from gardenpath.eval.search.unbiased import until_tolerance
from tests.eval.search.test_structured_scorer import make_scorer

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
