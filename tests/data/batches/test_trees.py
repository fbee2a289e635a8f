"""Rounds of composition functions that read the stack: each thing after all it depends on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gardenpath.data.arrays import Ints
from gardenpath.data.batches.stack_plan import CONSTITUENT, StackPlan, plan_stacks
from gardenpath.data.batches.trees import (
    STEPS,
    TimedTreeBatch,
    cell_levels,
    in_rounds,
    timed_tree_collate,
)
from gardenpath.data.readers.treebanks import ToyTreebank
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.legality import Strategy
from tests.tree_samples import SHAPES, STRATEGIES, encode_letters, encode_trees


def slow_rounds(plan: StackPlan, sentence: int) -> tuple[list[tuple[int, int]], list[int]]:
    """The rounds and steps of elements, and the rounds of constituents, one after the other."""
    begin, end = (int(n) for n in plan.element_offsets[sentence : sentence + 2])
    composed: dict[int, int] = {}
    pushed: list[tuple[int, int]] = []
    for element in range(begin, end):
        number, below = int(plan.item[element]), int(plan.below[element])
        if plan.kind[element] == CONSTITUENT and number not in composed:
            composed[number] = len(composed) + 1
        now = len(composed)
        is_same = below >= 0 and pushed[below][0] == now
        pushed.append((now, pushed[below][1] + 1 if is_same else 0))
    return pushed, [composed[number] for number in range(len(composed))]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("has_pieces", [False, True])
def test_each_round_composes_one_constituent_of_each_sentence(
    strategy: Strategy, has_pieces: bool
) -> None:
    toy = Cleaning(pos_in_source="present").apply(
        ToyTreebank(grammar="english", train=20).read("train")
    )
    trees = [*SHAPES, *(sentence.tree for sentence in toy if sentence.tree)]
    split, vocabulary = (encode_letters if has_pieces else encode_trees)(trees)
    plan = in_rounds(plan_stacks(split, strategy, vocabulary.continuations))
    for sentence in range(len(split)):
        pushed, composed = slow_rounds(plan, sentence)
        begin, end = plan.element_offsets[sentence : sentence + 2]
        found = np.divmod(plan.depth[begin:end], STEPS)
        assert list(zip(*(part.tolist() for part in found), strict=True)) == pushed
        begin, end = plan.constituent_offsets[sentence : sentence + 2]
        assert plan.level[begin:end].tolist() == composed


def test_cells_wait_for_their_child_and_for_the_cell_before() -> None:
    chains = [[0], [3], [0, 0, 0], [2, 0, 0, 0], [0, 0, 4, 0, 5], [1, 2]]
    expected = [
        [(0, 0)], [(3, 0)], [(0, 0), (0, 0), (0, 1)], [(2, 0), (2, 0), (2, 1), (2, 2)],
        [(0, 0), (0, 0), (4, 0), (4, 1), (5, 0)], [(1, 0), (2, 0)],
    ]  # fmt: skip
    is_begin = np.array([place == 0 for chain in chains for place in range(len(chain))])
    levels = cell_levels(np.concatenate(chains), is_begin)
    assert [divmod(level, STEPS) for level in levels.tolist()] == [*itertools.chain(*expected)]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_everything_depends_on_what_is_there_already(strategy: Strategy) -> None:
    split, vocabulary = encode_trees([*SHAPES] * 3)
    labels = len(vocabulary.labels)
    batch = timed_tree_collate(split, strategy=strategy, label_count=labels)(np.arange(len(split)))
    composed, types = _numbers(batch.constituent_sizes), len(batch.word_types)
    step, stack = _numbers(batch.stack_sizes), _rounds(batch, "stack")
    assert (step[batch.stack_below] < step)[step > 0].all()
    assert (stack[batch.constituent_top] < composed).all()
    vector = batch.stack_vector.numpy() - types - labels
    is_composed = (vector >= 0) & (vector < len(composed))
    assert (composed[vector[is_composed]] <= stack[is_composed]).all()
    first = np.cumsum([0, *batch.constituent_sizes])[_numbers(batch.child_sizes)]
    owner = batch.child_constituent.numpy() + first
    for name in ("forward", "backward"):
        begins = _numbers(getattr(batch, f"{name}_begin_sizes"))
        cells = np.concatenate([begins, _rounds(batch, name)])
        number = getattr(batch, f"{name}_vector").numpy() - types
        assert (composed[number[number >= 0]] <= cells[number >= 0]).all()
        previous = getattr(batch, f"{name}_previous").numpy()
        assert (cells[previous] <= cells[len(begins) :]).all()
        step = np.concatenate([np.full(len(begins), -1), _numbers(getattr(batch, f"{name}_sizes"))])
        assert (step[previous] < step[len(begins) :]).all()
        read = getattr(batch, f"child_{name}").numpy()
        assert sorted(read.tolist()) == list(range(len(cells)))
        assert (cells[read] < composed[owner]).all()


def _numbers(sizes: tuple[int, ...]) -> Ints:
    return np.repeat(np.arange(len(sizes)), sizes)


def _rounds(batch: TimedTreeBatch, name: str) -> Ints:
    """The round of each row."""
    rounds: Ints = _numbers(getattr(batch, f"{name}_steps"))[
        _numbers(getattr(batch, f"{name}_sizes"))
    ]
    return rounds
