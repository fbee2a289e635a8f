"""Bracketing scores against hand-worked examples and a slow matcher."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.trees.cleaning import drop_pos
from gardenpath.data.trees.tree import Tree, parse_tree
from gardenpath.errors import GardenpathError
from gardenpath.eval.parsing import (
    PUNCTUATION,
    BracketCounts,
    Bracketing,
    Conventions,
    WordsDifferError,
    bracketing,
    brackets,
    compare_trees,
)
from tests.data.strategies import EXAMPLE, deep_tree, tagged_trees

PLAIN = Conventions(punctuation="counted", equivalences=())
GOLD = "(S (NP the hungry cat) (VP meows))"


def counts(gold: str, parsed: str, conventions: Conventions = PLAIN) -> tuple[int, int, int]:
    found = compare_trees(parse_tree(gold), parse_tree(parsed), conventions)
    return found.matched, found.gold, found.parsed


@pytest.mark.parametrize(
    ("parsed", "expected"),
    [
        (GOLD, (3, 3, 3)),
        # The right span with the wrong label, and a constituent that the gold tree has not.
        ("(S (NP the hungry cat) (NP meows))", (2, 3, 3)),
        ("(S (NP the (ADJP hungry) cat) (VP meows))", (3, 3, 4)),
        ("(S the hungry cat meows)", (1, 3, 1)),
        ("(VP (NP the) (S hungry cat meows))", (0, 3, 3)),
        # Root labels do not count, on either side.
        ("(TOP (S (NP the hungry cat) (VP meows)))", (3, 3, 3)),
        ("(S1 the hungry cat (VP meows))", (1, 3, 1)),
    ],
)
def test_examples_worked_by_hand(parsed: str, expected: tuple[int, int, int]) -> None:
    assert counts(GOLD, parsed) == expected


def test_unary_chains_are_matched_one_to_one() -> None:
    assert counts("(NP (NP (NP cats)))", "(NP cats)") == (1, 3, 1)
    assert counts("(NP (NP cats))", "(NP (NP (NP cats)))") == (2, 2, 3)
    assert counts("(S (VP go))", "(VP (S go))") == (2, 2, 2)


def test_precision_recall_and_their_mean() -> None:
    found = BracketCounts(matched=3, gold=4, parsed=6)
    assert (found.precision, found.recall, found.f1) == (0.5, 0.75, 0.6)
    assert found.f1 == pytest.approx(2 * 0.5 * 0.75 / (0.5 + 0.75))
    assert not found.is_exact
    nothing = BracketCounts()
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.is_exact) == (1, 1, 1, True)
    missed = BracketCounts(0, 2, 0)
    assert (missed.precision, missed.recall, missed.f1) == (0, 0, 0)


def test_deleted_punctuation_moves_no_boundary() -> None:
    gold, parsed = "(S (NP cats) , (VP meow .))", "(S (NP cats ,) (VP meow) .)"
    assert counts(gold, parsed, replace(PLAIN, punctuation="en")) == (3, 3, 3)
    # cats: 0-1 against 0-2; meow: 2-4 against 2-3.
    assert counts(gold, parsed) == (1, 3, 3)


def test_constituents_of_punctuation_alone_vanish() -> None:
    gold, parsed = "(S (NP cats) (VP meow))", "(S (NP cats) (VP meow))"
    with_marks = "(S (NP cats) (VP meow) (X .))"
    english = replace(PLAIN, punctuation="en")
    assert counts(gold, parsed, english) == (3, 3, 3)
    assert counts(with_marks, "(S (NP cats) (VP meow) .)", english) == (3, 3, 3)
    assert counts("(X .)", "(X .)", english) == (0, 0, 0)


def test_chinese_punctuation() -> None:
    gold, parsed = "(IP (NP 猫) ， (VP 叫 。))", "(IP (NP 猫 ，) (VP 叫) 。)"
    assert counts(gold, parsed, replace(PLAIN, punctuation="zh")) == (3, 3, 3)
    assert counts(gold, parsed, replace(PLAIN, punctuation="en")) == (1, 3, 3)


def test_brackets_and_possessives_are_words_in_english() -> None:
    assert not {"(", ")", "'", "$", "#", "%"} & PUNCTUATION["en"].words
    assert {"（", "）", "《"} <= PUNCTUATION["zh"].words


def test_parts_of_speech_are_no_constituents() -> None:
    tagged = "(S (NP (NNS cats)) (VP (VBP meow)) (. .))"
    other = "(S (NP (NN cats)) (VP (VBP meow) (, .)))"
    conventions = Conventions(drop_pos=True)
    assert counts(tagged, other, conventions) == (3, 3, 3)
    assert counts(tagged, other, replace(conventions, punctuation="counted")) == (2, 3, 3)


def test_the_gold_part_of_speech_decides_what_is_punctuation() -> None:
    conventions = Conventions(drop_pos=True)
    quote = "(S (NP (NNS dogs) ('' ')) (VP (VBP bark)))"
    possessive = "(S (NP (NNS dogs) (POS ')) (VP (VBP bark)))"
    assert set(brackets(parse_tree(quote), conventions)) == {
        ("NP", 0, 1),
        ("VP", 1, 2),
        ("S", 0, 2),
    }
    assert set(brackets(parse_tree(possessive), conventions)) == {
        ("NP", 0, 2), ("VP", 2, 3), ("S", 0, 3),
    }  # fmt: skip
    # A wrong tag in the parse moves nothing.
    assert counts(quote, possessive, conventions) == (3, 3, 3)
    assert counts(possessive, quote, conventions) == (3, 3, 3)


def test_traces_go_with_the_parts_of_speech() -> None:
    gold = "(S (NP-SBJ (-NONE- *)) (VP (VB go)))"
    assert counts(gold, "(S (VP (VB go)))", Conventions(drop_pos=True)) == (2, 2, 2)


def test_function_tags_and_equivalent_labels() -> None:
    gold, parsed = "(S (NP-SBJ-1 he) (VP gives (PRT up)))", "(S (NP he) (VP gives (ADVP up)))"
    assert counts(gold, parsed, Conventions()) == (4, 4, 4)
    assert counts(gold, parsed, Conventions(equivalences=())) == (3, 4, 4)
    assert counts(gold, parsed, Conventions(strip_function_tags=False)) == (3, 4, 4)


def test_other_words_are_an_error_that_says_where() -> None:
    trees = [parse_tree(GOLD)]
    with pytest.raises(WordsDifferError, match=r"sentence 1: word 3 is 'cat' .* 'dog'"):
        bracketing(trees, [parse_tree("(S (NP the hungry dog) (VP meows))")])
    with pytest.raises(WordsDifferError, match="the gold tree has 4 words, the parse 5"):
        bracketing(trees, [parse_tree("(S the hungry cat meows again)")])
    with pytest.raises(GardenpathError, match="0 parses for 1 gold trees"):
        bracketing(trees, [])


def test_a_corpus_is_summed_and_failures_count_as_missed() -> None:
    gold = [parse_tree(GOLD), parse_tree("(S (VP go))"), parse_tree("(S (NP we) (VP go))")]
    found = bracketing(gold, [gold[0], None, parse_tree("(S we (VP go))")], PLAIN)
    assert found.total == BracketCounts(matched=5, gold=8, parsed=5)
    assert (found.total.precision, found.total.recall) == (1.0, 5 / 8)
    assert found.failed == (1,)
    assert found.exact_match == pytest.approx(1 / 3)
    assert found.mean_f1 == pytest.approx((1 + 0 + 4 / 5) / 3)
    # Nothing to find, but no parse either.
    assert bracketing([parse_tree("(TOP a)")], [None]).exact_match == 0
    assert math.isnan(Bracketing(()).exact_match)
    assert math.isnan(Bracketing(()).mean_f1)


def slow_spans(tree: Tree, conventions: Conventions, begin: int = 0) -> list[tuple[str, int, int]]:
    """Spans by recursion over a tree without parts of speech, deleted words left out before."""
    pruned = slow_prune(tree, conventions)
    return [] if pruned is None else slow_walk(pruned, conventions, begin)


def slow_prune(tree: Tree, conventions: Conventions) -> Tree | None:
    marks = PUNCTUATION["en"].words if conventions.punctuation == "en" else frozenset()
    kept: list[Tree | str] = []
    for child in tree.children:
        if isinstance(child, Tree):
            inner = slow_prune(child, conventions)
            kept += [] if inner is None else [inner]
        elif child not in marks:
            kept.append(child)
    return Tree(tree.label, tuple(kept)) if kept else None


def slow_walk(tree: Tree, conventions: Conventions, begin: int) -> list[tuple[str, int, int]]:
    found, end = [], begin
    for child in tree.children:
        if isinstance(child, Tree):
            found += slow_walk(child, conventions, end)
            end += len(child.words())
        else:
            end += 1
    label = {"PRT": "ADVP"}.get(tree.label, tree.label) if conventions.equivalences else tree.label
    return found if label == "TOP" else [*found, (label, begin, end)]


def slow_counts(gold: Tree, parsed: Tree, conventions: Conventions) -> BracketCounts:
    """Each gold constituent takes the first free one of the parse that is the same."""
    right, free = slow_spans(gold, conventions), slow_spans(parsed, conventions)
    total, matched = len(free), 0
    for span in right:
        if span in free:
            free.remove(span)
            matched += 1
    return BracketCounts(matched, len(right), total)


@st.composite
def two_trees(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """Two trees over the same words, some of them punctuation, with few labels."""
    words = draw(st.lists(st.sampled_from(["a", "b", ".", ","]), min_size=1, max_size=7))
    return draw(tree_over(tuple(words))), draw(tree_over(tuple(words)))


@st.composite
def tree_over(draw: st.DrawFn, words: tuple[str, ...], depth: int = 0) -> Tree:
    cuts = draw(st.sets(st.integers(1, len(words) - 1))) if len(words) > 1 else set()
    ends = [0, *sorted(cuts), len(words)]
    children: list[Tree | str] = []
    for begin, end in pairwise(ends):
        part = words[begin:end]
        if depth < 4 and draw(st.booleans()):
            children.append(draw(tree_over(part, depth + 1)))
        else:
            children += part
    label = draw(st.sampled_from(["S", "NP", "ADVP", "PRT", "TOP"]))
    return Tree(label, tuple(children))


@given(trees=two_trees(), punctuation=st.sampled_from(["en", "counted"]), equal=st.booleans())
def test_agrees_with_the_slow_matcher(
    trees: tuple[Tree, Tree], punctuation: str, equal: bool
) -> None:
    conventions = Conventions(
        punctuation="en" if punctuation == "en" else "counted",
        equivalences=(("ADVP", "PRT"),) if equal else (),
    )
    assert compare_trees(*trees, conventions) == slow_counts(*trees, conventions)


@given(tree=tagged_trees())
def test_dropping_parts_of_speech_is_what_cleaning_does(tree: Tree) -> None:
    with_pos = Conventions(punctuation="counted", drop_pos=True)
    without = replace(with_pos, drop_pos=False)
    if not tree.is_preterminal:
        assert brackets(tree, with_pos) == brackets(drop_pos(tree), without)


def test_the_running_example() -> None:
    assert brackets(EXAMPLE, Conventions(drop_pos=True)) == {
        ("NP", 0, 3): 1, ("VP", 3, 4): 1, ("S", 0, 4): 1,
    }  # fmt: skip


def test_the_depth_of_a_tree_is_no_limit() -> None:
    tree = deep_tree(20_000)
    assert compare_trees(tree, tree, PLAIN) == BracketCounts(20_000, 20_000, 20_000)
