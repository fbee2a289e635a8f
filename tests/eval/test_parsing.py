"""Bracketing scores against hand-worked examples and a slow matcher."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.trees.cleaning import drop_pos
from gardenpath.data.trees.legality import FINISH, Action, Strategy
from gardenpath.data.trees.tree import CLOSE, Open, Tree, Word, format_tree, parse_tree
from gardenpath.errors import GardenpathError
from gardenpath.eval.parsing import (
    PUNCTUATION,
    BracketCounts,
    Bracketing,
    Conventions,
    WordsDifferError,
    best_shares_of,
    bracketing,
    brackets,
    compare_trees,
    convergence,
    convergence_table,
    k_best,
    mass_rows,
    mean_best_share,
    partial_parses,
    widened,
)
from gardenpath.eval.search.result import BEST_JOINT, MEASURED, SearchFailure, SentenceResult, Step
from gardenpath.eval.search.settings import WordSync
from tests.data.strategies import EXAMPLE, bare_trees, deep_tree, tagged_trees
from tests.tree_samples import SHAPES, STRATEGIES, actions_of

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


# ----------------------------------------------------------------------------
# Diagnostics of searches, on numbers worked out by hand.


SETTINGS = WordSync(action_beam=10, word_beam=3, fast_track=2, max_open=7, marginal="candidates")


def bits(*values: float) -> Floats:
    return -np.array(values) * math.log(2)


def rendered(table: Table) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(table)
    return out.getvalue()


def test_beams_grow_and_nothing_else() -> None:
    wide = widened(SETTINGS, 4)
    assert (wide.action_beam, wide.word_beam, wide.fast_track) == (40, 12, 2)
    assert (wide.max_open, wide.marginal) == (7, "candidates")
    assert widened(SETTINGS, 1) == SETTINGS
    assert widened(SETTINGS, 4).margin_bits is None
    assert widened(replace(SETTINGS, margin_bits=7.0), 2).margin_bits == 14.0


def test_changes_are_against_the_beam_before() -> None:
    scores = {
        10: [bits(1, 2, 3), bits(4, 5)],
        20: [bits(1, 1.5, 3), bits(4, 4)],
        40: [bits(1, 1.5, 3), bits(4.25, 4)],
    }
    asked = []

    def score(settings: WordSync) -> list[Floats]:
        asked.append(settings)
        return scores[settings.action_beam]

    first, second, third = convergence(score, SETTINGS)
    assert asked == [widened(SETTINGS, factor) for factor in (1, 2, 4)]
    assert (first.max_change_bits, first.mean_change_bits, first.sentence) == (None, None, None)
    assert first.mean_surprisal_bits == pytest.approx(3)
    assert (first.events, first.failed) == (5, 0)
    assert second.max_change_bits == pytest.approx(1)
    assert second.mean_change_bits == pytest.approx(1.5 / 5)
    assert (second.sentence, second.word) == (2, 2)
    assert third.max_change_bits == pytest.approx(0.25)
    assert (third.sentence, third.word) == (2, 1)
    assert (third.action_beam, third.word_beam, third.factor) == (40, 12, 4)


def test_words_that_were_not_reached_take_no_part() -> None:
    scores = iter([[bits(1, math.nan, math.nan)], [bits(3, 2, math.nan)]])
    first, second = convergence(lambda _: next(scores), SETTINGS, factors=(1, 2))
    assert (first.failed, second.failed) == (2, 1)
    assert first.mean_surprisal_bits == pytest.approx(1)
    assert (second.max_change_bits, second.mean_change_bits) == (2, 2)


def test_nothing_reached_is_not_a_number() -> None:
    for nothing in ([bits(math.nan)], []):
        _, second = convergence(lambda _, found=nothing: found, SETTINGS, factors=(1, 2))  # type: ignore[misc]
        assert math.isnan(second.mean_surprisal_bits)
        assert second.max_change_bits is not None
        assert math.isnan(second.max_change_bits)


def test_searches_of_other_sentences_are_refused() -> None:
    scores = iter([[bits(1, 2)], [bits(1)]])
    with pytest.raises(ValueError, match="different sentences"):
        convergence(lambda _: next(scores), SETTINGS)


def make_split(*sentences: list[bool]) -> EncodedSplit:
    starts = [start for sentence in sentences for start in sentence]
    return EncodedSplit(
        tokens=np.zeros(len(starts), dtype=np.int32),
        starts_word=np.array(starts, dtype=bool),
        offsets=np.cumsum([0, *map(len, sentences)]),
        actions=np.zeros(0, dtype=np.int32),
        action_offsets=np.zeros(len(sentences) + 1, dtype=np.int64),
    )


def make_result(*shares: float, failure: SearchFailure | None = None) -> SentenceResult:
    log_probs = np.full((len(shares), 1), -1.0)
    measures = np.zeros((len(shares), 1, MEASURED))
    # The log probability of the best analysis, and a total of one.
    measures[:, 0, BEST_JOINT] = np.log(shares)
    return SentenceResult(log_probs, measures, failure=failure)


def test_shares_are_those_after_the_last_piece() -> None:
    split = make_split([True], [True, False, True, True, False, False])
    result = make_result(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    assert best_shares_of(result, split, 1).tolist() == [0.2, 0.3, 0.6, 0.7]
    assert best_shares_of(make_result(0.5, 1.0), split, 0).tolist() == [0.5, 1.0]


def test_shares_end_where_the_search_failed() -> None:
    split = make_split([True, False, True])
    result = make_result(0.1, 0.2, failure=SearchFailure(2, False, False))
    np.testing.assert_array_equal(best_shares_of(result, split, 0), [0.2, np.nan, np.nan])


def test_mass_has_a_row_for_each_word_and_end() -> None:
    split = make_split([True, True], [True])
    failed = make_result(failure=SearchFailure(0, True, False))
    sentences = [["a", "[red]b"], ["c"]]
    results = [make_result(0.5, 0.25, 0.75), failed]
    shares = [best_shares_of(one, split, n).tolist() for n, one in enumerate(results)]
    rows = mass_rows(sentences, shares)
    assert [(r.sentence, r.word_id, r.word) for r in rows] == [
        (1, 1, "a"), (1, 2, "[red]b"), (1, 3, None), (2, 1, "c"), (2, 2, None),
    ]  # fmt: skip
    assert mean_best_share(rows) == pytest.approx(0.5)
    assert math.isnan(mean_best_share(rows[3:]))


def test_the_table_shows_sizes_and_changes() -> None:
    scores = iter([[bits(1, 2)], [bits(1, 1.5)], [bits(math.nan, math.nan)]])
    text = rendered(convergence_table(convergence(lambda _: next(scores), SETTINGS)))
    lines = [line for line in text.splitlines() if "×" in line]
    assert len(lines) == 3
    assert "0.5000" in lines[1]
    assert "1:2" in lines[1]
    assert "2/2" in lines[2]


# ----------------------------------------------------------------------------
# Parses read back from hand-made beams, and round trips of random trees.


LABELS = ("S", "NP", "VP")
CAT = "(S (NP the hungry cat) (VP meows))"

# A survivor: its probability, its place in the beam before, the columns it took.
Survivor = tuple[float, int, Sequence[int]]


def make_result_parses(
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
    return make_result_parses(*([(1.0, 0, taken)] for taken in columns))


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
    return make_result_parses(
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
    result = make_result_parses(
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
    result = make_result_parses(*([(1.0, 0, step)] for step in steps))
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
    result = make_result_parses(
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
    lost = make_result_parses([(1.0, 0, [3])], failure=SearchFailure(1, False, False))
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
        result = make_result_parses(*([(1.0, 0, taken)] for taken in columns))
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
