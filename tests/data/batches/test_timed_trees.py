"""Levels of composition functions that read the stack: each thing after all that it depends on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gardenpath.data.arrays import Ints
from gardenpath.data.batches.stack_plan import CONSTITUENT, WORD, StackPlan, plan_stacks
from gardenpath.data.batches.timed_tree_batches import levels_by_time, timed_tree_collate
from gardenpath.data.readers.toy import ToyTreebank
from gardenpath.data.trees.actions import Strategy
from gardenpath.data.trees.cleaning import Cleaning
from tests.tree_samples import SHAPES, STRATEGIES, encode_letters, encode_trees


def slow_levels(plan: StackPlan, sentence: int) -> tuple[list[int], list[int]]:
    """The levels of the elements and constituents of one sentence, one after the other."""
    first_element = int(plan.element_offsets[sentence])
    first, last = (int(n) for n in plan.constituent_offsets[sentence : sentence + 2])
    children = np.split(np.arange(len(plan.child_kind)), np.cumsum(plan.size))
    composed: dict[int, int] = {}
    pushed: list[int] = []
    for element in range(first_element, int(plan.element_offsets[sentence + 1])):
        below = int(plan.below[element])
        level = pushed[below] + 1 if below >= 0 else 0
        if plan.kind[element] == CONSTITUENT:
            number = int(plan.item[element])
            if number not in composed:
                known = [
                    0 if plan.child_kind[child] == WORD else composed[int(plan.child_item[child])]
                    for child in children[first + number]
                ]
                ends = [_chain(known)[-1], _chain(known[::-1])[-1], pushed[-1]]
                composed[number] = max(ends) + 1
            level = max(level, composed[number])
        pushed.append(level)
    return pushed, [composed[number] for number in range(last - first)]


def _chain(known: list[int]) -> list[int]:
    """The levels of cells that read children; the first two cells may share a level."""
    levels = [known[0]]
    for position, level in enumerate(known[1:]):
        levels.append(max(level, levels[-1] + (position > 0)))
    return levels


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("has_pieces", [False, True])
def test_levels_are_the_earliest_possible(strategy: Strategy, has_pieces: bool) -> None:
    toy = Cleaning(pos_in_source="present").apply(
        ToyTreebank(grammar="english", train=20).read("train")
    )
    trees = [*SHAPES, *(sentence.tree for sentence in toy if sentence.tree)]
    split, vocabulary = (encode_letters if has_pieces else encode_trees)(trees)
    plan = levels_by_time(plan_stacks(split, strategy, vocabulary.continuations))
    for sentence in range(len(split)):
        pushed, composed = slow_levels(plan, sentence)
        begin, end = plan.element_offsets[sentence : sentence + 2]
        assert plan.depth[begin:end].tolist() == pushed
        begin, end = plan.constituent_offsets[sentence : sentence + 2]
        assert plan.level[begin:end].tolist() == composed


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_everything_depends_on_what_is_there_already(strategy: Strategy) -> None:
    split, vocabulary = encode_trees([*SHAPES] * 3)
    labels = len(vocabulary.labels)
    batch = timed_tree_collate(split, strategy=strategy, label_count=labels)(np.arange(len(split)))
    stack, composed = _level(batch.stack_sizes), _level(batch.constituent_sizes)
    types = len(batch.word_types)
    assert (stack[batch.stack_below] < stack)[stack > 0].all()
    assert (stack[batch.constituent_top] < composed).all()
    vector = batch.stack_vector.numpy() - types - labels
    is_composed = (vector >= 0) & (vector < len(composed))
    assert (composed[vector[is_composed]] <= stack[is_composed]).all()
    owner = (
        batch.child_constituent.numpy()
        + np.cumsum([0, *batch.constituent_sizes])[_level(batch.child_sizes)]
    )
    for name in ("forward", "backward"):
        cells = _level(getattr(batch, f"{name}_sizes"))
        begins = _level(getattr(batch, f"{name}_begin_sizes"))
        level = np.concatenate([begins, cells])
        number = getattr(batch, f"{name}_vector").numpy() - types
        assert (composed[number[number >= 0]] <= level[number >= 0]).all()
        previous = getattr(batch, f"{name}_previous").numpy()
        assert (level[previous] + (previous >= len(begins)) <= cells).all()
        read = getattr(batch, f"child_{name}").numpy()
        assert sorted(read.tolist()) == list(range(len(level)))
        assert (level[read] < composed[owner]).all()


def _level(sizes: tuple[int, ...]) -> Ints:
    return np.repeat(np.arange(len(sizes)), sizes)


def test_long_constituents_hold_up_only_their_own_sentence() -> None:
    split, vocabulary = encode_trees(SHAPES)
    collate = timed_tree_collate(split, strategy="top_down", label_count=len(vocabulary.labels))
    together = collate(np.arange(len(split)))
    alone = [collate(np.array([number])) for number in range(len(split))]
    assert len(together.stack_sizes) == max(len(batch.stack_sizes) for batch in alone)
    by_level = itertools.zip_longest(*(batch.stack_sizes for batch in alone), fillvalue=0)
    assert together.stack_sizes == tuple(sum(sizes) for sizes in by_level)
