"""From words to results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gardenpath.data.encoding import encode_sentences
from gardenpath.data.sentence import Sharing
from gardenpath.data.trees.tree import parse_tree
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.eval.search.result import MEASURED, SentenceResult
from gardenpath.eval.search.scorer import StructuredScorer, word_log_probs_of
from gardenpath.eval.search.settings import Unbiased, WordSync
from tests.eval.search.toy_model import random_model
from tests.tree_samples import encode_trees

HOW = WordSync(action_beam=20, word_beam=5, max_open=3, max_consecutive=2)


def make_vocabulary() -> Vocabulary:
    return encode_trees([parse_tree("(S (A a b) c)")])[1]


def make_scorer(
    settings: WordSync | Unbiased = HOW,
    *,
    never: str = "",
    on_words: Callable[[int], None] = lambda _: None,
) -> StructuredScorer:
    vocabulary = make_vocabulary()
    return StructuredScorer(
        model=random_model(3, words=len(vocabulary), never=vocabulary.encode(list(never))),
        vocabulary=vocabulary,
        subwords=None,
        settings=settings,
        is_packed=True,
        on_words=on_words,
    )


@pytest.mark.parametrize("settings", [HOW, Unbiased(action_beam=9, max_open=3, max_consecutive=2)])
def test_words_and_the_end_have_log_probabilities(settings: WordSync | Unbiased) -> None:
    sentences = [["a", "b", "c"], ["c"], ["a", "b", "zebra"]]
    found = make_scorer(settings).word_log_probs(sentences)
    assert [len(scores) for scores in found] == [4, 2, 4]
    assert all((scores < 0).all() for scores in found)
    np.testing.assert_array_equal(found[0][:2], found[2][:2])


def test_results_know_their_derivations_if_asked() -> None:
    scorer = make_scorer()
    (result,), split = scorer.search([["a", "b"]], keeps_history=True)
    assert result.last is not None
    assert len(result.last.columns(0)) == 3
    assert split.sentence(0).tolist() == make_vocabulary().encode(["a", "b"])
    (without,), _ = scorer.search([["a", "b"]], keeps_history=False)
    assert without.last is None
    assert without.prefix_log_probs == result.prefix_log_probs


def test_progress_work_and_sharing_are_known() -> None:
    done: list[int] = []
    scorer = make_scorer(on_words=done.append)
    scorer.word_log_probs([["a", "b", "c"], ["a", "b", "b"], ["a", "b", "c"]])
    assert sorted(done) == [3, 3, 3]
    # a, ab, abc, abb and two ends, of nine words and three ends.
    assert scorer.sharing == Sharing(tokens=12, computed=6)
    assert scorer.sharing.saved == 0.5
    assert scorer.work.words == 6
    assert scorer.failures == {}


def test_failures_are_kept_by_number_and_leave_no_numbers() -> None:
    sentences = [[first, second] for first in "abc" for second in "abc"]
    scorer = make_scorer(never="c")
    found = scorer.word_log_probs(sentences)
    with_c = [number for number, words in enumerate(sentences) if "c" in words]
    assert sorted(scorer.failures) == with_c
    for number, scores in enumerate(found):
        assert len(scores) == 3
        failure = scorer.failures.get(number)
        lost = 3 if failure is None else failure.token
        assert failure is None or lost == sentences[number].index("c")
        assert np.isfinite(scores[:lost]).all()
        assert np.isnan(scores[lost:]).all()
    # The failures are those of the last call.
    scorer.word_log_probs([])
    assert scorer.failures == {}


def test_a_word_is_the_sum_of_its_pieces() -> None:
    split = encode_sentences([["a", "b", "c"]], make_vocabulary(), None)
    split.starts_word[:] = [True, False, True]
    result = SentenceResult(np.log([[0.5], [0.1], [0.04], [0.01]]), np.zeros((4, 1, MEASURED)))
    found = word_log_probs_of(result, split, 0)
    np.testing.assert_allclose(np.exp(found), [0.1, 0.4, 0.25])
    # A word of which a piece is lost is lost as a whole.
    short = SentenceResult(np.log([[0.5]]), np.zeros((1, 1, MEASURED)))
    assert np.isnan(word_log_probs_of(short, split, 0)).all()


def test_a_word_includes_that_it_ends() -> None:
    split = encode_sentences([["a", "b", "c"]], make_vocabulary(), None)
    split.starts_word[:] = [True, False, True]
    result = SentenceResult(
        np.log([[0.5], [0.1], [0.04], [0.01]]), np.zeros((4, 1, MEASURED)),
        replicate_word_ends=np.log([[1.0], [0.5], [0.75], [1.0]]),
    )  # fmt: skip
    # 0.1 * 0.5, then 0.04 * 0.75 and 0.01.
    found = word_log_probs_of(result, split, 0, boundary="next")
    np.testing.assert_allclose(np.exp(found), [0.05, 0.6, 1 / 3])
    for boundary in (None, "none"):
        plain = word_log_probs_of(result, split, 0, boundary=boundary)
        np.testing.assert_allclose(np.exp(plain), [0.1, 0.4, 0.25])
