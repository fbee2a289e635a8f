"""Exact probabilities: against enumeration, closed forms, and a slow oracle."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from gardenpath.data import pcfg as prefix_module
from gardenpath.data.pcfg import ExactModel, Grammar, Rule
from gardenpath.errors import GrammarError
from gardenpath.util import Words
from tests.data.pcfg_tools import (
    SlowModel,
    derivations,
    grammar_of,
    log_probs,
    prefix_probability,
    sentence_probabilities,
    surprisal_bits,
)

FINITE = [
    "%start S\nS : a b*3\n",
    "%start S\nS -> A B {3} | B\nA : a b*2\nB : b c\n",
    # Long rules that end alike, ambiguity, unary chains.
    "%start S\nS -> A A B {2} | B A B | A {3} | A C\nA -> B {1} | C {2}\nB : a b\nC : a*2 c\n",
    "%start S\nS -> X Y | Y X | X X X X {2}\nX : a\nY -> X X {1} | Z\nZ -> X {2} | W\nW : b\n",
]
RECURSIVE = [
    "%start S\nS -> S A {1} | A {3}\nA : a b\n",  # to the left
    "%start S\nS -> A S {1} | A {3}\nA : a b\n",  # to the right
    "%start S\nS -> S S {1} | A {4}\nA : a b*2\n",  # in all directions: ambiguous
    "%start S\nS -> A {2} | X\nA -> B {1} | X {3}\nB -> A {1} | S {1} | X X {6}\nX : a b\n",
    "%start S\nS -> L B {1} | B {2}\nL -> S A {1} | B {2}\nA : a\nB : a b\n",
]


def brute_force(sentences: dict[Words, float], words: Words) -> list[float]:
    """Probabilities of all prefixes and of the whole."""
    begins = [prefix_probability(sentences, words[:end]) for end in range(len(words) + 1)]
    return [*begins, sentences.get(words, 0.0)]


def slow(grammar: Grammar, words: Words) -> list[float]:
    models = [SlowModel(grammar, words[:end]) for end in range(len(words) + 1)]
    return [*(model.prefix for model in models), models[-1].sentence]


def exact(grammar: Grammar, sentences: list[Words]) -> list[list[float]]:
    rows = ExactModel(grammar).prefix_log_probs(sentences)
    return [np.exp(row).tolist() for row in rows]


def strings(grammar: Grammar, longest: int, *extra: str) -> list[Words]:
    """All sequences of the grammar's words, grammatical or not."""
    words = (*grammar.words, *extra)
    return [s for n in range(longest + 1) for s in itertools.product(words, repeat=n)]


# ---- Against enumeration


@pytest.mark.parametrize("text", FINITE)
def test_finite_grammars(text: str) -> None:
    grammar = grammar_of(text)
    sentences = sentence_probabilities(grammar, depth=8)
    assert sum(sentences.values()) == pytest.approx(1.0, abs=1e-12)
    tried = strings(grammar, 4, "unheard")
    for words, found in zip(tried, exact(grammar, tried), strict=True):
        expected = brute_force(sentences, words)
        assert found == pytest.approx(expected, rel=1e-9, abs=0.0), words


@pytest.mark.parametrize(("text", "depth"), list(zip(RECURSIVE, (14, 14, 5, 12, 9), strict=True)))
def test_recursive_grammars_against_cut_enumeration(text: str, depth: int) -> None:
    """What deeper derivations may add is bounded by the mass that enumeration did not reach."""
    grammar = grammar_of(text)
    if depth > 10:  # words do not matter to recursion: one is enough, and far faster
        grammar = grammar_of(text.replace(" : a b", " : a"))
    found = sentence_probabilities(grammar, depth=depth)
    missing = 1.0 - sum(p for _, p in derivations(grammar, depth=depth))
    assert 0.0 < missing < 0.05
    tried = strings(grammar, 3)
    for words, values in zip(tried, exact(grammar, tried), strict=True):
        for value, lower in zip(values, brute_force(found, words), strict=True):
            assert lower - 1e-12 <= value <= lower + missing + 1e-12


@pytest.mark.parametrize("text", [*FINITE, *RECURSIVE])
def test_against_slow_oracle(text: str) -> None:
    grammar = grammar_of(text)
    tried = strings(grammar, 3)
    for words, found in zip(tried, exact(grammar, tried), strict=True):
        assert found == pytest.approx(slow(grammar, words), rel=1e-9, abs=0.0), words


