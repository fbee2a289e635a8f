"""What follows from a grammar in closed form, against enumeration and sampling."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gardenpath.data.pcfg.grammar import Grammar, Sampler, read_grammar, tree_label
from gardenpath.errors import GrammarError, InputError
from tests.data.pcfg_tools import (
    SHIPPED,
    derivations,
    draw_with_log_prob,
    expected_length,
    expected_word_counts,
    grammar_of,
    sentence_probabilities,
)

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
    assert expected_length(grammar) == pytest.approx(sum(p * len(words) for words, p in found))
    entropy = -sum(p * math.log2(p) for _, p in found)
    assert grammar.derivation_entropy_bits == pytest.approx(entropy, abs=1e-12)


@pytest.mark.parametrize("text", RECURSIVE)
def test_recursive_grammar_against_sampling(text: str) -> None:
    grammar, generator = grammar_of(text), random.Random(5)
    drawn = [draw_with_log_prob(grammar, generator) for _ in range(20_000)]
    for exact, samples in (
        (expected_length(grammar), [len(words) for words, _ in drawn]),
        (grammar.derivation_entropy_bits, [-log_prob / math.log(2) for _, log_prob in drawn]),
    ):
        error = np.std(samples) / math.sqrt(len(samples))
        assert abs(np.mean(samples) - exact) < 4 * error
        assert error < 0.02 * exact


def test_geometric_lengths() -> None:
    """S -> S A {p} | A has 1 / (1 - p) words and as many coin flips on average."""
    grammar = grammar_of("%start S\nS -> S A {3} | A {1}\nA : a\n")
    assert expected_length(grammar) == pytest.approx(4.0)
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


# ----------------------------------------------------------------------------
# The readable form of grammars: what it means, and where its mistakes are.


EXAMPLE = """\
%start S                            # the category of whole sentences
%feature num = sg pl                # a feature and its values

