"""Actions: every tree comes back from each of its linearisations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given

from gardenpath.data.sentence import Sentence
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.legality import FINISH, Action, Kind, in_order, kind_of, top_down
from gardenpath.data.trees.tree import CLOSE, Open, Tree, Word, parse_tree
from tests.data import reference_trees
from tests.data.derivations import kinds, rebuild
from tests.data.strategies import deep_tree, trees


def nested(tree: Tree) -> object:
    """A tree as tuples, which are compared much faster."""

    def node(label: str, parts: tuple[object, ...]) -> object:
        return label, parts

    def leaf(word: str) -> object:
        return word

    return tree.fold(node, leaf)


def assert_comes_back(tree: Tree) -> None:
    assert (rebuild(top_down(tree), "top_down") == tree) is True
    assert (rebuild(in_order(tree), "in_order") == tree) is True


def test_running_example() -> None:
    tree = parse_tree("(S (NP the hungry cat) (VP meows))")
    the, hungry, cat, meows = map(Word, tree.words())
    s, np, vp = map(Open, ("S", "NP", "VP"))
    assert top_down(tree) == [s, np, the, hungry, cat, CLOSE, vp, meows, CLOSE, CLOSE]
    assert in_order(tree) == [
        *[the, np, hungry, cat, CLOSE],
        *[s, meows, vp, CLOSE, CLOSE, FINISH],
    ]


@given(trees())
def test_random_trees_come_back(tree: Tree) -> None:
    assert_comes_back(tree)


def test_depth_is_no_problem() -> None:
    assert_comes_back(deep_tree(5000))


def assert_all_come_back(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Send each tree through one linearisation after the other, and pass its sentence on."""
    for sentence in sentences:
        assert sentence.tree is not None
        tree = rebuild(top_down(sentence.tree), "top_down")
        tree = rebuild(in_order(tree), "in_order")
        assert nested(tree) == nested(sentence.tree)
        yield sentence


@pytest.mark.parametrize(("name", "size"), reference_trees.TREEBANKS.items())
def test_every_reference_tree_comes_back(reference_data: Path, name: str, size: int) -> None:
    """As annotated, and as cleaned."""
    annotated = assert_all_come_back(reference_trees.sentences(name, reference_data))
    assert sum(1 for _ in assert_all_come_back(Cleaning().apply(annotated))) == size


def test_kinds() -> None:
    actions: list[Action] = [Word("a"), Open("S"), CLOSE, FINISH]
    assert kinds(actions) == [Kind.SHIFT, Kind.OPEN, Kind.REDUCE, Kind.FINISH]
    assert kind_of(Open("NP")) == 3, "encoded actions add the label's number to this"
