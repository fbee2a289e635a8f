"""Actions: every tree comes back from each of its linearisations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given

from gardenpath.data.sentence import Sentence
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.legality import (
    BEGINS_BIT,
    CONTINUES_BIT,
    FINISH,
    KINDS,
    LEGAL,
    LEGAL_BIT,
    LEGAL_PIECES,
    MOST_OPEN,
    NO_ACTION_YET,
    OPENS_AT_END,
    REDUCE_ENDS_AT,
    RULES,
    Action,
    Kind,
    ParserState,
    Rules,
    Strategy,
    in_order,
    kind_of,
    legal_in_order,
    legal_table,
    legal_top_down,
    top_down,
)
from gardenpath.data.trees.tree import CLOSE, Open, Tree, Word, parse_tree
from tests import tree_samples as reference_trees
from tests.data.strategies import deep_tree, trees
from tests.tree_samples import STRATEGIES, actions_of, all_trees, kinds, rebuild


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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), reference_trees.TREEBANKS.items())
def test_every_reference_tree_comes_back(reference_data: Path, name: str, size: int) -> None:
    """As annotated, and as cleaned."""
    annotated = assert_all_come_back(reference_trees.sentences(name, reference_data))
    assert sum(1 for _ in assert_all_come_back(Cleaning().apply(annotated))) == size


def test_kinds() -> None:
    actions: list[Action] = [Word("a"), Open("S"), CLOSE, FINISH]
    assert kinds(actions) == [Kind.SHIFT, Kind.OPEN, Kind.REDUCE, Kind.FINISH]
    assert kind_of(Open("NP")) == 3, "encoded actions add the label's number to this"


# ----------------------------------------------------------------------------
# What may come next: every step of every tree, and nothing else; the table says the same.


BOTH = pytest.mark.parametrize("strategy", STRATEGIES)

SHIFT, REDUCE, OPEN = Kind.SHIFT, Kind.REDUCE, Kind.OPEN


# ---- The table


def steps_of_all_trees(strategy: Strategy) -> Iterator[tuple[int, int, list[Kind]]]:
    """Place of an action, open constituents before it, and the derivation, for all small trees."""
    for tree in chain.from_iterable(all_trees(words, 4) for words in (1, 2, 3, 4)):
        derivation, opened = kinds(actions_of(tree, strategy)), 0
        for place, kind in enumerate(derivation):
            yield place, opened, derivation
            opened += (kind is OPEN) - (kind is REDUCE)
        assert opened == 0


@BOTH
def test_the_table_allows_what_follows_in_some_tree_and_nothing_else(strategy: Strategy) -> None:
    seen: dict[tuple[int, int], int] = defaultdict(int)
    for place, opened, derivation in steps_of_all_trees(strategy):
        last = int(derivation[place - 1]) if place else NO_ACTION_YET
        seen[last, min(opened, MOST_OPEN)] |= LEGAL_BIT[derivation[place]]
    assert len(seen) >= 7
    for (last, opened), bits in seen.items():
        assert LEGAL[strategy][last, opened] == bits
    # What no tree comes to is either the end or out of reach.
    ends = {(int(Kind.FINISH), 0), (int(REDUCE), 0)}
    assert all(LEGAL[strategy][state] == 0 for state in ends - set(seen))


@BOTH
def test_the_table_is_that_of_the_rules_at_any_depth(strategy: Strategy) -> None:
    for last in (*Kind, None):
        for opened in range(9):
            expected = sum(LEGAL_BIT[kind] for kind in RULES[strategy](ParserState(opened, last)))
            row = NO_ACTION_YET if last is None else last
            assert LEGAL[strategy][row, min(opened, MOST_OPEN)] == expected


@BOTH
def test_what_follows_from_the_table_holds_in_all_trees(strategy: Strategy) -> None:
    found, opens_at_end, ends = set(), False, set()
    for place, opened, derivation in steps_of_all_trees(strategy):
        kind = derivation[place]
        found.add(kind)
        opens_at_end |= kind is OPEN and SHIFT not in derivation[place:]
        if kind is REDUCE and place == len(derivation) - 1:
            ends.add(opened)
    assert set(KINDS[strategy]) == found and list(KINDS[strategy]) == sorted(found)
    assert OPENS_AT_END[strategy] == opens_at_end
    assert ends == ({REDUCE_ENDS_AT[strategy]} - {None})


@BOTH
def test_no_action_stands_inside_a_word_and_nothing_else_is_excluded(strategy: Strategy) -> None:
    # The same as above with words of one piece and of two: what follows in some tree, by kind, and
    # whether a piece begins a word or continues it.
    seen: dict[tuple[int, int], int] = defaultdict(int)
    for tree in chain.from_iterable(all_trees(words, 4) for words in (1, 2, 3, 4)):
        for length in (1, 2):
            last, opened = NO_ACTION_YET, 0
            for kind in kinds(actions_of(tree, strategy)):
                for piece in range(length if kind is SHIFT else 1):
                    bits = LEGAL_BIT[kind]
                    if kind is SHIFT:
                        bits |= CONTINUES_BIT if piece else BEGINS_BIT
                    seen[last, min(opened, MOST_OPEN)] |= bits
                    last = int(kind)
                opened += (kind is OPEN) - (kind is REDUCE)
    for (last, opened), bits in seen.items():
        assert legal_table(strategy, has_pieces=True)[last, opened] == bits
    assert legal_table(strategy, has_pieces=False) is LEGAL[strategy]
    # An in-order derivation begins with a word, of any number of pieces.
    alone = LEGAL_PIECES[strategy][SHIFT, 0]
    assert (alone & BEGINS_BIT, alone & CONTINUES_BIT) == (
        0, CONTINUES_BIT if strategy == "in_order" else 0,
    )  # fmt: skip


def test_an_opening_bracket_may_come_anywhere_top_down() -> None:
    """The PLM relies on it: opening brackets are never left out of its softmax."""
    for place, opened, derivation in steps_of_all_trees("top_down"):
        last = int(derivation[place - 1]) if place else NO_ACTION_YET
        assert LEGAL["top_down"][last, min(opened, MOST_OPEN)] & LEGAL_BIT[OPEN]


# ---- What is right is legal


def assert_all_legal(tree: Tree, strategy: Strategy, words_left: int | None) -> None:
    legal = RULES[strategy]
    state = ParserState(words_left=words_left)
    for kind in kinds(actions_of(tree, strategy)):
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


@pytest.mark.slow
@pytest.mark.parametrize("name", reference_trees.TREEBANKS)
def test_every_short_reference_tree_is_legal(reference_data: Path, name: str) -> None:
    shapes = set()
    for sentence in Cleaning().apply(reference_trees.sentences(name, reference_data)):
        assert sentence.tree is not None
        shape = tuple(kinds(actions_of(sentence.tree, "top_down")))
        if len(sentence.words) <= 12 and shape not in shapes:
            shapes.add(shape)
            for strategy in STRATEGIES:
                assert_all_legal(sentence.tree, strategy, words_left=len(sentence.words))
    assert len(shapes) > 300


# ---- What is wrong is not


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
    legal: Rules, state: ParserState, *, words: int, constituents: int
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
    legal = RULES[strategy]
    state = ParserState(words_left=words)
    found = list(derivations(legal, state, words=words, constituents=constituents))
    expected = list(all_trees(words, constituents))
    assert len(expected) > 5
    assert len(found) == len(expected)
    assert {rebuild(labelled(sequence), strategy) for sequence in found} == set(expected)
    assert sorted(found) == sorted(kinds(actions_of(tree, strategy)) for tree in expected)


@BOTH
def test_legal_generations_are_the_trees_of_any_length(strategy: Strategy) -> None:
    legal = RULES[strategy]
    found = derivations(legal, ParserState(), words=3, constituents=4)
    expected = chain.from_iterable(all_trees(words, 4) for words in (1, 2, 3))
    assert sorted(found) == sorted(kinds(actions_of(tree, strategy)) for tree in expected)


def reachable(legal: Rules, words: int, steps: int) -> Iterator[list[Kind]]:
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
    legal = RULES[strategy]
    for beginning in reachable(legal, words, steps=7):
        sequence, state = list(beginning), state_after(beginning, words)
        while allowed := legal(state):
            assert len(sequence) < len(beginning) + 20
            preferred = (Kind.FINISH, SHIFT, REDUCE, OPEN)
            sequence.append(next(kind for kind in preferred if kind in allowed))
            state = state.apply(sequence[-1])
        assert rebuild(labelled(sequence), strategy).words() == ("w",) * words
