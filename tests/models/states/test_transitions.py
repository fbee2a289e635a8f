"""The table of legal actions on a device against the table itself."""

from __future__ import annotations

import pytest
import torch

from gardenpath.data.trees.legality import (
    LEGAL_BIT,
    NO_ACTION_YET,
    REDUCE_ENDS_AT,
    Column,
    Kind,
    Strategy,
    legal_table,
)
from gardenpath.models.search_states import (
    START_STATE,
    STATES_PER_KIND,
    ends_by_reduce,
    is_illegal,
    legal_state,
    state_bits,
    structural_columns,
)
from tests.tree_samples import STRATEGIES

CPU = torch.device("cpu")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("has_pieces", [False, True])
def test_states_are_rows_of_the_table(strategy: Strategy, has_pieces: bool) -> None:
    bits = state_bits(strategy, CPU, has_pieces=has_pieces).tolist()
    last = ends_by_reduce(strategy, CPU).tolist()
    table = legal_table(strategy, has_pieces=has_pieces)
    assert bits[START_STATE] == table[NO_ACTION_YET, 0]
    for kind in Kind:
        for opened in range(STATES_PER_KIND):
            state = legal_state(kind) + opened
            assert bits[state] == table[kind, min(opened, 2)]
            assert last[state] == (min(opened, 2) == REDUCE_ENDS_AT[strategy])


def test_kinds_that_are_not_among_the_bits_are_illegal() -> None:
    bits = torch.tensor([LEGAL_BIT[Kind.OPEN] | LEGAL_BIT[Kind.SHIFT], LEGAL_BIT[Kind.REDUCE], 0])
    assert is_illegal(bits, Kind.SHIFT).tolist() == [False, True, True]
    assert is_illegal(bits, Kind.REDUCE).tolist() == [True, False, True]


def test_structural_columns() -> None:
    is_open, is_close = structural_columns(2, CPU)
    assert is_close.nonzero().flatten().tolist() == [Column.CLOSE]
    assert is_open.nonzero().flatten().tolist() == [Column.FIRST_OPEN, Column.FIRST_OPEN + 1]
