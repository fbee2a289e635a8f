"""The search in tensors, with its savings, against one in plain lists without any."""

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
from gardenpath.eval.search.result import (
    BEST_JOINT,
    FACTOR,
    MEASURED,
    SentenceResult,
    Step,
    token_measures,
)
from gardenpath.eval.search.settings import Unbiased, WordSync
from tests.eval.search.slow_search import Hypothesis, NaiveSearch, WordOutcome
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


def assert_same(found: SentenceResult, expected: list[WordOutcome], sentence: list[int]) -> None:
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


# ----------------------------------------------------------------------------
# What happens to the probability of a prefix when a beam is widened: see ``docs/search.md``.


W = 0
ROUNDING = 1e-9
EVERYTHING = WordSync(
    action_beam=3000, word_beam=3000, max_open=2, max_consecutive=2, bounded=False
)
SENTENCE = st.lists(st.integers(0, 2), min_size=1, max_size=2)


def make_model(
    columns: list[list[float]], w: list[float], after_column: dict[tuple[int, int], int],
    after_word: list[int],
) -> ToyModel:  # fmt: skip
    """Two words, of which the first has the probabilities ``w``; END takes what is left."""
    table = torch.tensor(columns, dtype=torch.float64)
    follow = torch.zeros(table.shape, dtype=torch.long)
    for place, state in after_column.items():
        follow[place] = state
    first = torch.tensor(w, dtype=torch.float64)
    return ToyModel(
        columns=table,
        words=torch.stack([first, 1 - first], dim=1),
        after_column=follow,
        after_word=torch.tensor(after_word).unsqueeze(1).expand(-1, 2),
    )


def probabilities(result: SentenceResult) -> list[float]:
    return [math.exp(log_prob) for log_prob in result.prefix_log_probs]


def test_a_wider_action_beam_may_find_less() -> None:
    # A 0.6 goes on by A to 0.18, where w is certain, or to some other word. B 0.4 goes on by A to
    # 0.208 and by B to 0.192, where w has probability 0.1. One place: A, then AA, w: 0.18. Two
    # places: A and B, then BA and BB, which crowd AA out; w: 0.0208 + 0.0192.
    a, b = Column.FIRST_OPEN, Column.FIRST_OPEN + 1
    model = make_model(
        columns=[
            [0.0, 0.0, 0.0, 0.6, 0.4],
            [0.7, 0.0, 0.0, 0.3, 0.0],
            [0.0, 0.0, 0.0, 0.52, 0.48],
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0],
        ],
        w=[0.0, 0.0, 0.0, 1.0, 0.1],
        after_column={(0, a): 1, (0, b): 2, (1, a): 3, (2, a): 4, (2, b): 4},
        after_word=[3, 3, 3, 3, 3],
    )
    how = replace(EVERYTHING, fast_track=0)
    found = [
        probabilities(search(model, [[W]], replace(how, action_beam=width))[0])[0]
        for width in (1, 2, 3)
    ]
    assert found == pytest.approx([0.18, 0.04, 0.22])


@pytest.mark.parametrize("marginal", ["survivors", "candidates"])
def test_a_wider_word_beam_may_find_less_from_the_third_word_on(marginal: str) -> None:
    # The same with words in between. After the first w: 0.6 and 0.4. The first goes on to the
    # second w with 0.3, and then every time; the second opens something (0.52, 0.48), and says w
    # with 1, and then with 0.1. One place: 0.6, 0.18, 0.18. Two: 1, 0.208 + 0.192 (the third, 0.18,
    # does not survive, or is only counted), and 0.1 of these.
    a, b = Column.FIRST_OPEN, Column.FIRST_OPEN + 1
    model = make_model(
        columns=[
            [0.0, 0.0, 0.0, 0.6, 0.4],
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [0.3, 0.7, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.52, 0.48],
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [0.1, 0.9, 0.0, 0.0, 0.0],
        ],
        w=[0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0],
        after_column={(0, a): 1, (0, b): 2, (4, a): 5, (4, b): 5},
        after_word=[0, 3, 4, 6, 0, 7, 6, 7],
    )
    how = WordSync(
        action_beam=100, marginal="candidates" if marginal == "candidates" else "survivors"
    )
    one, two = (
        probabilities(search(model, [[W, W, W]], replace(how, word_beam=width))[0])
        for width in (1, 2)
    )
    counted = 0.0 if marginal == "survivors" else 1.0
    assert one[:3] == pytest.approx([0.6 + 0.4 * counted, 0.18, 0.18])
    assert two[:3] == pytest.approx([1.0, 0.4 + 0.18 * counted, 0.04])


