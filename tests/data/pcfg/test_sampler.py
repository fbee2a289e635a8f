"""The sampler draws what the rules say, the same for the same seed."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from gardenpath.data.pcfg.grammar import Sampler, read_grammar
from tests.data.pcfg_tools import SHIPPED, expected_word_counts, grammar_of, sentence_probabilities

DRAWS = 20_000


def assert_near(count: int, probability: float, draws: int = DRAWS) -> None:
    """Within four and a half standard errors."""
    error = math.sqrt(draws * probability * (1 - probability))
    assert abs(count - draws * probability) < 4.5 * error + 1e-9


def test_rule_frequencies() -> None:
    grammar = grammar_of("%start S\nS -> A {1} | B {2} | A B {7}\nA : a b*4\nB : c\n")
    sampler = Sampler(grammar, seed=1)
    found = Counter(sampler.draw().words() for _ in range(DRAWS))
    expected = sentence_probabilities(grammar, depth=4)
    assert set(found) == set(expected)
    for words, probability in expected.items():
        assert_near(found[words], probability)


def test_recursion_depths() -> None:
    sampler = Sampler(grammar_of("%start S\nS -> S A {2} | A {3}\nA : a\n"), seed=2)
    lengths = Counter(len(sampler.draw().words()) for _ in range(DRAWS))
    for length in range(1, 7):
        assert_near(lengths[length], 0.6 * 0.4 ** (length - 1))


@pytest.mark.parametrize("name", ["english", "mandarin"])
def test_word_frequencies_of_shipped_grammars(name: str) -> None:
    grammar = read_grammar(SHIPPED / f"{name}.pcfg")
    sampler = Sampler(grammar, seed=3)
    found = Counter(word for _ in range(3000) for word in sampler.draw().words())
    for word, expected in expected_word_counts(grammar).items():
        # Words come in bunches, so the spread is somewhat larger than that of a Poisson count.
        assert abs(found[word] - 3000 * expected) < 7 * math.sqrt(3000 * expected)


def test_trees_show_names_and_hide_writing_aids() -> None:
    grammar = grammar_of(
        "%start S[top]\n%feature f = top x\nS[top] -> _A _B[x] C[x]\n_A -> C[x] C[x]\n"
        "_B[x] : b\nC[x] : c\n"
    )
    assert str(Sampler(grammar, seed=0).draw()) == "(S (C c) (C c) b (C c))"


def test_seeds() -> None:
    grammar = read_grammar(SHIPPED / "english.pcfg")

    def draw(seed: int) -> list[str]:
        sampler = Sampler(grammar, seed=seed)
        return [str(sampler.draw()) for _ in range(20)]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert len(set(draw(1))) > 15


def test_deep_trees() -> None:
    """A sentence of thousands of words is no problem."""
    grammar = grammar_of("%start S\nS -> A S {19999} | A {1}\nA : a\n")
    sampler = Sampler(grammar, seed=0)
    assert max(len(sampler.draw().words()) for _ in range(2)) > 5_000
