"""Replicates, thinning, and searches of a grammar whose exact results are known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gardenpath.data.pcfg import ExactModel, Grammar, Sampler, read_grammar
from gardenpath.data.trees.legality import Column
from gardenpath.eval.search.replicates import (
    mixed,
    pooled,
    standard_error,
    t_quantile,
    uniforms,
)
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.settings import Unbiased, WordSync
from gardenpath.eval.search.unbiased import drawn, thinned_scores, threshold
from gardenpath.util import bits
from tests.documented.pages import ROOT
from tests.eval.search.toy_model import search

# An open category, and its children so far.
Frame = tuple[str, tuple[str, ...]]
# The frames from the start category down, and whether a sentence has begun.
State = tuple[tuple[Frame, ...], bool]


class GrammarModel:
    """Derivations from left to right, in which each category is opened, filled and closed.

    The probability of a child is that of all rules with these children so far. Words are numbered
    in the order of ``grammar.words``; a category with words has nothing else.
    """

    device = torch.device("cpu")
    dtype = torch.float64
    is_continuation: Tensor | None = None
    opens_at_end = False

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._number = {word: number for number, word in enumerate(grammar.words)}
        self.label_count = len(grammar.categories)
        self.begin()

    def encoded(self, sentence: Sequence[str]) -> list[int]:
        """The words as numbers."""
        return [self._number[word] for word in sentence]

    def begin(self) -> None:
        """Only the root."""
        self._states: list[State] = [((), False)]

    def group_bytes(self, *, action_beam: int, word_beam: int, length: int) -> int:
        """Small."""
        return length + 1

    def _rules(self, frame: Frame) -> dict[str | None, float]:
        """The weights of what may follow the children of a frame; None is its end."""
        category, children = frame
        found: dict[str | None, float] = {}
        for rule in self._grammar.rules[category]:
            size = len(children)
            if rule.right[:size] == children:
                child = rule.right[size] if len(rule.right) > size else None
                found[child] = found.get(child, 0.0) + rule.probability
        return found

    def _awaits_word(self, state: State) -> bool:
        frames, _ = state
        return bool(frames) and not frames[-1][1] and self._is_lexical(frames[-1][0])

    def _is_lexical(self, category: str) -> bool:
        return self._grammar.rules[category][0].is_lexical

    def _columns(self, state: State) -> dict[int, float]:
        """The probabilities of columns."""
        frames, has_begun = state
        if not frames:
            start = Column.FIRST_OPEN + self._grammar.index[self._grammar.start]
            return {int(Column.END): 1.0} if has_begun else {start: 1.0}
        if self._awaits_word(state):
            return {int(Column.WORD): 1.0}
        follows = self._rules(frames[-1])
        total = sum(follows.values())
        return {
            int(Column.CLOSE)
            if child is None
            else Column.FIRST_OPEN + self._grammar.index[child]: weight / total
            for child, weight in follows.items()
        }

    def log_probs(self, nodes: Tensor) -> Tensor:
        """By the rules."""
        result = torch.full(
            (len(nodes), Column.FIRST_OPEN + self.label_count), -torch.inf, dtype=self.dtype
        )
        for row, node in enumerate(nodes.tolist()):
            for column, probability in self._columns(self._states[node]).items():
                result[row, column] = math.log(probability)
        return result

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        """By the lexical rules; with fixed shapes, anything is asked."""
        found = []
        for node, word in zip(nodes.tolist(), words.tolist(), strict=True):
            state = self._states[node]
            follows = self._rules(state[0][-1]) if self._awaits_word(state) else {}
            probability = follows.get(self._grammar.words[word], 0.0)
            found.append(math.log(probability) if probability else -math.inf)
        return torch.tensor(found, dtype=self.dtype)

    def word_bound(self, nodes: Tensor, words: Tensor) -> Tensor:
        """The value itself."""
        return self.word_log_prob(nodes, words)

    def word_end_log_prob(self, nodes: Tensor) -> Tensor:
        """Not asked: words have no pieces."""
        raise AssertionError("words have no pieces")

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        """Open or close a category."""
        found: list[State] = []
        for node, column in zip(nodes.tolist(), columns.tolist(), strict=True):
            frames, _ = self._states[node]
            if column == Column.CLOSE and frames:
                found.append((_with_child(frames[:-1], frames[-1][0]), True))
            else:  # with fixed shapes, anything is asked
                category = self._grammar.categories[max(column - Column.FIRST_OPEN, 0)]
                found.append(((*frames, (category, ())), True))
        return self._append(found)

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Read a word."""
        return self._append(
            [
                (_with_child(self._states[node][0], self._grammar.words[word]), True)
                for node, word in zip(nodes.tolist(), words.tolist(), strict=True)
            ]
        )

    def _append(self, states: Sequence[State]) -> Tensor:
        first = len(self._states)
        self._states += states
        return torch.arange(first, len(self._states))

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        """Keep everything."""
        return nodes


