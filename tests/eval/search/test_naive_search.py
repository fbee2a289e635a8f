"""The search in tensors, with its savings, against one in plain lists without any."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.settings import WordSync
from tests.eval.search.naive_search import NaiveSearch, Word
from tests.eval.search.toy_model import ToyModel, random_model, search

SENTENCES = st.lists(st.lists(st.integers(0, 2), max_size=3), min_size=1, max_size=2)


@st.composite
def systems(draw: st.DrawFn, *, continuations: tuple[int, ...] = ()) -> ToyModel:
    return random_model(
        draw(st.integers(0, 10_000)),
        continuations=continuations,
        labels=draw(st.integers(1, 3)),
        opens_at_end=draw(st.booleans()),
        bound_gap=draw(st.sampled_from([None, 0.0, 0.5])),
    )


@st.composite
def searches(draw: st.DrawFn) -> WordSync:
    return WordSync(
        action_beam=draw(st.integers(1, 14)),
        word_beam=draw(st.integers(1, 6)),
        margin_bits=draw(st.one_of(st.none(), st.floats(0.05, 6.0))),
        fast_track=draw(st.one_of(st.integers(0, 3), st.just("word_beam"))),
        max_open=draw(st.integers(1, 5)),
        max_consecutive=draw(st.integers(1, 3)),
        marginal=draw(st.sampled_from(["survivors", "candidates"])),
        bounded=draw(st.booleans()),
        lazy_words=draw(st.booleans()),
        share_prefixes=draw(st.booleans()),
    )


def assert_same(found: SentenceResult, expected: list[Word], sentence: list[int]) -> None:
    """Prefixes, survivors and their derivations are the same, or both fail at the same word."""
    np.testing.assert_allclose(
        found.prefix_log_probs, [word.prefix_log_prob for word in expected], rtol=0, atol=1e-9
    )
    assert (found.failure is not None) == (len(expected) <= len(sentence))
    if not expected:
        return
    step, survivors = found.last, expected[-1].survivors
    assert step is not None
    assert np.isfinite(step.score).sum() == len(survivors)
    for place, hypothesis in enumerate(survivors):
        assert step.score[place] == pytest.approx(hypothesis.log_prob, abs=1e-9)
        assert step.columns(place) == [list(columns) for columns in hypothesis.taken]
    total = sum(math.exp(h.log_prob - survivors[0].log_prob) for h in survivors)
    assert found.best_share[-1] == pytest.approx(1 / total)


@given(model=systems(), how=searches(), sentences=SENTENCES, is_packed=st.booleans())
@settings(max_examples=40)
def test_the_same_is_found(
    model: ToyModel, how: WordSync, sentences: list[list[int]], is_packed: bool
) -> None:
    found = search(model, sentences, how, is_packed=is_packed, keeps_history=True)
    naive = NaiveSearch(model, how)
    for sentence, result in zip(sentences, found, strict=True):
        assert_same(result, naive.run(sentence), sentence)


@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("savings", [{}, {"bounded": True}, {"lazy_words": True}])
def test_savings_do_not_change_when_a_beam_is_full(
    savings: dict[str, Any], is_packed: bool
) -> None:
    # Words that savings would leave out count for a beam that stops when it is full.
    how = WordSync(
        action_beam=9, word_beam=2, max_consecutive=3, stop="beam_full",
        **{"bounded": False, "lazy_words": False, **savings},
    )  # fmt: skip
    for seed in range(12):
        model = random_model(seed, bound_gap=0.0)
        (found,) = search(model, [[1, 2, 0]], how, is_packed=is_packed, keeps_history=True)
        assert_same(found, NaiveSearch(model, how).run([1, 2, 0]), [1, 2, 0])
