"""The table of legal actions against its rules, and against derivations that are enumerated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from gardenpath.data.batches import stack_plan
from gardenpath.data.trees.actions import Kind, Strategy
from gardenpath.data.trees.legality import (
    LEGAL,
    LEGAL_BIT,
    RULES,
    ParserState,
)
from gardenpath.models.rnng import rnng_search
from gardenpath.models.states.transitions import LegalActions


def states(strategy: Strategy, steps: int = 7) -> Iterator[ParserState]:
    """All states of at most so many actions, by the rules."""
    frontier = {ParserState()}
    for _ in range(steps):
        yield from frontier
        frontier = {s.apply(kind) for s in frontier for kind in RULES[strategy](s)}


BOTH = pytest.mark.parametrize("strategy", RULES)


@BOTH
def test_old_numpy(strategy: Strategy) -> None:
    found = [s for s in states(strategy) if RULES[strategy](s)]
    sim = stack_plan._Simulation.__new__(stack_plan._Simulation)
    sim._in_order = strategy == "in_order"
    sim._last = np.array([-1 if s.last is None else int(s.last) for s in found])
    sim._opened = np.array([s.open_constituents for s in found])
    old = sim._legal(np.arange(len(found)))
    new = LEGAL[strategy][sim._last, np.minimum(sim._opened, 2)]
    assert len(found) > 10
    assert old.tolist() == new.tolist()


@BOTH
def test_old_rnng_search(strategy: Strategy) -> None:
    old, new = rnng_search._LegalBits(strategy), LegalActions(strategy, torch.device("cpu"))
    depth = torch.arange(-3, 9)
    assert old.at_start(depth).tolist() == new.at_start(depth).tolist()
    for kind in (Kind.SHIFT, Kind.REDUCE, Kind.OPEN):
        assert old.after(kind, depth).tolist() == new.after(kind, depth).tolist()
        each = torch.full_like(depth, int(kind))
        assert old.after(kind, depth).tolist() == new.after_each(each, depth).tolist()


def test_old_plm() -> None:
    """Old: close unless just opened or nothing open; a word unless nothing is open."""
    bits = LegalActions("top_down", torch.device("cpu"))
    depth = torch.arange(1, 9)
    for kind in (Kind.SHIFT, Kind.REDUCE, Kind.OPEN):
        may_close = torch.full_like(depth, kind is not Kind.OPEN).bool()
        found = bits.after(kind, depth)
        assert (found & LEGAL_BIT[Kind.REDUCE] > 0).tolist() == (may_close & (depth != 0)).tolist()
        assert (found & LEGAL_BIT[Kind.SHIFT] > 0).tolist() == (depth != 0).tolist()
        assert (found & LEGAL_BIT[Kind.OPEN] > 0).all()
    start = int(bits.at_start(depth)[0])
    assert start == LEGAL_BIT[Kind.OPEN]
