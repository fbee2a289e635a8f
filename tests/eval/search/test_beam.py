"""Grids of hypotheses."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.data.trees.legality import Column
from gardenpath.eval.search.beam import Beam, after_word, best, joined, root_beam
from gardenpath.eval.search.protocol import ROOT_NODE, Work
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.settings import Unbiased, WordSync
from tests.eval.search.slow_search import NaiveSearch
from tests.eval.search.test_result import assert_same, searches
from tests.eval.search.toy_model import ToyModel, random_model, search

NONE = -math.inf


def make_beam(score: list[list[float]], *, first: int = 0) -> Beam:
    """Hypotheses whose numbers say where they stand."""
    scores = torch.tensor(score, dtype=torch.float64)
    number = torch.arange(scores.numel()).view_as(scores) + first
    return Beam(
        score=scores,
        integers=torch.stack([number + 100 * column for column in range(5)], dim=2),
        numbers=torch.stack([scores, number.double()], dim=2),
    )


def require_whole(beam: Beam) -> None:
    """All that belongs to a living hypothesis has moved together."""
    alive = beam.is_alive
    node = beam.node[alive]
    assert torch.equal(beam.depth[alive], node + 100)
    assert torch.equal(beam.opened[alive], node + 200)
    assert torch.equal(beam.origin[alive], node + 300)
    assert torch.equal(beam.entry[alive], node + 400)
    assert torch.equal(beam.last[alive], node.double())
    assert torch.equal(beam.joint[alive], beam.score[alive])


def test_the_best_come_first_in_each_group() -> None:
    beam = make_beam([[-3.0, -1.0, -2.0], [NONE, -9.0, NONE]])
    found = best(beam, 2)
    assert found.score.tolist() == [[-1.0, -2.0], [-9.0, NONE]]
    assert found.node[:, 0].tolist() == [1, 4]
    require_whole(found)


def test_a_beam_can_have_more_places_than_hypotheses() -> None:
    found = best(make_beam([[-3.0, -1.0]]), 4)
    assert found.score.tolist() == [[-1.0, -3.0, NONE, NONE]]
    require_whole(found)


def test_beams_side_by_side() -> None:
    found = joined(make_beam([[-1.0], [-2.0]]), make_beam([[-3.0], [-4.0]], first=10), dim=1)
    assert found.score.tolist() == [[-1.0, -3.0], [-2.0, -4.0]]
    require_whole(found)


def test_groups_can_be_repeated_left_out_and_added() -> None:
    beam = make_beam([[-1.0, -2.0], [-3.0, -4.0], [-5.0, -6.0]])
    found = joined(beam.rows(torch.tensor([2, 2, 0])), make_beam([[-7.0, -8.0]], first=20), dim=0)
    assert found.node.tolist() == [[4, 5], [4, 5], [0, 1], [20, 21]]
    require_whole(found)
    assert len(beam.rows(torch.tensor([], dtype=torch.long)).score) == 0


def test_a_group_begins_with_one_certain_hypothesis() -> None:
    beam = root_beam(2, 3, device=torch.device("cpu"), dtype=torch.float64)
    assert beam.score.tolist() == [[0.0, NONE, NONE]] * 2
    assert beam.score.dtype == torch.float64
    assert beam.node.eq(ROOT_NODE).all() and beam.depth.eq(0).all()
    assert beam.entry.eq(-1).all()


def test_after_a_word_nothing_has_been_done() -> None:
    beam = make_beam([[-1.0, -2.0], [-3.0, NONE]])
    found = after_word(beam.score, beam.joint, beam.node + 7, beam.depth)
    assert torch.equal(found.score, beam.score) and torch.equal(found.depth, beam.depth)
    assert found.opened.eq(0).all()
    assert found.origin.tolist() == [[0, 1], [0, 1]]
    assert found.entry.eq(-1).all()
    assert torch.equal(found.joint, beam.joint) and found.last.eq(0).all()


# ----------------------------------------------------------------------------
# Words of several pieces, in systems given by tables.


# Words 0 and 1 begin a word, 2 and 3 continue it.
CONTINUATIONS = (2, 3)
WORDS = st.tuples(
    st.integers(0, 1), st.lists(st.sampled_from(CONTINUATIONS), max_size=2)
).map(lambda word: [word[0], *word[1]])  # fmt: skip
SENTENCES = st.lists(
    st.lists(WORDS, max_size=2).map(lambda words: [piece for word in words for piece in word]),
    min_size=1, max_size=3,
)  # fmt: skip


@st.composite
def piece_systems(draw: st.DrawFn) -> ToyModel:
    return random_model(
        draw(st.integers(0, 10_000)), words=4, labels=draw(st.integers(1, 2)),
        opens_at_end=draw(st.booleans()), bound_gap=draw(st.sampled_from([None, 0.0, 0.5])),
        continuations=CONTINUATIONS,
    )  # fmt: skip


@given(model=piece_systems(), how=searches(), sentences=SENTENCES, is_packed=st.booleans())
@settings(max_examples=60)
def test_the_same_is_found_as_in_plain_lists(
    model: ToyModel, how: WordSync, sentences: list[list[int]], is_packed: bool
) -> None:
    found = search(
        model, sentences, how, is_packed=is_packed, keeps_history=True, finds_word_ends=True
    )
    naive = NaiveSearch(model, how)
    for sentence, result in zip(sentences, found, strict=True):
        expected = naive.run(sentence)
        assert_same(result, expected, sentence)
        ends = [word.word_end for word in expected]
        np.testing.assert_allclose(result.word_end_log_probs, ends, rtol=0, atol=1e-9)


# King is ▁k ing, kings ▁k ing s, kin ▁k in.
K, ING, S, IN = range(4)


def royal(*, plural: float) -> ToyModel:
    """A sentence of one word; A and B open constituents.

    State 1 is behind A (0.6), 2 behind B (0.4). Both go on to ▁k, which is certain. Behind A, ing
    has probability 0.1, behind B 0.9; behind ing, s has the probability ``plural``.
    """
    columns = torch.zeros((7, 5), dtype=torch.float64)
    words = torch.zeros((7, 4), dtype=torch.float64)
    columns[0, 3], columns[0, 4] = 0.6, 0.4
    for state in (1, 2):
        columns[state, Column.WORD] = 1.0
        words[state, K] = 1.0
    for state, ing in ((3, 0.1), (4, 0.9)):
        columns[state, Column.WORD] = 1.0
        words[state, ING], words[state, IN] = ing, 1 - ing
    columns[5, Column.WORD], columns[5, Column.END] = plural, 1 - plural
    words[5, S] = 1.0
    columns[6, Column.END] = 1.0
    words[6, K] = 1.0
    after_column = torch.zeros((7, 5), dtype=torch.long)
    after_column[0, 3], after_column[0, 4] = 1, 2
    after_word = torch.zeros((7, 4), dtype=torch.long)
    after_word[1, K], after_word[2, K] = 3, 4
    after_word[3, ING] = after_word[4, ING] = 5
    after_word[:, S] = after_word[:, IN] = 6
    # The columns of these words never have to be normalised without continuations.
    words[[0, 3, 4, 5], K] += 1e-300
    return ToyModel(
        columns=columns, words=words, after_column=after_column, after_word=after_word,
        continuations=(ING, S, IN),
    )  # fmt: skip


def word_prob(result: SentenceResult, tokens: list[int]) -> float:
    place = len(tokens) - 1
    return math.exp(result.prefix_log_probs[place] + result.word_end_log_probs[place])


JOB = [[K, ING], [K, ING, S], [K, IN]]


@pytest.mark.parametrize("plural", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("is_packed", [True, False])
def test_words_with_the_same_beginning_share_its_probability(
    plural: float, is_packed: bool
) -> None:
    how = WordSync(action_beam=5, word_beam=5, max_open=2, max_consecutive=2)
    found = search(royal(plural=plural), JOB, how, is_packed=is_packed, finds_word_ends=True)
    king, kings, kin = (word_prob(*one) for one in zip(found, JOB, strict=True))
    # ▁k ing: 0.6 * 0.1 + 0.4 * 0.9.
    assert king == pytest.approx(0.42 * (1 - plural))
    assert kings == pytest.approx(0.42 * plural)
    assert king + kings + kin == pytest.approx(1)
    assert (kings > king) == (plural > 0.5)
    # The pieces alone: king is at least as probable as kings, and the sum is above one.
    plain = [math.exp(r.prefix_log_probs[len(t) - 1]) for r, t in zip(found, JOB, strict=True)]
    assert plain == pytest.approx([0.42, 0.42 * plural, 0.58])


@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("savings", [True, False])
def test_the_word_beam_prunes_once_per_word(is_packed: bool, savings: bool) -> None:
    # Behind ▁k, A is better (0.6); behind ing, B is (0.36 against 0.06). A beam of one word would
    # lose B at the first piece if it pruned there.
    how = WordSync(
        action_beam=2, word_beam=1, max_open=2, max_consecutive=2, bounded=savings,
        lazy_words=savings,
    )  # fmt: skip
    model = royal(plural=0.5)
    (king, kings) = search(
        model, JOB[:2], how, is_packed=is_packed, keeps_history=True, finds_word_ends=True
    )
    assert np.exp(king.prefix_log_probs) == pytest.approx([0.6, 0.36, 0.18])
    assert king.last is not None and king.last.columns(0)[0] == [4]
    assert len(king.last.score) == 1
    assert np.exp(kings.prefix_log_probs) == pytest.approx([0.6, 0.36, 0.18, 0.18])
    # In a sentence that ends with ▁k, A is the only survivor.
    (short,) = search(model, [[K, ING]], replace(how, action_beam=1), is_packed=is_packed)
    assert np.exp(short.prefix_log_probs[:2]) == pytest.approx([0.6, 0.06])


def test_pieces_that_words_share_are_searched_once() -> None:
    how = WordSync(action_beam=5, word_beam=2, max_open=2, max_consecutive=2)
    shared, apart = Work(), Work()
    together = search(royal(plural=0.3), JOB, how, work=shared, finds_word_ends=True)
    alone = search(
        royal(plural=0.3), JOB, replace(how, share_prefixes=False), work=apart, finds_word_ends=True
    )
    # ▁k, ing, s, in and three ends.
    assert shared.words == 7
    assert apart.words == 10
    for one, other in zip(together, alone, strict=True):
        assert one.prefix_log_probs == pytest.approx(other.prefix_log_probs)
        assert one.word_end_log_probs == pytest.approx(other.word_end_log_probs)


def test_ends_of_words_are_found_only_if_they_are_asked_for() -> None:
    how = WordSync(action_beam=5, word_beam=5, max_open=2, max_consecutive=2)
    (without,) = search(royal(plural=0.3), [[K, ING]], how)
    assert without.word_end_log_probs == ()
    np.testing.assert_array_equal(
        without.token_log_probs(2), without.token_log_probs(2, with_word_ends=True)
    )
    # A model over words has no ends to find.
    (words,) = search(random_model(0), [[0, 1]], how, finds_word_ends=True)
    assert words.word_end_log_probs == ()


def test_tokens_with_ends_of_words_add_up_to_the_sentence() -> None:
    how = WordSync(action_beam=50, word_beam=50, max_open=2, max_consecutive=2)
    model = random_model(5, words=4, continuations=CONTINUATIONS)
    (found,) = search(model, [[0, 2, 1]], how, finds_word_ends=True)
    scores = found.token_log_probs(3, with_word_ends=True)
    assert scores.sum() == pytest.approx(found.prefix_log_probs[-1])
    prefixes, ends = found.prefix_log_probs, found.word_end_log_probs
    expected = [prefixes[0], prefixes[1] + ends[1] - prefixes[0]]
    expected += [prefixes[2] + ends[2] - prefixes[1] - ends[1], prefixes[3] - prefixes[2] - ends[2]]
    np.testing.assert_allclose(scores, expected)


def test_a_failure_inside_a_word_loses_the_word() -> None:
    # State 6 has no continuation: nothing follows on "in".
    how = WordSync(action_beam=5, word_beam=5, max_open=2, max_consecutive=2)
    for is_packed in (True, False):
        (found,) = search(
            royal(plural=0.3), [[K, IN, S]], how, is_packed=is_packed, finds_word_ends=True
        )
        assert found.failure is not None and found.failure.token == 2
        assert len(found.prefix_log_probs) == len(found.word_end_log_probs) == 2
        assert np.isnan(found.token_log_probs(3, with_word_ends=True)[2:]).all()


@pytest.mark.slow
@pytest.mark.parametrize("is_packed", [True, False])
def test_an_unbiased_search_is_unbiased(is_packed: bool) -> None:
    limits: dict[str, Any] = {"max_open": 2, "max_consecutive": 2}
    model = random_model(11, words=4, continuations=CONTINUATIONS)
    job = [[0, 2, 1], [0, 3]]
    exact = search(
        model, job, WordSync(action_beam=900, word_beam=900, **limits), finds_word_ends=True
    )
    runs = 100
    found = np.zeros((runs, len(job), 4))
    for seed in range(runs):
        how = Unbiased(action_beam=4, word_beam=3, replicates=1, seed=seed, **limits)
        for number, result in enumerate(
            search(model, job, how, is_packed=is_packed, finds_word_ends=True)
        ):
            estimate = np.exp(np.add(result.prefix_log_probs, result.word_end_log_probs))
            found[seed, number, : len(estimate)] = estimate
    for number, result in enumerate(exact):
        count = len(result.prefix_log_probs)
        expected = np.exp(np.add(result.prefix_log_probs, result.word_end_log_probs))
        error = found[:, number, :count].std(0) / math.sqrt(runs)
        assert (np.abs(found[:, number, :count].mean(0) - expected) < 4 * error).all()
        assert (error[:-1] < 0.2 * expected[:-1]).all()
