"""Parses read back from hand-made beams, and round trips of random trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Floats
from gardenpath.data.trees.legality import FINISH, Action, Strategy
from gardenpath.data.trees.tree import CLOSE, Open, Tree, Word, format_tree, parse_tree
from gardenpath.eval.parsing import k_best, partial_parses
from gardenpath.eval.search.result import MEASURED, SearchFailure, SentenceResult, Step
from tests.data.strategies import bare_trees, deep_tree
from tests.tree_samples import SHAPES, STRATEGIES, actions_of

LABELS = ("S", "NP", "VP")
CAT = "(S (NP the hungry cat) (VP meows))"

# A survivor: its probability, its place in the beam before, the columns it took.
Survivor = tuple[float, int, Sequence[int]]


def make_result(
    *beams: Sequence[Survivor], failure: SearchFailure | None = None, empty: int = 1
) -> SentenceResult:
    """What a search would return that had found these beams, with some places left empty."""
    step: Step | None = None
    for beam in beams:
        steps = max(len(columns) for _, _, columns in beam) + 1
        trail = np.full((len(beam) + empty, steps), -1, dtype=np.int16)
        for place, (_, _, columns) in enumerate(beam):
            trail[place, : len(columns)] = columns
        score = np.log([*(share for share, _, _ in beam), *[1.0] * empty])
        score[len(beam) :] = -np.inf
        origin = np.array([*(origin for _, origin, _ in beam), *[0] * empty])
        step = Step(score, score, origin, trail, step)
    return SentenceResult(*numbers(len(beams)), step, failure)


def numbers(prefixes: int) -> tuple[Floats, Floats]:
    """What a search would have measured, of which parses know nothing."""
    return np.full((prefixes, 1), -1.0), np.zeros((prefixes, 1, MEASURED))


def columns_of(actions: Sequence[Action], labels: Sequence[str]) -> list[list[int]]:
    """The columns of a derivation before each word and the end."""
    found: list[list[int]] = [[]]
    for action in actions:
        if isinstance(action, Word):
            found.append([])
        elif isinstance(action, Open):
            found[-1].append(3 + labels.index(action.label))
        elif action is not FINISH:
            found[-1].append(2)
    return found


def result_of(tree: Tree, strategy: Strategy, labels: Sequence[str]) -> SentenceResult:
    """A search that found one tree."""
    columns = columns_of(actions_of(tree, strategy), labels)
    if strategy == "top_down":
        assert columns[-1].pop() == 2  # closing the root is the end
    return make_result(*([(1.0, 0, taken)] for taken in columns))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("tree", SHAPES, ids=str)
def test_shapes_come_back(tree: Tree, strategy: Strategy) -> None:
    labels = sorted(set(tree.labels()))
    result = result_of(tree, strategy, labels)
    assert k_best(result, tree.words(), labels=labels, strategy=strategy, k=3) == [(1.0, tree)]


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(tree=bare_trees())
def test_random_trees_come_back(strategy: Strategy, tree: Tree) -> None:
    labels = sorted(set(tree.labels()))
    result = result_of(tree, strategy, labels)
    assert k_best(result, tree.words(), labels=labels, strategy=strategy, k=1) == [(1.0, tree)]


def test_top_down_partial_parses_leave_constituents_open() -> None:
    result = result_of(parse_tree(CAT), "top_down", LABELS)
    words = ["the", "hungry", "cat", "meows"]
    found = partial_parses(result, words, labels=LABELS, strategy="top_down", k=2)
    assert found == [
        [(1.0, "(S (NP the")],
        [(1.0, "(S (NP the hungry")],
        [(1.0, "(S (NP the hungry cat")],
        [(1.0, "(S (NP the hungry cat) (VP meows")],
    ]


def test_in_order_partial_parses_show_pieces_side_by_side() -> None:
    result = result_of(parse_tree(CAT), "in_order", LABELS)
    words = ["the", "hungry", "cat", "meows"]
    found = partial_parses(result, words, labels=LABELS, strategy="in_order", k=1)
    assert [parses[0][1] for parses in found] == [
        "the",
        "(NP the hungry",
        "(NP the hungry cat",
        "(S (NP the hungry cat) meows",
    ]


def test_brackets_in_words_are_escaped() -> None:
    result = result_of(Tree("S", (Tree("NP", ("(",)), ")")), "top_down", LABELS)
    found = partial_parses(result, ["(", ")"], labels=LABELS, strategy="top_down", k=1)
    assert [parses[0][1] for parses in found] == ["(S (NP -LRB-", "(S (NP -LRB-) -RRB-"]


def ambiguous() -> SentenceResult:
    """Three survivors; at the second word two go on from the second of the first beam."""
    return make_result(
        [(0.6, 0, [3]), (0.2, 0, [3, 4])],
        [(0.3, 1, [2]), (0.1, 0, [5]), (0.1, 1, [])],
        [(0.12, 2, [2]), (0.06, 0, []), (0.02, 1, [2])],
    )


def test_survivors_are_followed_back_through_the_beams() -> None:
    found = k_best(ambiguous(), ["a", "b"], labels=LABELS, strategy="top_down", k=9)
    assert [format_tree(tree) for _, tree in found] == [
        "(S (NP a b))", "(S (NP a) b)", "(S a (VP b))",
    ]  # fmt: skip
    assert [share for share, _ in found] == pytest.approx([0.6, 0.3, 0.1])
    first = k_best(ambiguous(), ["a", "b"], labels=LABELS, strategy="top_down", k=1)
    assert first == found[:1]


def test_partial_parses_have_the_shares_of_their_beam() -> None:
    one, two = partial_parses(ambiguous(), ["a", "b"], labels=LABELS, strategy="top_down", k=2)
    assert [text for _, text in one] == ["(S a", "(S (NP a"]
    assert [share for share, _ in one] == pytest.approx([0.75, 0.25])
    assert [text for _, text in two] == ["(S (NP a) b", "(S a (VP b"]
    assert [share for share, _ in two] == pytest.approx([0.6, 0.2])


def test_equal_hypotheses_are_one_parse() -> None:
    result = make_result(
        [(0.4, 0, [3]), (0.3, 0, [3, 4]), (0.3, 0, [3, 4])],
        [(0.4, 0, []), (0.3, 2, [2]), (0.3, 1, [2])],
    )
    found = k_best(result, ["a"], labels=LABELS, strategy="top_down", k=5)
    assert [format_tree(tree) for _, tree in found] == ["(S (NP a))", "(S a)"]
    assert [share for share, _ in found] == pytest.approx([0.6, 0.4])
    (((share, text),),) = partial_parses(result, ["a"], labels=LABELS, strategy="top_down", k=1)
    assert share == pytest.approx(0.6)
    assert text == "(S (NP a"


def merged(tree: Tree, forms: list[str | None]) -> Tree | None:
    """The slow way: pieces replaced by words or nothing, then what is empty taken out."""
    kept: list[Tree | str] = []
    for child in tree.children:
        new = merged(child, forms) if isinstance(child, Tree) else forms.pop(0)
        kept += [] if new is None else [new]
    return Tree(tree.label, tuple(kept)) if kept else None


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(data=st.data(), tree=bare_trees())
def test_words_of_several_pieces_are_words(
    strategy: Strategy, data: st.DataObject, tree: Tree
) -> None:
    words = list(tree.words())
    lengths = data.draw(st.lists(st.integers(1, 3), min_size=len(words), max_size=len(words)))
    labels = sorted(set(tree.labels()))
    columns = columns_of(actions_of(tree, strategy), labels)
    if strategy == "top_down":
        columns[-1].pop()
    # No action stands inside a word.
    steps = [columns[0]]
    for length, before_next in zip(lengths, columns[1:], strict=True):
        steps += [[]] * (length - 1) + [before_next]
    starts = [piece == 0 for length in lengths for piece in range(length)]
    result = make_result(*([(1.0, 0, step)] for step in steps))
    options: dict[str, Any] = {"labels": labels, "strategy": strategy, "k": 1}
    assert k_best(result, words, starts_word=starts, **options) == [(1.0, tree)]
    whole = partial_parses(result_of(tree, strategy, labels), words, **options)
    assert partial_parses(result, words, starts_word=starts, **options) == whole


@given(data=st.data(), tree=bare_trees())
def test_words_stand_where_their_first_piece_is(data: st.DataObject, tree: Tree) -> None:
    strategy: Strategy = "top_down"
    pieces = len(tree.words())
    starts = [True, *data.draw(st.lists(st.booleans(), min_size=pieces - 1, max_size=pieces - 1))]
    words = [f"w{number}" for number in range(sum(starts))]
    remaining = iter(words)
    expected = merged(tree, [next(remaining) if start else None for start in starts])
    labels = sorted(set(tree.labels()))
    result = result_of(tree, strategy, labels)
    found = k_best(result, words, labels=labels, strategy=strategy, k=1, starts_word=starts)
    assert found == [(1.0, expected)]
    partial = partial_parses(
        result, words, labels=labels, strategy=strategy, k=1, starts_word=np.array(starts)
    )
    assert len(partial) == len(words)
    for number, ((_, text),) in enumerate(partial, start=1):
        leaves = [t.strip(")") for t in text.split() if not t.startswith("(")]
        assert leaves == words[:number]


def test_parses_that_differ_within_words_only_are_one() -> None:
    """Two pieces of a word, under one constituent or two, then another word."""
    result = make_result(
        [(0.5, 0, [3, 4]), (0.2, 0, [3])],
        [(0.3, 0, []), (0.2, 0, [5]), (0.1, 1, [])],
        [(0.3, 2, []), (0.25, 0, [2]), (0.2, 1, [2, 2])],
        [(0.3, 0, []), (0.25, 1, []), (0.2, 2, [])],
    )
    starts = [True, False, True]
    found = k_best(
        result, ["cats", "meow"], labels=LABELS, strategy="top_down", k=2, starts_word=starts
    )
    assert [format_tree(tree) for _, tree in found] == ["(S (NP cats) meow)", "(S cats meow)"]
    assert [share for share, _ in found] == pytest.approx([0.6, 0.4])
    ((first,), (second,)) = partial_parses(
        result, ["cats", "meow"], labels=LABELS, strategy="top_down", k=1, starts_word=starts
    )
    # After the last piece of the word, not after the first; what is open may yet be filled.
    assert first[0] == pytest.approx(0.5)
    assert first[1] == "(S (NP cats"
    assert second[0] == pytest.approx(0.6)
    assert second[1] == "(S (NP cats) meow"


def test_where_the_search_failed_there_is_nothing() -> None:
    lost = make_result([(1.0, 0, [3])], failure=SearchFailure(1, False, False))
    assert k_best(lost, ["a", "b"], labels=LABELS, strategy="top_down", k=1) == []
    found = partial_parses(lost, ["a", "b"], labels=LABELS, strategy="top_down", k=1)
    assert found == [[(1.0, "(S a")], []]
    at_once = SentenceResult(*numbers(0), None, SearchFailure(0, True, False))
    assert partial_parses(at_once, ["a"], labels=LABELS, strategy="top_down", k=1) == [[]]


def test_a_search_without_history_has_no_parses() -> None:
    result = SentenceResult(*numbers(2))
    with pytest.raises(ValueError, match="keeps_history"):
        k_best(result, ["a"], labels=LABELS, strategy="top_down", k=1)


@pytest.mark.parametrize(
    ("words", "starts"),
    [(["a", "b"], None), (["a"], [True, True]), (["a"], [False, True]), (["a"], [True, False])],
)
def test_words_of_another_sentence_are_refused(words: list[str], starts: list[bool] | None) -> None:
    result = result_of(parse_tree("(S a)"), "top_down", LABELS)
    with pytest.raises(ValueError, match="tokens"):
        k_best(result, words, labels=LABELS, strategy="top_down", k=1, starts_word=starts)


def test_columns_that_make_no_tree_are_refused() -> None:
    for strategy, columns in (("top_down", ([], [2, 2])), ("in_order", ([3], [])),
                              ("in_order", ([], []))):  # fmt: skip
        result = make_result(*([(1.0, 0, taken)] for taken in columns))
        with pytest.raises(ValueError, match=r"none is open|no first child|exactly one tree"):
            k_best(result, ["a"], labels=LABELS, strategy=strategy, k=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="k must be at least 1"):
        k_best(ambiguous(), ["a", "b"], labels=LABELS, strategy="top_down", k=0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_depth_is_no_limit(strategy: Strategy) -> None:
    tree = deep_tree(3000)
    labels = sorted(set(tree.labels()))
    result = result_of(tree, strategy, labels)
    assert k_best(result, ["cat"], labels=labels, strategy=strategy, k=1) == [(1.0, tree)]
    ((parse,),) = partial_parses(result, ["cat"], labels=labels, strategy=strategy, k=1)
    assert parse[1].count("(") == (3000 if strategy == "top_down" else 0)


def test_the_closing_action_is_the_one_of_the_trees() -> None:
    """The columns of the tests themselves are right: they are the actions of a derivation."""
    assert columns_of([Open("S"), Word("a"), CLOSE], LABELS) == [[3], [2]]


def test_the_best_of_sampled_parses_is_the_most_probable_and_not_the_heaviest() -> None:
    """Sampled hypotheses that survived by chance have equal weights."""
    cat, dog = ((3, 4), (3, 5))  # (S (NP and (S (VP
    trail = np.array([cat, dog, (-1, -1)], dtype=np.int16)
    weight = np.log([0.3, 0.3, 1.0])
    weight[2] = -np.inf
    joint = np.log([0.02, 0.3, 1.0])
    step = Step(weight, joint, np.zeros(3, dtype=np.int64), trail, None)
    assert step.shares().tolist() == pytest.approx([0.02 / 0.6, 0.5, 0.0])
    log_probs, measures = numbers(1)
    result = SentenceResult(log_probs, measures, step, SearchFailure(1, False, False))
    (found,) = partial_parses(result, ["the"], labels=LABELS, strategy="top_down", k=2)[:1]
    assert [parse for _, parse in found] == ["(S (VP the", "(S (NP the"]
    # Weights that are too low do not make shares above one.
    assert Step(weight, np.log([0.6, 0.6, 1.0]), step.origin, trail, None).shares().sum() <= 1.0
