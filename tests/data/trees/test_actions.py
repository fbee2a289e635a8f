"""Actions: every tree comes back, every step of it is legal, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given

from gardenpath.data.sentence import Sentence
from gardenpath.data.trees.actions import (
    FINISH,
    Action,
    Kind,
    bracket_tokens,
    from_bracket_tokens,
    from_in_order,
    from_top_down,
    in_order,
    kind_of,
    kinds,
    top_down,
)
from gardenpath.data.trees.brackets import parse_tree
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.legality import ParserState, legal_in_order, legal_top_down
from gardenpath.data.trees.tree import CLOSE, Open, Tree, Word
from tests.data import reference_trees
from tests.data.strategies import deep_tree, trees

Legal = Callable[[ParserState], frozenset[Kind]]
Linearise = Callable[[Tree], list[Action]]
Rebuild = Callable[[Sequence[Action]], Tree]
Strategy = tuple[Linearise, Rebuild, Legal]

TOP_DOWN: Strategy = (top_down, from_top_down, legal_top_down)
IN_ORDER: Strategy = (in_order, from_in_order, legal_in_order)
BOTH = pytest.mark.parametrize("strategy", [TOP_DOWN, IN_ORDER], ids=["top-down", "in-order"])

SHIFT, REDUCE, OPEN = Kind.SHIFT, Kind.REDUCE, Kind.OPEN


# ---- Round trips


def nested(tree: Tree) -> object:
    """A tree as tuples, which are compared much faster."""

    def node(label: str, parts: tuple[object, ...]) -> object:
        return label, parts

    def leaf(word: str) -> object:
        return word

    return tree.fold(node, leaf)


def assert_comes_back(tree: Tree) -> None:
    assert from_top_down(top_down(tree)) == tree
    assert from_in_order(in_order(tree)) == tree
    assert from_bracket_tokens(bracket_tokens(tree)) == tree


def test_running_example() -> None:
    tree = parse_tree("(S (NP the hungry cat) (VP meows))")
    the, hungry, cat, meows = map(Word, tree.words())
    s, np, vp = map(Open, ("S", "NP", "VP"))
    assert top_down(tree) == [s, np, the, hungry, cat, CLOSE, vp, meows, CLOSE, CLOSE]
    assert in_order(tree) == [
        *[the, np, hungry, cat, CLOSE],
        *[s, meows, vp, CLOSE, CLOSE, FINISH],
    ]
    assert " ".join(bracket_tokens(tree)) == "(S (NP the hungry cat ) (VP meows ) )"


@given(trees())
def test_random_trees_come_back(tree: Tree) -> None:
    assert_comes_back(tree)


def test_brackets_as_words_stay_words() -> None:
    tree = Tree("PRN", ("(", Tree("NN", ("(x",)), ")"))
    assert bracket_tokens(tree) == ["(PRN", "-LRB-", "(NN", "-LRB-x", ")", "-RRB-", ")"]
    assert_comes_back(tree)


def test_depth_is_no_problem() -> None:
    tree = deep_tree(5000)
    assert (from_in_order(in_order(tree)) == tree) is True
    assert (from_top_down(top_down(tree)) == tree) is True
    assert (from_bracket_tokens(bracket_tokens(tree)) == tree) is True


@pytest.mark.parametrize(
    ("actions", "problem"),
    [
        ([Open("S"), Word("a"), CLOSE], "no first child"),
        ([Word("a"), CLOSE], "without an open constituent"),
        ([Word("a"), FINISH], "exactly one tree"),
        ([Word("a"), Open("S"), FINISH], "exactly one tree"),
        ([Word("a"), Open("S"), CLOSE, Word("b"), FINISH], "exactly one tree"),
        ([], "exactly one tree"),
    ],
)
def test_broken_in_order_sequences(actions: list[Action], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        from_in_order(actions)


@pytest.mark.parametrize(
    "actions", [[Open("S"), CLOSE], [Word("a")], [Open("S"), Word("a")], [CLOSE], []]
)
def test_broken_top_down_sequences(actions: list[Action]) -> None:
    with pytest.raises(ValueError, match=r"no children|exactly one tree|never opened"):
        from_top_down(actions)


def test_kinds() -> None:
    actions: list[Action] = [Word("a"), Open("S"), CLOSE, FINISH]
    assert kinds(actions) == [SHIFT, OPEN, REDUCE, Kind.FINISH]
    assert kind_of(Open("NP")) == 3, "encoded actions add the label's number to this"


# ---- Legality of what is right


def assert_all_legal(tree: Tree, strategy: Strategy, words_left: int | None) -> None:
    linearise, _, legal = strategy
    state = ParserState(words_left=words_left)
    for kind in kinds(linearise(tree)):
        assert kind in legal(state)
        state = state.apply(kind)
    assert not legal(state)
    assert state.open_constituents == 0


@BOTH
@given(tree=trees())
def test_every_step_of_a_tree_is_legal(strategy: Strategy, tree: Tree) -> None:
    assert_all_legal(tree, strategy, words_left=len(tree.words()))
    # Top-down, a model that generates may stop at once when the root is closed; in-order it says
    # so itself. Either way the same steps are legal as with the words given.
    assert_all_legal(tree, strategy, words_left=None)


def assert_all_come_back(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Send each tree through one linearisation after the other, and pass its sentence on."""
    for sentence in sentences:
        assert sentence.tree is not None
        tree = from_top_down(top_down(sentence.tree))
        tree = from_in_order(in_order(tree))
        tree = from_bracket_tokens(bracket_tokens(tree))
        assert nested(tree) == nested(sentence.tree)
        yield sentence