@given(
    seed=st.integers(0, 10_000), sentence=SENTENCE, action_beam=st.integers(1, 30),
    word_beam=st.integers(1, 30), fast_track=st.integers(0, 2),
    marginal=st.sampled_from(["survivors", "candidates"]),
)  # fmt: skip
def test_no_beam_finds_more_than_one_that_holds_everything(
    seed: int, sentence: list[int], action_beam: int, word_beam: int, fast_track: int, marginal: str
) -> None:
    model = random_model(seed)
    (everything,) = search(model, [sentence], EVERYTHING)
    how = replace(
        EVERYTHING, action_beam=action_beam, word_beam=word_beam, fast_track=fast_track,
        marginal="candidates" if marginal == "candidates" else "survivors",
    )  # fmt: skip
    (found,) = search(model, [sentence], how)
    for some, most in zip(found.prefix_log_probs, everything.prefix_log_probs, strict=False):
        assert some <= most + ROUNDING


@given(
    seed=st.integers(0, 10_000), sentence=SENTENCE, narrow=st.integers(1, 8),
    more=st.integers(1, 8),
)  # fmt: skip
@settings(max_examples=40)
def test_a_wider_word_beam_never_finds_less_after_nested_beams(
    seed: int, sentence: list[int], narrow: int, more: int
) -> None:
    # The action beam holds everything. If the survivors of all words before are among those of
    # the wider beam, the word is at least as probable; and those of the first word always are.
    model = random_model(seed)
    small, large = (
        search(model, [sentence], replace(EVERYTHING, word_beam=width), keeps_history=True)[0]
        for width in (narrow, narrow + more)
    )
    nested = True
    for place in range(min(len(small.prefix_log_probs), len(large.prefix_log_probs))):
        if nested or place < 2:
            assert small.prefix_log_probs[place] <= large.prefix_log_probs[place] + ROUNDING
        nested = nested and _survivors(small, place) <= _survivors(large, place)
        assert nested or place > 0


def _survivors(result: SentenceResult, place: int) -> set[tuple[tuple[int, ...], ...]]:
    """The derivations that survived a word."""
    step: Step | None = result.last
    for _ in range(len(result.prefix_log_probs) - 1 - place):
        assert step is not None
        step = step.before
    assert step is not None
    return {
        tuple(map(tuple, step.columns(number)))
        for number, score in enumerate(step.score)
        if score > -math.inf
    }


# ----------------------------------------------------------------------------
# What the survivors say about a word, against sums in plain lists.


LIMITS: dict[str, Any] = {"max_open": 2, "max_consecutive": 2}
EVERYTHING_WORD_MEASURES = WordSync(action_beam=1000, word_beam=1000, **LIMITS)
NARROW = WordSync(action_beam=8, word_beam=4, **LIMITS)
SENTENCE_WORD_MEASURES = [1, 2, 0]


