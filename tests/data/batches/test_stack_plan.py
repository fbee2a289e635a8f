"""The plan of a stack parser against a simulation that keeps a list of items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given

from gardenpath.data.batches.stack_plan import (
    CONSTITUENT,
    LABEL,
    START,
    WORD,
    StackPlan,
    plan_stacks,
)
from gardenpath.data.trees.legality import LEGAL_BIT, RULES, Kind, ParserState, Strategy, kind_of
from gardenpath.data.trees.tree import Close, Open, Tree, Word
from gardenpath.data.words.vocabulary import Vocabulary
from tests.data.strategies import bare_trees, deep_tree
from tests.tree_samples import SHAPES, STRATEGIES, actions_of, encode_trees


@dataclass
class Pushed:
    """An element of a naive stack."""

    kind: int
    item: int
    below: int
    depth: int


def simulate(
    tree: Tree, strategy: Strategy, vocabulary: Vocabulary
) -> tuple[list[Pushed], list[int]]:
    """All elements that are pushed, and the element on top before each action."""
    pushed: list[Pushed] = []
    stack: list[int] = []
    tops: list[int] = []
    words = constituents = 0
    open_numbers: list[int] = []

    def push(kind: int, item: int) -> None:
        pushed.append(Pushed(kind, item, stack[-1] if stack else -1, len(stack)))
        stack.append(len(pushed) - 1)

    push(START, 0)
    for action in actions_of(tree, strategy):
        tops.append(stack[-1])
        match action:
            case Word():
                push(WORD, words)
                words += 1
            case Open(label):
                first_child = pushed[stack.pop()] if strategy == "in_order" else None
                push(LABEL, vocabulary.label_ids[label])
                open_numbers.append(constituents)
                constituents += 1
                if first_child is not None:
                    push(first_child.kind, first_child.item)
            case Close():
                while pushed[stack[-1]].kind != LABEL:
                    stack.pop()
                stack.pop()
                push(CONSTITUENT, open_numbers.pop())
    return pushed, tops


def rows(offsets: np.ndarray, values: np.ndarray, sentence: int) -> list[int]:
    """The part of a flat array that belongs to a sentence."""
    return values[offsets[sentence] : offsets[sentence + 1]].tolist()  # type: ignore[no-any-return]


def assert_plan_is(
    plan: StackPlan, trees: list[Tree], strategy: Strategy, vocab: Vocabulary
) -> None:
    for number, tree in enumerate(trees):
        pushed, tops = simulate(tree, strategy, vocab)
        elements = plan.element_offsets
        assert rows(elements, plan.kind, number) == [p.kind for p in pushed]
        assert rows(elements, plan.item, number) == [p.item for p in pushed]
        assert rows(elements, plan.below, number) == [p.below for p in pushed]
        assert rows(elements, plan.depth, number) == [p.depth for p in pushed]
        assert rows(plan.action_offsets, plan.top, number) == tops


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_elements_are_those_of_a_list_based_stack(strategy: Strategy) -> None:
    trees = [*SHAPES, deep_tree(40)]
    split, vocabulary = encode_trees(trees)
    assert_plan_is(plan_stacks(split, strategy), trees, strategy, vocabulary)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(tree=bare_trees())
def test_elements_of_random_trees(strategy: Strategy, tree: Tree) -> None:
    trees = [SHAPES[0], tree]
    split, vocabulary = encode_trees(trees)
    assert_plan_is(plan_stacks(split, strategy), trees, strategy, vocabulary)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(tree=bare_trees())
def test_actions_and_legal_kinds_are_those_of_the_action_module(
    strategy: Strategy, tree: Tree
) -> None:
    split, vocabulary = encode_trees([tree])
    plan = plan_stacks(split, strategy)
    legal = RULES[strategy]
    state = ParserState()
    actions = actions_of(tree, strategy)
    assert len(plan.action) == len(actions)
    for planned, bits, action in zip(plan.action, plan.legal, actions, strict=True):
        kind = kind_of(action)
        expected = kind + vocabulary.label_ids[action.label] if isinstance(action, Open) else kind
        assert planned == expected
        assert bits == sum(LEGAL_BIT[allowed] for allowed in legal(state))
        assert bits & LEGAL_BIT[kind], "a gold action must be legal"
        state = state.apply(kind)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(tree=bare_trees())
def test_every_cell_waits_for_what_it_reads(strategy: Strategy, tree: Tree) -> None:
    split, _ = encode_trees([tree])
    plan = plan_stacks(split, strategy)
    first = np.concatenate([[0], np.cumsum(plan.size)])
    for number in range(len(plan.size)):
        children = range(first[number], first[number + 1])
        forward_before = 0
        for position, child in enumerate(children):
            is_word = plan.child_kind[child] == WORD
            ready = 0 if is_word else plan.level[plan.child_item[child]]
            assert plan.child_level[child] > max(ready, forward_before)
            assert plan.back_level[number] - position > ready
            forward_before = plan.child_level[child]
        assert plan.level[number] == max(forward_before, plan.back_level[number])


def test_a_sentence_is_planned_the_same_beside_others() -> None:
    alone, _ = encode_trees([SHAPES[6]])
    beside, _ = encode_trees([SHAPES[6], *SHAPES])
    plan_alone, plan_beside = plan_stacks(alone, "in_order"), plan_stacks(beside, "in_order")
    for name in ("kind", "below", "depth", "level", "size", "child_level"):
        expected = getattr(plan_alone, name)
        assert getattr(plan_beside, name)[: len(expected)].tolist() == expected.tolist()


def test_in_order_ends_with_finish() -> None:
    split, _ = encode_trees(SHAPES)
    plan = plan_stacks(split, "in_order")
    assert (plan.action[plan.action_offsets[1:] - 1] == Kind.FINISH).all()
