"""Trees: walks, equality, and rebuilding from events."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from gardenpath.data.trees.tree import CLOSE, Event, Open, Tree, Word, from_events
from tests.data.strategies import EXAMPLE, deep_tree, trees

# fmt: off
EXAMPLE_EVENTS: list[Event] = [
    Open("S"),
    Open("NP"), Open("DT"), Word("the"), CLOSE, Open("JJ"), Word("hungry"), CLOSE,
    Open("NN"), Word("cat"), CLOSE, CLOSE,
    Open("VP"), Open("VBZ"), Word("meows"), CLOSE, CLOSE,
    CLOSE,
]
# fmt: on


def test_events_of_example() -> None:
    assert list(EXAMPLE.events()) == EXAMPLE_EVENTS


def test_words_and_labels_of_example() -> None:
    assert EXAMPLE.words() == ("the", "hungry", "cat", "meows")
    assert list(EXAMPLE.labels()) == ["S", "NP", "DT", "JJ", "NN", "VP", "VBZ"]


def test_str_of_example() -> None:
    assert str(EXAMPLE) == "(S (NP (DT the) (JJ hungry) (NN cat)) (VP (VBZ meows)))"


def test_tree_is_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        EXAMPLE.label = "NP"  # type: ignore[misc]


def test_empty_constituent_is_refused() -> None:
    with pytest.raises(ValueError, match="'NP' has no children"):
        Tree("NP", ())


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (Tree("NN", ("cat",)), True),
        (Tree("NP", ("the", "cat")), False),
        (Tree("NP", (Tree("NN", ("cat",)),)), False),
    ],
)
def test_is_preterminal(tree: Tree, expected: bool) -> None:
    assert tree.is_preterminal is expected


@given(trees())
def test_from_events_inverts_events(tree: Tree) -> None:
    rebuilt = from_events(tree.events())
    assert rebuilt == tree
    assert hash(rebuilt) == hash(tree)


@given(trees(), trees())
def test_equal_trees_are_written_alike(one: Tree, other: Tree) -> None:
    assert (one == other) == (str(one) == str(other) and list(one.events()) == list(other.events()))


def test_a_word_is_not_a_tree() -> None:
    assert Tree("NN", ("cat",)) != "cat"
    assert Tree("NP", ("the", "cat")) != Tree("NP", ("cat", "the"))
    assert Tree("NP", ("cat",)) != Tree("NP", (Tree("NN", ("cat",)),))


@given(trees())
def test_fold_can_measure(tree: Tree) -> None:
    def count_words(_label: str, parts: tuple[int, ...]) -> int:
        return sum(parts)

    def recursive_height(node: Tree | str) -> int:
        if isinstance(node, str):
            return 0
        return 1 + max(recursive_height(child) for child in node.children)

    assert tree.fold(count_words, lambda _word: 1) == len(tree.words())
    assert tree.fold(lambda _label, parts: 1 + max(parts), lambda _word: 0) == recursive_height(
        tree
    )


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([CLOSE], "never opened"),
        ([Open("S"), Word("cat")], "exactly one tree"),
        ([Word("cat")], "exactly one tree"),
        ([], "exactly one tree"),
        ([Open("S"), Word("a"), CLOSE, Open("S"), Word("b"), CLOSE], "exactly one tree"),
        ([Open("S"), CLOSE], "no children"),
    ],
)
def test_from_events_refuses(events: list[Event], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        from_events(events)


def test_depth_is_no_problem() -> None:
    tree = deep_tree(5000)
    assert tree == deep_tree(5000)
    assert hash(tree) == hash(deep_tree(5000))
    assert (tree == deep_tree(4999)) is False
    assert tree.words() == ("cat",)
    assert len(list(tree.labels())) == 5000
    assert str(tree).count("(") == 5000
    assert (from_events(tree.events()) == tree) is True
