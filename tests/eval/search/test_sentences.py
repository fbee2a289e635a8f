"""The search over the sentences of a job."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.eval.search.protocol import Work
from gardenpath.eval.search.scorer import MOST_GROUPS
from gardenpath.eval.search.settings import WordSync
from tests.eval.search.toy_model import X, Y, Z, random_model, search, six_states

HOW = WordSync(action_beam=6, word_beam=3, max_open=3, max_consecutive=2)
JOBS = st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=1, max_size=6)


@given(
    seed=st.integers(0, 1000), job=JOBS, budget=st.sampled_from([0, 7, 20, 1e9]),
    share_prefixes=st.booleans(), is_packed=st.booleans(), order=st.randoms(use_true_random=False),
)  # fmt: skip
@settings(max_examples=20)
def test_company_order_memory_and_sharing_change_nothing(
    seed: int, job: list[list[int]], budget: float, share_prefixes: bool, is_packed: bool,
    order: random.Random,
) -> None:  # fmt: skip
    model = random_model(seed)
    alone = [search(model, [sentence], HOW)[0] for sentence in job]
    numbers = list(range(len(job)))
    order.shuffle(numbers)
    how = replace(HOW, share_prefixes=share_prefixes)
    together = search(model, [job[n] for n in numbers], how, budget=budget, is_packed=is_packed)
    for number, found in zip(numbers, together, strict=True):
        np.testing.assert_allclose(
            found.prefix_log_probs, alone[number].prefix_log_probs, rtol=0, atol=1e-9
        )
        np.testing.assert_allclose(found.best_share, alone[number].best_share, rtol=0, atol=1e-9)
        assert found.failure == alone[number].failure


def test_each_prefix_is_searched_once() -> None:
    job = [[X, Y, X], [X, Y, Y], [X, Y], [Y], [X, Y, X]]
    shared, apart = Work(), Work()
    search(six_states(), job, HOW, work=shared)
    search(six_states(), job, replace(HOW, share_prefixes=False), work=apart)
    # X, XY, XYX, XYY, Y and four ends.
    assert shared.words == 9
    assert apart.words == sum(len(sentence) + 1 for sentence in job)
    assert shared.expanded < apart.expanded
    alone = Work()
    for sentence in job:
        search(six_states(), [sentence], HOW, work=alone)
    assert apart.expanded == alone.expanded


def test_what_sentences_share_before_they_part_is_expanded_once() -> None:
    everything = replace(HOW, action_beam=100, word_beam=100, bounded=False)
    one, both = Work(), Work()
    search(six_states(), [[X, Y]], everything, work=one)
    search(six_states(), [[X, Y], [X]], everything, work=both)
    # On the way to the end of the second, all actions are such as are taken on the way to y, too.
    assert both.words == one.words + 1
    assert both.expanded == one.expanded


@pytest.mark.parametrize("budget, most", [(0, 1), (8, 2), (11.9, 2), (12, 3), (1e9, 6)])
def test_groups_under_way_fit_the_budget(budget: float, most: int) -> None:
    # A group of a sentence of three words takes four bytes here; at least one is under way.
    job = [[first, second, X] for first in (X, Y) for second in (X, Y, X)]
    model = six_states()
    search(model, job, replace(HOW, share_prefixes=False), budget=budget)
    assert max(model.settled) == most


def test_a_trie_takes_the_memory_of_all_its_sentences() -> None:
    # Both tries will need four groups of four bytes: they do not fit together.
    job = [[first, a, b] for first in (X, Y) for a in (X, Y) for b in (X, Y)]
    model = six_states()
    search(model, job, HOW, budget=16)
    assert max(model.settled) == 4
    model = six_states()
    search(model, job, HOW, budget=32)
    assert max(model.settled) == 8


def test_there_are_never_more_groups_than_help() -> None:
    model = six_states()
    found = search(model, [[X]] * (MOST_GROUPS + 9), replace(HOW, share_prefixes=False))
    assert max(model.settled) == MOST_GROUPS
    assert len({result.prefix_log_probs for result in found}) == 1


def test_a_sentence_without_words_is_one_without_a_derivation_here() -> None:
    # State 0 has no end.
    empty, other = search(six_states(), [[], [X]], HOW)
    assert empty.failure is not None and empty.failure.token == 0
    assert np.isnan(empty.token_log_probs(0)).all()
    assert other.failure is None


def test_all_sentences_that_begin_with_a_lost_prefix_are_lost() -> None:
    # After z there is no way to another: state 1 leads to 3 alone.
    job = [[Z, Z], [Z, Z, X], [Z, Y], [Z, Z, Y, X], [Z, X]]
    found = search(six_states(), job, HOW)
    lost = [number for number, result in enumerate(found) if result.failure is not None]
    assert lost == [0, 1, 3]
    for number in lost:
        failure = found[number].failure
        assert failure is not None and failure.token == 1
        scores = found[number].token_log_probs(len(job[number]))
        assert scores[0] == pytest.approx(math.log(0.016))
        assert np.isnan(scores[1:]).all()
        assert len(scores) == len(job[number]) + 1


def test_words_add_up_to_the_sentence() -> None:
    (found,) = search(six_states(), [[X, Y]], HOW)
    assert found.token_log_probs(2).sum() == pytest.approx(found.prefix_log_probs[-1])
    assert (found.token_log_probs(2) < 0).all()
