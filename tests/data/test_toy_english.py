"""The toy English grammar: unambiguous, with dependencies that are real and frequent enough.

Each pair of sentences below differs in one dependency. Under the exact model the good sentence has
a finite surprisal throughout; the bad one becomes infinitely surprising, at the marked word where
the difference is local, and anywhere (at the latest at its end) where it is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from gardenpath.data.pcfg.exact import ExactModel
from gardenpath.data.pcfg.grammar import Grammar, Sampler, read_grammar
from gardenpath.data.trees.tree import Tree
from tests.data.pcfg_tools import (
    SHIPPED,
    assert_one_tree_each,
    expected_length,
    expected_word_counts,
    shape,
    subtrees,
)

REFLEXIVES = {"himself", "herself", "themselves"}

# A star stands before the critical word: what is good there, and what is not.
CRITICAL_WORDS = [
    # agreement in number: plain, after a prepositional phrase, after relative clauses, embedded
    ("the kings * are happy .", "is"),
    ("the king * was tired .", "were"),
    ("the senators near the judge * are famous .", "is"),
    ("the letter beside the paintings * has disappeared .", "have"),
    ("the guide that admired the sailors * sleeps .", "sleep"),
    ("the nurses that the lawyer hated * were tired .", "was"),
    ("the books that the teacher found * are new .", "is"),
    ("the author that * loves the aunt slept .", "love"),
    ("the queen said that the waiters * laugh .", "laughs"),
    ("the brothers believed that the doctor * smiles .", "smile"),
    # reflexives: the local subject licenses, a distractor does not
    ("the women hurt * themselves .", "herself"),
    ("the duke embarrassed * himself .", "herself"),
    ("the actress near the kings blamed * herself .", "themselves"),
    ("the women near the king hurt * themselves .", "himself"),
    ("the women that hated the king hurt * themselves .", "himself"),
    ("the prince that the aunts admired injured * himself .", "themselves"),
    ("the king said that the women hurt * themselves .", "himself"),
    ("the daughters thought that the uncle praised * himself .", "themselves"),
    ("the senator that the farmers helped hurt * himself .", "themselves"),
    # centre embedding: each verb belongs to its own noun
    ("the painting that the artist * painted faded .", "faded"),
    ("the ship that the sailor that the storm * frightened steered sank .", "steered"),
    ("the ship that the sailor that the storm frightened * steered sank .", "sank"),
    ("the cake that the waiter that the fire worried * baked burned .", "burned"),
    ("the letter that the nurse that the flood annoyed wrote * arrived .", "."),
    # a filler needs a gap, a gap needs a filler
    ("i know what the guide found * near the lake .", "the"),
    ("i know that the guide found * the coin near the lake .", "near"),
    ("i know what the man said that the guide found * .", "the"),
    ("you wonder who the nurse helped * in the garden .", "him"),
    ("it was the coin that the guide found * .", "the"),
    ("the portrait , the tourist noticed * .", "her"),
    ("the book is easy to * read .", "eat"),
    # verbs with and without an object
    ("the boy slept * .", "the"),
    ("the girl admired * the dancer .", "."),
    ("the mother gave the son * the apple .", "."),
    # an initial subordinate clause needs a main clause
    ("after the judge left * , the lawyers laughed .", "."),
    ("because the soldiers helped the farmer * , the farmer smiled .", "."),
]

GOOD = [
    "i know who found the coin .",
    "i know what the dukes gave to the librarian .",
    "i know that the man left after the guide found the coin near the lake .",
    "i know that the man heard the report that the guide found the coin .",
    "the report that the guide found the coin surprised the king .",
    "the report that the guide heard surprised the king .",
    "while the man hunted the deer ran .",
    "while the man hunted , the deer ran .",
    "while the man hunted the deer , the guide slept .",
    "while the grandmother slept the deer ran .",
    "the horse raced past the barn fell .",
    "the horse that was raced past the barn fell .",
    "the horse raced past the barn .",
    "the queen sent the letter left .",
    "the queen who was given the letter left .",
    "the queen sent the letter to the duke .",
    "it was the king that hurt himself .",
    "the queens are easy to please .",
]

BAD = [
    # islands: no gap in an adjunct, a complex noun phrase, a relative clause, a question
    "i know what the man left after the guide found near the lake .",
    "i know what the man saw the aunt after the guide found .",
    "i know what the man heard the report that the guide found .",
    "i know what the report that the guide found surprised the king .",
    "i know what the man saw the aunt that found .",
    "i know what the man knew who found .",
    "i know that the man left after the guide found near the lake .",
    # no main verb, a verb too many, a verb too few
    "the horse that was raced past the barn .",
    "the queen given the letter .",
    "while the man hunted the deer .",
    "the boys slept laughed .",
    "the ship that the sailor that the storm frightened sank .",
]

Test = Callable[[Tree], bool]


@cache
def grammar() -> Grammar:
    return read_grammar(SHIPPED / "english.pcfg")


@cache
def model() -> ExactModel:
    return ExactModel(grammar())


@cache
def sample() -> tuple[Tree, ...]:
    sampler = Sampler(grammar(), seed=11)
    return tuple(sampler.draw() for _ in range(2000))


def test_size() -> None:
    assert 250 <= len(grammar().words) <= 400
    assert all(word == word.lower() for word in grammar().words)
    assert len(grammar().categories) < 400
    assert 9.0 <= expected_length(grammar()) <= 12.0


def test_lengths_have_a_short_tail() -> None:
    lengths = [len(tree.words()) for tree in sample()]
    assert np.quantile(lengths, 0.99) < 35
    assert max(lengths) > 25


def test_every_sentence_has_one_tree() -> None:
    assert_one_tree_each(grammar(), model(), seed=12, count=300)


def test_sentences_end_in_a_period_and_hide_writing_aids() -> None:
    for tree in sample():
        assert tree.label == "S"
        assert tree.words()[-1] == "."
        assert not any(label.startswith("_") or not label for label in tree.labels())


@pytest.mark.parametrize(("marked", "bad_word"), CRITICAL_WORDS)
def test_critical_word(marked: str, bad_word: str) -> None:
    before, after = (part.split() for part in marked.split("*"))
    good, bad = [*before, *after], [*before, bad_word, *after[1:]]
    assert set(good) | set(bad) <= set(grammar().words)
    of_good, of_bad = model().surprisal_bits([good, bad])
    assert np.isfinite(of_good).all()
    assert np.isfinite(of_bad[: len(before)]).all()
    assert of_bad[len(before)] == math.inf


@pytest.mark.parametrize("sentence", GOOD)
def test_good_sentence(sentence: str) -> None:
    assert math.isfinite(model().log_probs([sentence.split()])[0])


@pytest.mark.parametrize("sentence", BAD)
def test_bad_sentence(sentence: str) -> None:
    assert set(sentence.split()) <= set(grammar().words)
    assert model().log_probs([sentence.split()])[0] == -math.inf


def surprisal_of_last(prefix: str) -> float:
    words = prefix.split()
    return float(model().surprisal_bits([words])[0][len(words) - 1])


@pytest.mark.parametrize(
    ("ambiguous", "clear"),
    [
        ("while the man hunted the deer ran", "while the man hunted , the deer ran"),
        ("while the man hunted the deer ran", "while the man slept the deer ran"),
        ("the horse raced past the barn fell", "the horse that was raced past the barn fell"),
        ("the queen sent the letter left", "the queen given the letter left"),
        ("the queen sent the letter left", "the queen who was sent the letter left"),
    ],
)
def test_garden_paths_cost_something(ambiguous: str, clear: str) -> None:
    assert surprisal_of_last(ambiguous) > surprisal_of_last(clear) + 0.5


def test_professions_have_a_preferred_pronoun() -> None:
    assert surprisal_of_last("the doctor hurt herself") > surprisal_of_last(
        "the doctor hurt himself"
    )
    assert surprisal_of_last("the nurse hurt himself") > surprisal_of_last("the nurse hurt herself")


def child(node: Tree, number: int) -> Tree:
    result = node.children[number]
    assert isinstance(result, Tree)
    return result


def is_relative(node: Tree) -> bool:
    return node.label == "NP" and shape(node) == ("NP", "SBAR") and is_wh(child(node, 1))


def is_wh(sbar: Tree) -> bool:
    return shape(sbar) == ("WHNP", "S")


def is_object_relative(node: Tree) -> bool:
    return is_relative(node) and shape(child(child(node, 1), 1)) == ("NP", "VP")


def is_centre_embedded(node: Tree) -> bool:
    """An object relative whose subject has an object relative."""
    return is_object_relative(node) and is_object_relative(child(child(child(node, 1), 1), 0))


def is_complement(node: Tree) -> bool:
    return node.label == "VP" and shape(node)[-1:] == ("SBAR",) and first(child(node, -1)) == "that"


def first(node: Tree) -> str:
    return node.words()[0]


def is_question(node: Tree) -> bool:
    return node.label == "VP" and shape(node)[1:] == ("SBAR",) and is_wh(child(node, 1))


def is_complex_np(node: Tree) -> bool:
    return node.label == "NP" and shape(node) == ("NP", "SBAR") and not is_relative(node)


def is_reduced_relative(node: Tree) -> bool:
    return node.label == "NP" and shape(node) == ("NP", "VP")


def is_tough(node: Tree) -> bool:
    return node.label == "ADJP" and shape(node) == ("JJ", "VP")


def somewhere(test: Test) -> Test:
    return lambda tree: any(test(node) for node in subtrees(tree))


def is_initial_subordination(tree: Tree) -> bool:
    return shape(tree)[0] == "SBAR"


FREQUENCIES: list[tuple[str, Test, float]] = [
    ("reflexive", lambda tree: bool(REFLEXIVES & set(tree.words())), 0.12),
    ("relative clause", somewhere(is_relative), 0.25),
    ("centre embedding", somewhere(is_centre_embedded), 0.015),
    ("that-clause", somewhere(is_complement), 0.12),
    ("embedded question", somewhere(is_question), 0.08),
    ("complex noun phrase", somewhere(is_complex_np), 0.015),
    ("initial subordination", is_initial_subordination, 0.10),
    ("no comma", lambda tree: shape(tree)[:2] == ("SBAR", "NP"), 0.015),
    ("reduced relative", somewhere(is_reduced_relative), 0.015),
    ("cleft", lambda tree: first(tree) == "it", 0.015),
    ("topicalisation", lambda tree: shape(tree)[:2] == ("NP", "COMMA"), 0.015),
    ("tough", somewhere(is_tough), 0.015),
]


@pytest.mark.parametrize(("name", "test", "least"), FREQUENCIES, ids=[f[0] for f in FREQUENCIES])
def test_phenomenon_is_frequent(name: str, test: Test, least: float) -> None:
    assert sum(map(test, sample())) / len(sample()) >= least, name


def test_words_are_not_rare() -> None:
    """Each word is expected at least 15 times in 8,000 sentences."""
    assert min(expected_word_counts(grammar()).values()) * 8000 >= 15