def _with_child(frames: tuple[Frame, ...], child: str) -> tuple[Frame, ...]:
    if not frames:
        return frames
    category, children = frames[-1]
    return (*frames[:-1], (category, (*children, child)))


# ----------------------------------------------------------------------------
# Replicates: their mean, deviations and standard errors.


def test_the_mean_is_one_of_probabilities() -> None:
    found = pooled(np.log([[0.1, 0.3], [0.01, 0.03]]))
    np.testing.assert_allclose(np.exp(found.log_probs), [0.2, 0.02])
    np.testing.assert_allclose(found.relative, [[0.5, 1.5], [0.5, 1.5]])
    # The second word follows with 0.1 in both replicates: nothing deviates.
    np.testing.assert_allclose(found.deviations_bits[1], 0, atol=1e-15)
    np.testing.assert_allclose(found.deviations_bits[0], np.array([0.5, -0.5]) / math.log(2))


def test_a_replicate_without_survivors_counts_as_zero() -> None:
    found = pooled(np.array([[math.log(0.4), -np.inf]]))
    np.testing.assert_allclose(np.exp(found.log_probs), [0.2])
    np.testing.assert_allclose(found.relative, [[2.0, 0.0]])


def test_standard_errors_agree_with_a_simulation() -> None:
    # The spread of the reported surprisal over many repetitions of sixteen replicates.
    random = np.random.default_rng(0)
    repeats, replicates = 4000, 16
    one = random.gamma(20, 1 / 20, (repeats, replicates))
    other = 0.3 * one * random.gamma(30, 1 / 30, (repeats, replicates))
    surprisals, errors = [], []
    for first, second in zip(one, other, strict=True):
        found = pooled(np.log(np.stack([first, second])))
        surprisals.append((found.log_probs[0] - found.log_probs[1]) / math.log(2))
        errors.append(standard_error(found.deviations_bits)[1])
    assert np.std(surprisals) == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=0.05)
    truth = -math.log2(0.3)
    inside = np.abs(np.array(surprisals) - truth) <= t_quantile(replicates) * np.array(errors)
    assert inside.mean() == pytest.approx(0.95, abs=0.02)


def test_quantiles_of_few_replicates_are_large() -> None:
    assert t_quantile(4) == pytest.approx(3.182, abs=1e-3)
    assert t_quantile(1000) == pytest.approx(1.962, abs=1e-3)


# ----------------------------------------------------------------------------
# Thinning: thresholds, expectations, and random numbers.


WEIGHTS = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12)


@given(weights=WEIGHTS, width=st.integers(1, 8))
def test_the_threshold_keeps_so_many_on_average(weights: list[float], width: int) -> None:
    weight = torch.tensor([weights], dtype=torch.float64)
    bar = float(threshold(weight, width))
    if len(weights) <= width:
        assert bar == 0
    else:
        assert sum(min(1.0, w / bar) for w in weights) == np.float64(width).item() or math.isclose(
            sum(min(1.0, w / bar) for w in weights), width, rel_tol=1e-9
        )


def test_zero_weights_take_no_place() -> None:
    weight = torch.tensor([[0.5, 0.0, 0.25, 0.0, 0.0]], dtype=torch.float64)
    assert float(threshold(weight, 3)) == 0
    found = drawn(weight, threshold(weight, 3), torch.zeros((1, 1), dtype=torch.float64))
    assert torch.equal(found.weight, weight)


@given(weights=WEIGHTS, width=st.integers(1, 8))
@settings(max_examples=30)
def test_expected_weights_are_what_they_were(weights: list[float], width: int) -> None:
    # Over all random numbers, each weight is kept in proportion to its size: a grid of them sums up
    # the expectation, up to the distance of its points.
    points = 2000
    uniform = (torch.arange(points, dtype=torch.float64) + 0.5).unsqueeze(1) / points
    weight = torch.tensor([weights], dtype=torch.float64).expand(points, -1)
    bar = threshold(weight, width)
    found = drawn(weight, bar, uniform)
    largest = max(*weights, float(bar[0]))
    np.testing.assert_allclose(found.weight.mean(0), weights, rtol=0, atol=2 * largest / points)
    # As many are kept as expected, so that the total does not change.
    np.testing.assert_allclose(found.weight.sum(1), sum(weights), rtol=1e-6)
    assert (found.is_kept.sum(1) <= width).all() or len(weights) <= width