@pytest.mark.parametrize(("name", "size"), reference_trees.TREEBANKS.items())
def test_every_reference_tree(reference_data: Path, name: str, size: int) -> None:
    """Each comes back, as annotated and as cleaned; each shape of up to 12 words is legal."""
    annotated = assert_all_come_back(reference_trees.sentences(name, reference_data))
    cleaned = assert_all_come_back(Cleaning().apply(annotated))
    count, shapes = 0, set()
    for count, sentence in enumerate(cleaned, start=1):  # noqa: B007
        assert sentence.tree is not None
        shape = tuple(kinds(top_down(sentence.tree)))
        if len(sentence.words) <= 12 and shape not in shapes:
            shapes.add(shape)
            for strategy in (TOP_DOWN, IN_ORDER):
                assert_all_legal(sentence.tree, strategy, words_left=len(sentence.words))
    assert count == size
    assert len(shapes) > 300


# ---- Legality of what is wrong


def state_after(done: list[Kind], words_left: int | None) -> ParserState:
    state = ParserState(words_left=words_left)
    for kind in done:
        state = state.apply(kind)
    return state


@pytest.mark.parametrize(
    ("done", "words", "expected"),
    [
        ([], 2, {OPEN}),  # a word alone is no tree
        ([OPEN], 2, {OPEN, SHIFT}),  # a constituent must not be empty
        ([OPEN, SHIFT], 2, {OPEN, SHIFT}),  # the root must not close before the last word
        ([OPEN, SHIFT], None, {OPEN, SHIFT, REDUCE}),
        ([OPEN, OPEN, SHIFT], 2, {OPEN, SHIFT, REDUCE}),
        ([OPEN, OPEN, SHIFT, REDUCE], 2, {OPEN, SHIFT}),
        ([OPEN, SHIFT, SHIFT], 2, {REDUCE}),  # no words, so no constituents either
        ([OPEN, OPEN, SHIFT, SHIFT], 2, {REDUCE}),
        ([OPEN, SHIFT, REDUCE], 1, set()),
        ([OPEN, SHIFT, REDUCE], None, set()),
    ],
)
def test_legal_top_down(done: list[Kind], words: int | None, expected: set[Kind]) -> None:
    assert legal_top_down(state_after(done, words)) == expected


@pytest.mark.parametrize(
    ("done", "words", "expected"),
    [
        ([], 2, {SHIFT}),  # everything needs a first child
        ([SHIFT], 2, {OPEN}),  # two words cannot stand side by side without a parent
        ([SHIFT], 1, {OPEN}),  # a word alone is no tree
        ([SHIFT, OPEN], 2, {SHIFT, REDUCE}),  # the child of two new parents at once: no
        ([SHIFT, OPEN], 1, {REDUCE}),
        ([SHIFT, OPEN, SHIFT], 2, {OPEN, REDUCE}),
        ([SHIFT, OPEN, SHIFT], 3, {OPEN, REDUCE, SHIFT}),
        ([SHIFT, OPEN, REDUCE], 2, {OPEN}),  # words are left, so the root is not complete
        ([SHIFT, OPEN, REDUCE], 1, {OPEN, Kind.FINISH}),
        ([SHIFT, OPEN, REDUCE], None, {OPEN, Kind.FINISH}),
        ([SHIFT, OPEN, REDUCE, Kind.FINISH], 1, set()),
    ],
)
def test_legal_in_order(done: list[Kind], words: int | None, expected: set[Kind]) -> None:
    assert legal_in_order(state_after(done, words)) == expected


