"""The same is done once."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.search.protocol import distinct

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=12)


@given(PAIRS)
def test_each_pair_is_there_once_in_the_order_of_its_first_row(
    pairs: list[tuple[int, int]],
) -> None:
    nodes, events = torch.tensor(pairs, dtype=torch.long).view(-1, 2).unbind(1)
    some_nodes, some_events, row = distinct(nodes, events)
    found = list(zip(some_nodes.tolist(), some_events.tolist(), strict=True))
    assert found == list(dict.fromkeys(pairs))
    assert [found[place] for place in row.tolist()] == pairs


def test_numbers_may_be_large() -> None:
    nodes, events = torch.tensor([2**30, 2**30, 1]), torch.tensor([2**31, 5, 5])
    some_nodes, some_events, row = distinct(nodes, events)
    assert some_nodes.tolist() == nodes.tolist() and some_events.tolist() == events.tolist()
    assert row.tolist() == [0, 1, 2]
