"""What happens to the probability of a prefix when a beam is widened: see ``docs/search.md``."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.data.trees.legality import Column
from gardenpath.eval.search.result import SentenceResult, Step
from gardenpath.eval.search.settings import WordSync
from tests.eval.search.toy_model import ToyModel, random_model, search

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