def log_sum(values: list[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def by_hand(survivors: list[Hypothesis], before: list[Hypothesis]) -> dict[str, float]:
    """The measures of one word, analysis by analysis."""
    total = log_sum([one.log_prob for one in survivors])
    shares = [math.exp(one.log_prob - total) for one in survivors]
    best = max(survivors, key=lambda one: one.log_prob)
    best_before = max(before, key=lambda one: one.log_prob)
    continues = [one.taken[:-1] == best_before.taken for one in survivors]
    if best_before.taken == ((),):  # nothing has been read yet
        continues = [True] * len(survivors)
    return {
        "entropy_bits": -sum(p * math.log2(p) for p in shares if p > 0),
        "open_constituents": sum(p * one.depth for p, one in zip(shares, survivors, strict=True)),
        "analyses": sum(one.log_prob >= best.log_prob - math.log(FACTOR) for one in survivors),
        "best_share": math.exp(best.log_prob - total),
        "best_kept_share": sum(p for p, yes in zip(shares, continues, strict=True) if yes),
        "reanalysis": float(not continues[survivors.index(best)]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("how", [EVERYTHING_WORD_MEASURES, NARROW])
@pytest.mark.parametrize("is_packed", [True, False])
def test_measures_are_those_of_the_survivors(how: WordSync, is_packed: bool) -> None:
    for seed in range(4):
        model = random_model(seed)
        (found,) = search(model, [SENTENCE_WORD_MEASURES], how, is_packed=is_packed)
        words = NaiveSearch(model, how).run(SENTENCE_WORD_MEASURES)
        before = [Hypothesis()]
        for place, word in enumerate(words):
            expected = by_hand(word.survivors, before)
            for name, value in expected.items():
                assert getattr(found.measures, name)[place] == pytest.approx(value, abs=1e-9), name
            before = word.survivors


def lexical_and_structural(model: ToyModel) -> tuple[list[float], list[float]]:
    """Both parts of surprisal by their definition, from all derivations."""
    words = NaiveSearch(model, EVERYTHING_WORD_MEASURES).run(SENTENCE_WORD_MEASURES)
    total_before = 0.0
    lexical, structural = [], []
    for place, word in enumerate(words):
        total = log_sum([one.log_prob for one in word.survivors])
        parts = [0.0, 0.0]
        for one in word.survivors:
            share = math.exp(one.log_prob - total)
            # The node is the one at which the word was generated.
            given = 0.0
            if place < len(SENTENCE_WORD_MEASURES):
                token = torch.tensor([SENTENCE_WORD_MEASURES[place]])
                given = float(model.word_log_prob(torch.tensor([one.node]), token))
            prior = one.log_prob - given - total_before
            parts[0] -= share * given
            parts[1] += share * (math.log(share) - prior)
        lexical.append(parts[0] / math.log(2))
        structural.append(parts[1] / math.log(2))
        total_before = total
    return lexical, structural


@pytest.mark.slow
def test_surprisal_is_structure_and_word() -> None:
    for seed in range(5):
        model = random_model(seed)
        lexical, structural = lexical_and_structural(model)
        (found,) = search(model, [SENTENCE_WORD_MEASURES], EVERYTHING_WORD_MEASURES)
        surprisal = -found.token_log_probs(len(SENTENCE_WORD_MEASURES)) / math.log(2)
        np.testing.assert_allclose(found.measures.word_bits, lexical, rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            surprisal - found.measures.word_bits, structural, rtol=0, atol=1e-9
        )
        assert min(structural) > -1e-9  # a divergence


def test_sampled_hypotheses_estimate_the_same() -> None:
    model = random_model(4)
    (exact,) = search(model, [SENTENCE_WORD_MEASURES], EVERYTHING_WORD_MEASURES)
    settings = Unbiased(action_beam=20, word_beam=12, replicates=64, roulette=0.01, **LIMITS)
    (found,) = search(model, [SENTENCE_WORD_MEASURES], settings)
    for name in ("entropy_bits", "open_constituents", "word_bits", "best_share"):
        np.testing.assert_allclose(
            getattr(found.measures, name), getattr(exact.measures, name), rtol=0.1, atol=0.1
        )


def test_a_share_is_at_most_one() -> None:
    """The best analysis may be in one of the replicates only, and their mean is below it."""
    found = np.full((1, 4, MEASURED), 0.0)
    lost = np.log(0.001)
    # In one replicate, the best analysis survived by chance and weighs twice what it is worth.
    found[0, :, -1] = [np.log(2 * 0.1), lost, lost, lost]
    found[0, :, BEST_JOINT] = [np.log(0.1), lost, lost, lost]
    measures = token_measures(found)
    assert measures.best_share[0] == 1.0
    assert measures.entropy_bits[0] >= 0.0