@given(weights=WEIGHTS, bar=st.floats(1e-3, 2.0))
@settings(max_examples=30)
def test_what_is_below_a_bar_is_kept_at_random(weights: list[float], bar: float) -> None:
    points = 2000
    uniform = (torch.arange(points, dtype=torch.float64) + 0.5).unsqueeze(1) / points
    score = torch.tensor([weights], dtype=torch.float64).log().expand(points, -1)
    low = torch.full((points, 1), math.log(bar), dtype=torch.float64)
    found = thinned_scores(score, 20, uniform, low).exp()
    np.testing.assert_allclose(found.mean(0), weights, rtol=0, atol=2 * max(bar, *weights) / points)
    # Either gone, or at least as heavy as the bar.
    assert ((found == 0) | (found >= min(bar, *weights) * (1 - 1e-9))).all()
    assert ((found == 0) | (found >= bar * (1 - 1e-9)) | (score.exp() >= bar)).all()


def test_nothing_remains_of_nothing() -> None:
    score = torch.full((2, 5), -torch.inf, dtype=torch.float64)
    found = thinned_scores(score, 3, torch.full((2, 1), 0.5, dtype=torch.float64))
    assert (found == -torch.inf).all()


def test_random_numbers_are_uniform_and_belong_to_their_key() -> None:
    keys = [mixed(mixed(0, seed), number) for seed in range(40) for number in range(5)]
    assert len(set(keys)) == len(keys)
    found = uniforms(keys, 300)
    assert ((found >= 0) & (found < 1)).all()
    assert abs(found.mean() - 0.5) < 0.005
    # Neither neighbours in a row nor rows are correlated.
    assert abs(np.corrcoef(found[:, :-1].ravel(), found[:, 1:].ravel())[0, 1]) < 0.02
    assert np.abs(np.corrcoef(found) - np.eye(len(keys))).max() < 0.35
    np.testing.assert_array_equal(uniforms(keys[7:8], 10)[0], found[7, :10])


# ----------------------------------------------------------------------------
# Searches of the toy grammars themselves, whose exact values are known without any search.


GRAMMARS = ROOT / "src" / "data" / "grammars"
DEMO = read_grammar(GRAMMARS / "demo_english.pcfg")
LIMITS: dict[str, Any] = {"max_open": 40, "max_consecutive": 8}
EVERYTHING = WordSync(action_beam=400, word_beam=400, **LIMITS)

NO_COMMA = "while the man hunted the deer ran ."
COMMA = "while the man hunted the deer , the dog ran ."
RACED = "the horse raced past the barn fell ."
MAIN = "the horse raced past the barn ."
REFLEXIVE = "the queen that the men blamed admired herself ."


def _search(sentences: list[str], settings: WordSync | Unbiased) -> list[SentenceResult]:
    model = GrammarModel(DEMO)
    return search(model, [model.encoded(one.split()) for one in sentences], settings)


def _exact(sentence: str) -> np.ndarray:
    """Log probabilities (nats) of the beginnings, from the first word on, and of the sentence."""
    found: np.ndarray = ExactModel(DEMO).prefix_log_probs([sentence.split()])[0][1:]
    return found


def _probability(prefix: str, following: str) -> float:
    """The exact probability of a word after a beginning."""
    log_probs = ExactModel(DEMO).word_log_probs([[*prefix.split(), following]])[0]
    return math.exp(log_probs[len(prefix.split())])


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_beam_that_holds_everything_finds_the_probabilities_of_the_grammar(
    is_packed: bool,
) -> None:
    sentences = [NO_COMMA, COMMA, RACED, MAIN, REFLEXIVE]
    model = GrammarModel(DEMO)
    encoded = [model.encoded(one.split()) for one in sentences]
    found = search(model, encoded, EVERYTHING, is_packed=is_packed)
    for sentence, result in zip(sentences, found, strict=True):
        np.testing.assert_allclose(result.prefix_log_probs, _exact(sentence), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "missing"), [("demo_english", 1e-9), ("english", 1e-9), ("mandarin", 1e-4)]
)
def test_sentences_of_every_grammar(name: str, missing: float) -> None:
    """Beginnings of Mandarin have infinitely many analyses, of which nearly nothing is missing."""
    grammar = read_grammar(GRAMMARS / f"{name}.pcfg")
    sampler = Sampler(grammar, seed=3)
    drawn = (sampler.draw().words() for _ in itertools.count())
    sentences = list(itertools.islice((one for one in drawn if len(one) <= 9), 6))
    model = GrammarModel(grammar)
    settings = WordSync(action_beam=1000, word_beam=1000, max_open=60, max_consecutive=20)
    found = search(model, [model.encoded(one) for one in sentences], settings)
    expected = ExactModel(grammar).prefix_log_probs(sentences)
    for result, log_probs in zip(found, expected, strict=True):
        lacking = log_probs[1:] - result.prefix_log_probs
        assert lacking.min() > -1e-9 and lacking.max() < missing