# ---- Small scale, exhaustively


def derivations(
    legal: Legal, state: ParserState, *, words: int, constituents: int
) -> Iterator[list[Kind]]:
    """All complete legal sequences with at most so many words and constituents."""
    allowed = legal(state)
    if not allowed:
        yield []
    for kind in allowed:
        words_then = words - (kind is SHIFT)
        constituents_then = constituents - (kind is OPEN)
        if words_then >= 0 and constituents_then >= 0:
            after = state.apply(kind)
            for rest in derivations(legal, after, words=words_then, constituents=constituents_then):
                yield [kind, *rest]


def forests(words: int, constituents: int) -> Iterator[tuple[Tree | str, ...]]:
    """All sequences of words and trees with exactly so many words and constituents."""
    if words == 0:
        if constituents == 0:
            yield ()
        return
    for rest in forests(words - 1, constituents):
        yield ("w", *rest)
    for inner_words in range(1, words + 1):
        for inner in range(constituents):
            for children in forests(inner_words, inner):
                for rest in forests(words - inner_words, constituents - inner - 1):
                    yield (Tree("X", children), *rest)


def all_trees(words: int, constituents: int) -> Iterator[Tree]:
    """All unlabelled trees with so many words and at most so many constituents."""
    for count in range(constituents):
        yield from (Tree("X", children) for children in forests(words, count))


def labelled(sequence: list[Kind]) -> list[Action]:
    actions: dict[Kind, Action] = {
        SHIFT: Word("w"),
        REDUCE: CLOSE,
        OPEN: Open("X"),
        Kind.FINISH: FINISH,
    }
    return [actions[kind] for kind in sequence]


@BOTH
@pytest.mark.parametrize(("words", "constituents"), [(1, 6), (2, 5), (3, 4), (4, 4)])
def test_legal_derivations_are_the_trees(strategy: Strategy, words: int, constituents: int) -> None:
    linearise, rebuild, legal = strategy
    state = ParserState(words_left=words)
    found = list(derivations(legal, state, words=words, constituents=constituents))
    expected = list(all_trees(words, constituents))
    assert len(expected) > 5
    assert len(found) == len(expected)
    assert {rebuild(labelled(sequence)) for sequence in found} == set(expected)
    assert sorted(found) == sorted(kinds(linearise(tree)) for tree in expected)


@BOTH
def test_legal_generations_are_the_trees_of_any_length(strategy: Strategy) -> None:
    linearise, _, legal = strategy
    found = derivations(legal, ParserState(), words=3, constituents=4)
    expected = chain.from_iterable(all_trees(words, 4) for words in (1, 2, 3))
    assert sorted(found) == sorted(kinds(linearise(tree)) for tree in expected)


def reachable(legal: Legal, words: int, steps: int) -> Iterator[list[Kind]]:
    """All legal beginnings, complete or not, of at most so many steps."""
    beginnings: list[list[Kind]] = [[]]
    for _ in range(steps + 1):
        yield from beginnings
        beginnings = [
            [*done, kind] for done in beginnings for kind in legal(state_after(done, words))
        ]


@BOTH
@pytest.mark.parametrize("words", [1, 2, 3])
def test_there_are_no_dead_ends(strategy: Strategy, words: int) -> None:
    """From everywhere: read what is left, close what is open, open only where nothing else is."""
    _, rebuild, legal = strategy
    for beginning in reachable(legal, words, steps=7):
        sequence, state = list(beginning), state_after(beginning, words)
        while allowed := legal(state):
            assert len(sequence) < len(beginning) + 20
            preferred = (Kind.FINISH, SHIFT, REDUCE, OPEN)
            sequence.append(next(kind for kind in preferred if kind in allowed))
            state = state.apply(sequence[-1])
        assert rebuild(labelled(sequence)).words() == ("w",) * words
