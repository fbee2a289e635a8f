"""Sentences that a user gives in Python."""

from __future__ import annotations

from typing import Any

import pytest

from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree import parse_tree
from gardenpath.errors import GardenpathError, TreeError
from gardenpath.runs.text import is_single, sentences_of_given

WORDS = ("the", "cat", "sat", ".")
TREE = "(S (NP (DT the) (NN cat)) (VP (VBD sat) (NP (-NONE- *T*))) (. .))"


def _words(given: Any, **cleaning: Any) -> list[tuple[str, ...]]:
    return [one.words for one in sentences_of_given(given, Cleaning(**cleaning))]


@pytest.mark.parametrize(
    "given",
    [
        "the cat sat .",
        "  the   cat\tsat . \n",
        ["the cat sat ."],
        [["the", "cat", "sat", "."]],
        (("the", "cat", "sat", "."),),
        TREE,
        [TREE],
        parse_tree(TREE),
        [parse_tree(TREE)],
    ],
)
def test_every_form_of_one_sentence(given: Any) -> None:
    assert _words(given) == [WORDS]


def test_several_sentences_in_different_forms() -> None:
    found = _words(["the cat sat .", ["it", "slept"], parse_tree(TREE), "(S (NP it))"])
    assert found == [WORDS, ("it", "slept"), WORDS, ("it",)]


def test_trees_keep_their_trees_and_strings_have_none() -> None:
    one, other = sentences_of_given([TREE, "the cat"], Cleaning())
    assert one.tree is not None and one.tree.words() == WORDS and other.tree is None


def test_sentences_are_cleaned_as_the_corpus_was() -> None:
    assert _words("The Cat sat", lowercase=True) == [("the", "cat", "sat")]
    assert _words("The Cat sat") == [("The", "Cat", "sat")]
    assert _words(TREE, drop_traces=False) == [("the", "cat", "sat", "*T*", ".")]


def test_long_sentences_are_never_left_out() -> None:
    assert len(_words(["the cat sat .", "a b"], max_tokens=2)) == 2


def test_only_a_string_or_a_tree_is_a_single_sentence() -> None:
    assert is_single("the cat") and is_single(parse_tree(TREE))
    assert not is_single(["the cat"]) and not is_single([["the", "cat"]])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("", "sentence 1 has no words"),
        ("   ", "sentence 1 has no words"),
        ([], "sentence 1 has no words"),
        (["the cat", ""], "sentence 2 has no words"),
        (["the cat", []], "sentence 2 has no words"),
        (["the cat", "(S (-NONE- *T*))", "a"], "sentence 2 has no words"),
        ([["the", 3]], "3 is not a word"),
        ([["the", ""]], "'' is not a word"),
        ([["New York", "is"]], "'New York' is not a word"),
        ([["the", None]], "None is not a word"),
        ([[["the", "cat"]]], "is not a word"),
    ],
)
def test_what_is_no_sentence_is_named(given: Any, problem: str) -> None:
    with pytest.raises(GardenpathError, match=problem.replace("(", r"\(")):
        sentences_of_given(given, Cleaning())


def test_a_broken_tree_is_an_error() -> None:
    with pytest.raises(TreeError, match="never closed"):
        sentences_of_given("(S (NP the cat)", Cleaning())