def _entropy(share: float) -> float:
    return -sum(p * math.log2(p) for p in (share, 1 - share))


@pytest.mark.parametrize(
    ("sentence", "words", "following"),
    [(NO_COMMA, 6, ","), (COMMA, 6, ","), (RACED, 6, "."), (MAIN, 6, ".")],
)
def test_two_readings_have_the_shares_that_the_next_word_gives_away(
    sentence: str, words: int, following: str
) -> None:
    """Only one of two readings goes on with this word, and with no other.

    Its probability after the ambiguous beginning is the share of this reading, and their entropy
    that of the two shares.
    """
    share = _probability(" ".join(sentence.split()[:words]), following)
    (found,) = _search([sentence], EVERYTHING)
    measures, place = found.measures, words - 1
    assert 0.5 < share < 1.0
    assert measures.best_share[place] == pytest.approx(share, abs=1e-9)
    assert measures.entropy_bits[place] == pytest.approx(_entropy(share), abs=1e-9)
    # With the next word, only one is left.
    assert measures.best_share[place + 1] == pytest.approx(1.0, abs=1e-9)
    assert measures.entropy_bits[place + 1] == pytest.approx(0.0, abs=1e-9)
    is_misled = sentence.split()[words] != following
    assert measures.reanalysis[place + 1] == is_misled
    assert measures.best_kept_share[place + 1] == pytest.approx(1.0 - is_misled, abs=1e-9)


@pytest.mark.parametrize(
    ("sentence", "word", "choices"), [(NO_COMMA, "ran", 3), (RACED, "fell", 3), (MAIN, "raced", 2)]
)
def test_the_surprisal_of_a_word_given_its_analysis_is_that_of_the_lexicon(
    sentence: str, word: str, choices: int
) -> None:
    """The words of these categories are equally likely."""
    (found,) = _search([sentence], EVERYTHING)
    place = sentence.split().index(word)
    assert found.measures.word_bits[place] == pytest.approx(math.log2(choices), abs=1e-9)
    surprisal = bits(np.diff(found.prefix_log_probs, prepend=0.0))[place]
    assert surprisal > found.measures.word_bits[place]


def test_depth_is_that_of_the_only_analysis() -> None:
    (found,) = _search(["i know that the man found the coin ."], EVERYTHING)
    depths = found.measures.open_constituents
    # S[top] and PRP[one] are open at the first word, S[top] and PERIOD at the full stop.
    assert depths[0] == pytest.approx(2.0) and depths[-2] == pytest.approx(2.0)
    assert depths[-1] == pytest.approx(0.0)
    # S[top], VP[one] and VBP[know]
    assert depths[1] == pytest.approx(3.0)


def test_an_unbiased_search_with_narrow_beams_is_right_on_average() -> None:
    settings = Unbiased(action_beam=4, word_beam=1, replicates=400, roulette=0.5, seed=5, **LIMITS)
    sentences = [NO_COMMA, RACED, COMMA]
    for sentence, result in zip(sentences, _search(sentences, settings), strict=True):
        exact = np.exp(_exact(sentence))
        estimates = np.exp(result.replicate_log_probs)
        error = estimates.std(axis=1, ddof=1) / math.sqrt(estimates.shape[1])
        assert (np.abs(estimates.mean(axis=1) - exact) < 4 * error + 1e-12).all(), sentence
        # The garden path is lost in most replicates, which makes up for itself in the others.
        errors = standard_error(pooled(result.replicate_log_probs).deviations_bits)
        surprisal = bits(np.diff(result.prefix_log_probs, prepend=0.0))
        expected = bits(np.diff(_exact(sentence), prepend=0.0))
        reach = t_quantile(400) * errors
        assert np.mean(np.abs(surprisal - expected) <= reach + 1e-9) >= 0.8


def test_narrow_beams_lose_what_wide_ones_keep() -> None:
    """A word beam of one follows the garden path and finds nothing behind it."""
    narrow = WordSync(action_beam=20, word_beam=1, **LIMITS)
    (found,) = _search([NO_COMMA], narrow)
    assert found.failure is not None and found.failure.token == 6
    (wide,) = _search([NO_COMMA], WordSync(action_beam=30, word_beam=5, **LIMITS))
    # Between "the" and "man" there are more analyses than it holds.
    assert wide.prefix_log_probs[1] < _exact(NO_COMMA)[1] - 0.1
    np.testing.assert_allclose(wide.prefix_log_probs[2:], _exact(NO_COMMA)[2:], rtol=0, atol=1e-9)
