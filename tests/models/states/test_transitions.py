"""The table of legal actions on a device against the table itself."""

from __future__ import annotations

import pytest
import torch

from gardenpath.data.trees.actions import Column, Kind, Strategy
from gardenpath.data.trees.legality import KINDS, LEGAL, LEGAL_BIT, NO_ACTION_YET, REDUCE_ENDS_AT
from gardenpath.models.states.transitions import LegalActions, is_illegal, structural_columns
from tests.integration.launches import Launches
from tests.tree_samples import STRATEGIES

CPU = torch.device("cpu")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_bits_are_those_of_the_table(strategy: Strategy) -> None:
    legal, depth = LegalActions(strategy, CPU), torch.tensor([0, 1, 2, 3, 50])
    assert legal.at_start(depth).tolist() == [LEGAL[strategy][NO_ACTION_YET, 0]] * 5
    for kind in KINDS[strategy]:
        expected = [LEGAL[strategy][kind, min(int(d), 2)] for d in depth]
        assert legal.after(kind, depth).tolist() == expected
        assert legal.after_each(torch.full_like(depth, int(kind)), depth).tolist() == expected
    last = torch.tensor([Kind.OPEN, Kind.SHIFT, Kind.REDUCE, Kind.OPEN, Kind.REDUCE])
    mixed = [legal.after(Kind(int(k)), d[None]).item() for k, d in zip(last, depth, strict=True)]
    assert legal.after_each(last, depth).tolist() == mixed


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_without_a_hypothesis_may_have_any_depth(strategy: Strategy) -> None:
    legal, depth = LegalActions(strategy, CPU), torch.tensor([-7, -1])
    assert legal.after(Kind.REDUCE, depth).tolist() == [LEGAL[strategy][Kind.REDUCE, 0]] * 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_looking_up_launches_little_and_never_waits(strategy: Strategy) -> None:
    legal, depth = LegalActions(strategy, CPU), torch.tensor([0, 1, 2, 3])
    with Launches() as launches:
        legal.at_start(depth)
        legal.after(Kind.SHIFT, depth)
    operators, waits = launches.counts()
    assert operators <= 2 and waits == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_last_reduce(strategy: Strategy) -> None:
    found = LegalActions(strategy, CPU).is_last_reduce(torch.arange(-1, 4)).tolist()
    assert found == [depth == REDUCE_ENDS_AT[strategy] for depth in range(-1, 4)]


def test_kinds_that_are_not_among_the_bits_are_illegal() -> None:
    bits = torch.tensor([LEGAL_BIT[Kind.OPEN] | LEGAL_BIT[Kind.SHIFT], LEGAL_BIT[Kind.REDUCE], 0])
    assert is_illegal(bits, Kind.SHIFT).tolist() == [False, True, True]
    assert is_illegal(bits, Kind.REDUCE).tolist() == [True, False, True]


def test_structural_columns() -> None:
    is_open, is_close = structural_columns(2, CPU)
    assert is_close.nonzero().flatten().tolist() == [Column.CLOSE]
    assert is_open.nonzero().flatten().tolist() == [Column.FIRST_OPEN, Column.FIRST_OPEN + 1]