S       -> NP[num] VP[num]
NP[num] -> Det N[num] {3} | NP[num] PP {1}
PP      -> P NP[num]
VP[sg]  : meows
VP[pl]  : meow
N[sg]   : cat dog*2
N[pl]   : cats
Det     : the
P       : near
"""


def rules_of(grammar: Grammar, left: str) -> dict[str, float]:
    return {" ".join(rule.right): round(rule.probability, 12) for rule in grammar.rules[left]}


def test_documented_example() -> None:
    grammar = grammar_of(EXAMPLE)
    assert grammar.start == "S"
    # num stands on the right alone: its values share the weight.
    assert rules_of(grammar, "S") == {"NP[sg] VP[sg]": 0.5, "NP[pl] VP[pl]": 0.5}
    assert rules_of(grammar, "PP") == {"P NP[sg]": 0.5, "P NP[pl]": 0.5}
    # num stands on the left: one rule for each value, with its full weight.
    assert rules_of(grammar, "NP[sg]") == {"Det N[sg]": 0.75, "NP[sg] PP": 0.25}
    assert rules_of(grammar, "NP[pl]") == {"Det N[pl]": 0.75, "NP[pl] PP": 0.25}
    assert rules_of(grammar, "N[sg]") == pytest.approx({"cat": 1 / 3, "dog": 2 / 3})
    assert grammar.words == ("cat", "cats", "dog", "meow", "meows", "near", "the")


def test_independent_variables_of_one_feature() -> None:
    grammar = grammar_of(
        "%start S\n%feature num = sg pl\nS -> N[num] V[num] N[num2] {2} | V[num]\n"
        "N[num] : n\nV[num] : v\n"
    )
    expected = {f"N[{a}] V[{a}] N[{b}]": 1 / 6 for a in ("sg", "pl") for b in ("sg", "pl")}
    expected |= {f"V[{a}]": 1 / 6 for a in ("sg", "pl")}
    assert rules_of(grammar, "S") == pytest.approx(expected)


def test_several_features_and_values() -> None:
    grammar = grammar_of(
        "%start S\n%feature num = sg pl\n%feature gen = m f\n"
        "S -> N[num,gen]\nN[sg,gen] -> A[gen]\nN[pl,gen] : they\nA[m] : he\nA[f] : she\n"
    )
    assert rules_of(grammar, "S") == {f"N[{n},{g}]": 0.25 for n in ("sg", "pl") for g in "mf"}
    assert rules_of(grammar, "N[sg,f]") == {"A[f]": 1.0}
    assert rules_of(grammar, "N[pl,m]") == {"they": 1.0}


def test_rules_that_fall_together_add_up() -> None:
    grammar = grammar_of("%start S\nS -> A {1} | A {2} | B {1}\nA : a a b\nB : b\n")
    assert rules_of(grammar, "S") == {"A": 0.75, "B": 0.25}
    assert rules_of(grammar, "A") == pytest.approx({"a": 2 / 3, "b": 1 / 3})


def test_lines_that_go_on_and_comments() -> None:
    grammar = grammar_of(
        "# a comment\n\n%start S\nS -> A\n  | B {2}   # more\n| C\nA : a#b\n   c*3\nB : b\nC : c\n"
    )
    assert rules_of(grammar, "S") == {"A": 0.25, "B": 0.5, "C": 0.25}
    assert rules_of(grammar, "A") == {"a#b": 0.25, "c": 0.75}


def test_categories_out_of_reach_are_left_out() -> None:
    grammar = grammar_of("%start S\nS -> A\nA : a\nB : b\n")
    assert grammar.categories == ("S", "A")
    assert grammar.words == ("a",)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("S -> A\nA : a\n", 1, "no start category"),
        ("%start S\n%\nS : a\n", 2, "cannot read '%'"),
        ("%start S T\nS : a\n", 1, "cannot read"),
        ("%start S\n%feature num\nS : a\n", 2, "cannot read"),
        ("%start S\n%end S\nS : a\n", 2, "cannot read"),
        ("%start S\n\nS = a\n", 3, "cannot read 'S = a'"),
        ("%start S\nS -> A |\nA : a\n", 2, "alternative has no children"),
        ("%start S\nS -> {2}\n", 2, "alternative has no children"),
        ("%start S\nS :\n", 2, "no words for S"),
        ("%start S\nS : a*0\n", 2, "'0' is not a weight"),
        ("%start S\nS : a*1.2.3\n", 2, "'1.2.3' is not a weight"),
        ("%start S\nS -> A {0}\nA : a\n", 2, "'0' is not a weight"),
        ("%start S\nS -> A {x}\nA : a\n", 2, "'{x}' is not a category"),
        ("%start S\nS -> 1A\n", 2, "'1A' is not a category"),
        ("%start S\nS -> A[sg\nA : a\n", 2, r"'A\[sg' is not a category"),
        ("%start S\nS -> A[sg]\nA : a\n", 2, "'sg' is neither a value nor a feature"),
        ("%start S\n%feature num = sg pl\nS -> A[nun]\nA : a\n", 3, "did you mean 'num'"),
        ("%start S\nS : a\nS -> A B\nA : a\n", 3, "B has no rule"),
        ("%start S\n%feature num = sg pl\nS -> A[num]\nA[sg] : a\n", 3, r"A\[pl\] has no rule"),
    ],
)
def test_mistakes_are_located(text: str, line: int, problem: str) -> None:
    with pytest.raises(GrammarError, match=problem) as caught:
        grammar_of(text)
    assert str(caught.value).startswith(f"test.pcfg:{line}: ")
    assert caught.value.remedy


def test_start_without_rule() -> None:
    with pytest.raises(GrammarError, match=r"test\.pcfg: the start category T has no rule"):
        grammar_of("%start T\nS : a\n")


@pytest.mark.parametrize(
    "text",
    [
        "%start S\nS -> S S {1} | A {1}\nA : a\n",
        "%start S\nS -> A S\nA : a\n",
        "%start S\nS -> A\nA -> B\nB -> A\n",
    ],
)
def test_endless_recursion(text: str) -> None:
    with pytest.raises(GrammarError, match="recursion does not terminate"):
        grammar_of(text)


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "cats.pcfg"
    path.write_text("%start S\nS : 猫\n", encoding="utf-8")
    assert read_grammar(path).words == ("猫",)
    path.write_text("%start S\nS\n")
    with pytest.raises(GrammarError) as caught:
        read_grammar(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    with pytest.raises(InputError, match="cannot be opened"):
        read_grammar(tmp_path / "none.pcfg")


@pytest.mark.parametrize("name", ["english", "mandarin"])
def test_probabilities_of_shipped_grammars_sum_to_one(name: str) -> None:
    grammar = read_grammar(SHIPPED / f"{name}.pcfg")
    for rules in grammar.rules.values():
        assert sum(rule.probability for rule in rules) == pytest.approx(1.0, abs=1e-12)


# ----------------------------------------------------------------------------
# The sampler draws what the rules say, the same for the same seed.


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
