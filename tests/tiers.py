"""Two tiers of tests, and what all processes of a test run share.

``make test`` runs the fast tier: all tests without the mark ``slow``. ``make test-all`` runs every
test. A test is slow if it needs more than about two seconds, unless it is the smoke test of its
kind of long job; of a test with many cases that take long together, the first stays fast.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

WORKER = "PYTEST_XDIST_WORKER"


def slow_but_first(cases: Iterable[Any], *, fast: int = 1) -> list[Any]:
    """Cases of a parametrised test, of which only the first few are in the fast tier."""
    return [case if n < fast else _slow(case) for n, case in enumerate(cases)]


def slow_unless(is_fast: Callable[[Any], bool], cases: Iterable[Any]) -> list[Any]:
    """Cases of a parametrised test, of which only some are in the fast tier."""
    return [case if is_fast(case) else _slow(case) for case in cases]


def _slow(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)


def built_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Path:
    """A folder that the first process of a test run that asks for it fills; the others wait.

    Tests may read it, and write what tests in other processes cannot be disturbed by.
    """
    base = factory.getbasetemp()
    folder = (base.parent if WORKER in os.environ else base) / f"shared_{name}"
    with FileLock(folder.with_suffix(".lock")):
        finished = folder / ".built"
        if not finished.exists():
            folder.mkdir(exist_ok=True)
            build(folder)
            finished.touch()
    return folder


def pairwise(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations with every pair of values of any two factors, far fewer than all of them."""
    choices = list(itertools.product(*(range(len(factor)) for factor in factors)))
    missing = {pair for choice in choices for pair in _pairs(choice)}
    found = []
    while missing:
        best = max(choices, key=lambda choice: sum(pair in missing for pair in _pairs(choice)))
        missing.difference_update(_pairs(best))
        found.append(tuple(factor[place] for factor, place in zip(factors, best, strict=True)))
    return found


def _pairs(choice: tuple[int, ...]) -> list[tuple[tuple[int, int], ...]]:
    return list(itertools.combinations(enumerate(choice), 2))


def in_turn(rows: Sequence[Any], columns: Sequence[Any], *, each: int) -> list[tuple[Any, Any]]:
    """Every row with a few columns, so that all columns are taken about equally often."""
    turns = itertools.cycle(columns)
    return [(row, next(turns)) for row in rows for _ in range(each)]
