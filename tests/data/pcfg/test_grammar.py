"""What follows from a grammar in closed form, against enumeration and sampling."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from gardenpath.data.pcfg.grammar import tree_label
from tests.data.pcfg_tools import derivations, draw_with_log_prob, grammar_of

FINITE = [
    "%start S\nS : a\n",
    "%start S\nS -> A B {3} | B\nA : a b*2\nB : b c\n",
    "%start S\nS -> A A A {1} | B {2} | C C\nA -> B | C B {3}\nB : x y*3\nC -> D | D D\nD : d\n",
]
RECURSIVE = [
    "%start S\nS -> S A {1} | A {2}\nA : a b\n",
    "%start S\nS -> A S B {2} | A B {3}\nA : a b*3\nB -> A {1} | B2 {3}\nB2 : c\n",
    "%start S\nS -> B\nB -> C {1} | X {2}\nC -> B {1} | X X {2}\nX : x y\n",
]


@pytest.mark.parametrize("text", FINITE)
def test_finite_grammar_against_enumeration(text: str) -> None:
    grammar = grammar_of(text)
    found = derivations(grammar, depth=8)
    assert sum(p for _, p in found) == pytest.approx(1.0, abs=1e-12)
    assert grammar.expected_length == pytest.approx(sum(p * len(words) for words, p in found))
    entropy = -sum(p * math.log2(p) for _, p in found)
    assert grammar.derivation_entropy_bits == pytest.approx(entropy, abs=1e-12)


@pytest.mark.parametrize("text", RECURSIVE)
def test_recursive_grammar_against_sampling(text: str) -> None:
    grammar, generator = grammar_of(text), random.Random(5)
    drawn = [draw_with_log_prob(grammar, generator) for _ in range(20_000)]
    for exact, samples in (
        (grammar.expected_length, [len(words) for words, _ in drawn]),
        (grammar.derivation_entropy_bits, [-log_prob / math.log(2) for _, log_prob in drawn]),
    ):
        error = np.std(samples) / math.sqrt(len(samples))
        assert abs(np.mean(samples) - exact) < 4 * error
        assert error < 0.02 * exact


def test_geometric_lengths() -> None:
    """S -> S A {p} | A has 1 / (1 - p) words and as many coin flips on average."""
    grammar = grammar_of("%start S\nS -> S A {3} | A {1}\nA : a\n")
    assert grammar.expected_length == pytest.approx(4.0)
    flip = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
    assert grammar.derivation_entropy_bits == pytest.approx(4.0 * flip)


def test_expected_children() -> None:
    grammar = grammar_of("%start S\nS -> A A {1} | A B {3}\nA : a\nB -> A\n")
    matrix = grammar.expected_children
    s, a, b = (grammar.index[name] for name in "SAB")
    assert matrix[s, a] == pytest.approx(2 * 0.25 + 0.75)
    assert matrix[s, b] == pytest.approx(0.75)
    assert matrix[b, a] == 1.0
    assert matrix.sum() == pytest.approx(1.25 + 0.75 + 1.0)


@pytest.mark.parametrize(
    ("category", "label"), [("NP", "NP"), ("NP[sg,f]", "NP"), ("_CL", ""), ("_CL[sg]", "")]
)
def test_tree_label(category: str, label: str) -> None:
    assert tree_label(category) == label