# ---- Random grammars


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    """Small grammars with every kind of recursion; those that never end are not drawn."""
    categories = ["S", "A", "B", "C"][: draw(st.integers(1, 4))]
    child = st.sampled_from(categories)
    right: SearchStrategy[Words] = st.lists(child, min_size=1, max_size=3).map(tuple)
    rules: list[Rule] = []
    for left in categories:
        words = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True))
        phrases = draw(st.lists(right, max_size=3, unique=True))
        shapes = [((word,), True) for word in words] + [(phrase, False) for phrase in phrases]
        weights = [draw(st.integers(1, 9)) for _ in shapes]
        rules += [
            Rule(left, shape, weight / sum(weights), is_lexical, 1)
            for (shape, is_lexical), weight in zip(shapes, weights, strict=True)
        ]
    try:
        grammar = Grammar(start="S", rules=rules, path="random")
    except GrammarError:
        assume(False)
    # Near the limit the slow oracle takes for ever.
    assume(np.abs(np.linalg.eigvals(grammar.expected_children)).max() < 0.9)
    return grammar


@given(grammars())
def test_random_grammars_against_slow_oracle(grammar: Grammar) -> None:
    tried = [*strings(grammar, 2), *(tuple("abcab"[i : i + 3]) for i in range(3))]
    for words, found in zip(tried, exact(grammar, tried), strict=True):
        expected = slow(grammar, words)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-14), words
        # Impossible is impossible, not just improbable.
        assert [value == 0.0 for value in found] == [value == 0.0 for value in expected]


@settings(max_examples=100)
@given(grammar=grammars(), prefix=st.lists(st.sampled_from("abc"), max_size=5))
def test_next_words_and_end_sum_to_one(grammar: Grammar, prefix: list[str]) -> None:
    begins = ExactModel(grammar).prefix_log_probs([prefix])[0][:-1]
    possible = prefix[: int(np.isfinite(begins).sum()) - 1]
    assert_sums_to_one(grammar, possible)


def assert_sums_to_one(grammar: Grammar, prefix: list[str]) -> None:
    model = ExactModel(grammar)
    following = model.word_log_probs([[*prefix, word] for word in grammar.words])
    of_words = [math.exp(log_probs[len(prefix)]) for log_probs in following]
    of_end = math.exp(model.word_log_probs([prefix])[0][-1])
    assert sum(of_words) + of_end == pytest.approx(1.0, abs=1e-9)


def test_next_words_and_end_sum_to_one_along_a_sentence() -> None:
    grammar = grammar_of(RECURSIVE[4])
    sentence = ["a", "a", "b", "a", "a", "a", "b"]
    for end in range(len(sentence) + 1):
        assert_sums_to_one(grammar, sentence[:end])


# ---- Closed forms


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("rule", ["S -> S A", "S -> A S"])
def test_geometric(rule: str, p: float) -> None:
    grammar = grammar_of(f"%start S\n{rule} {{{p}}} | A {{{1 - p}}}\nA : a\n")
    log_probs = ExactModel(grammar).word_log_probs([["a"] * 4])[0]
    expected = [0.0, math.log(p), math.log(p), math.log(p), math.log(1 - p)]
    np.testing.assert_allclose(log_probs, expected, atol=1e-12)


def test_unary_cycle() -> None:
    """A -> B {p} | a, B -> A {q} | b: each turn of the cycle costs p q."""
    grammar = grammar_of("%start A\nA -> B {1} | X {1}\nB -> A {1} | Y {3}\nX : a\nY : b\n")
    turns = 1 / (1 - 0.5 * 0.25)
    surprisal = surprisal_bits(ExactModel(grammar), [["a"], ["b"]])
    assert surprisal[0] == pytest.approx([-math.log2(0.5 * turns), 0.0], abs=1e-12)
    assert surprisal[1] == pytest.approx([-math.log2(0.5 * 0.75 * turns), 0.0], abs=1e-12)


def test_catalan() -> None:
    """S -> S S {p} | a: a sentence of n words has as many trees as Catalan's number says."""
    p = 0.3
    grammar = grammar_of(f"%start S\nS -> S S {{{p}}} | A {{{1 - p}}}\nA : a\n")
    of_sentences = log_probs(ExactModel(grammar), [["a"] * n for n in range(1, 9)])
    for n, log_prob in enumerate(of_sentences, start=1):
        catalan = math.comb(2 * n - 2, n - 1) // n
        assert log_prob == pytest.approx(math.log(catalan * p ** (n - 1) * (1 - p) ** n))


def test_agreement_is_resolved_at_the_second_word() -> None:
    grammar = grammar_of(
        "%start S\n%feature n = sg pl\nS -> N[n] V[n]\nN[sg] : cat sheep\n"
        "N[pl] : cats sheep*3\nV[sg] : meows\nV[pl] : meow\n"
    )
    bits = surprisal_bits(ExactModel(grammar), [["sheep", "meows"], ["cat", "meows"]])
    # Sheep: half of the singulars and three quarters of the plurals.
    assert bits[0] == pytest.approx([-math.log2(0.625), -math.log2(0.25 / 0.625), 0.0], abs=1e-12)
    assert bits[1] == pytest.approx([2.0, 0.0, 0.0], abs=1e-12)


# ---- Edges


def test_impossible_words() -> None:
    grammar = grammar_of("%start S\nS -> A B\nA : a\nB : b\n")
    bits = surprisal_bits(ExactModel(grammar), [["a", "a", "b"], ["x"], ["a"], ["a", "b", "b"]])
    np.testing.assert_array_equal(bits[0], [0.0, math.inf, math.nan, math.nan])
    np.testing.assert_array_equal(bits[1], [math.inf, math.nan])
    np.testing.assert_array_equal(bits[2], [0.0, math.inf])  # the end comes too early
    np.testing.assert_array_equal(bits[3], [0.0, 0.0, math.inf, math.nan])


def test_empty_sentence_is_impossible() -> None:
    model = ExactModel(grammar_of("%start S\nS : a\n"))
    np.testing.assert_array_equal(surprisal_bits(model, [[]])[0], [math.inf])
    assert surprisal_bits(model, []) == []


@pytest.mark.parametrize("rule", ["S -> S A", "S -> A S"])
def test_long_sentences_do_not_underflow(rule: str) -> None:
    """Each word has a probability of 1 in 2,000 and each step one of 1 in 100."""
    words = " ".join(f"w{number}" for number in range(2000))
    grammar = grammar_of(f"%start S\n{rule} {{1}} | A {{99}}\nA : {words}\n")
    bits = surprisal_bits(ExactModel(grammar), [["w7"] * 300])[0]
    first, step = math.log2(2000), math.log2(2000 * 100)
    expected = [first, *[step] * 299, -math.log2(0.99)]
    np.testing.assert_allclose(bits, expected, rtol=1e-9)


def test_long_sentences_with_likelier_but_impossible_parts() -> None:
    """By itself a span may be far likelier than in its place; that must not overflow."""
    grammar = grammar_of(
        "%start S\nS -> X R {1} | Y Q {1}\nR -> A R {1} | A {999}\nQ -> A Q {999} | A {1}\n"
        "X : x\nY : y\nA : a\n"
    )
    bits = surprisal_bits(ExactModel(grammar), [["x", *["a"] * 150]])[0]
    expected = [1.0, 0.0, *[math.log2(1000)] * 149, -math.log2(0.999)]
    np.testing.assert_allclose(bits, expected, rtol=1e-9, atol=1e-9)


def test_sentences_together_are_as_sentences_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ExactModel(grammar_of(RECURSIVE[4]))
    sentences = [["a"], ["a", "b", "a"], ["b"], [], ["a", "x"], ["a", "a", "b"], ["b", "b", "b"]]
    together = model.prefix_log_probs(sentences)
    for sentence, row in zip(sentences, together, strict=True):
        np.testing.assert_allclose(model.prefix_log_probs([sentence])[0], row, rtol=1e-12)
    monkeypatch.setattr(prefix_module, "_CHART_BYTES", 1)
    for alone, row in zip(model.prefix_log_probs(sentences), together, strict=True):
        np.testing.assert_allclose(alone, row, rtol=1e-12)


def test_later_words_do_not_change_earlier_ones() -> None:
    model = ExactModel(grammar_of(RECURSIVE[2]))
    short, long = model.word_log_probs([["a", "b"], ["a", "b", "b", "a"]])
    np.testing.assert_allclose(short[:2], long[:2], rtol=1e-12)
