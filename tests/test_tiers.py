"""The tiers of tests: what is in the fast one, and what its processes share."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.tiers import built_once, in_turn, pairwise, slow_but_first, slow_unless


@pytest.mark.parametrize(
    "factors", [[range(10), [True, False], "abc"], [range(3), range(4)], ["ab"] * 6]
)
def test_every_pair_of_values_occurs(factors: list[Any]) -> None:
    found = pairwise(*factors)
    assert len(set(found)) == len(found) <= len(list(itertools.product(*factors)))
    for one, other in itertools.combinations(range(len(factors)), 2):
        pairs = {(case[one], case[other]) for case in found}
        assert pairs == set(itertools.product(factors[one], factors[other]))
    assert len(pairwise(*["ab"] * 6)) < 12, "of 64"


def test_columns_are_taken_in_turn() -> None:
    found = in_turn("abc", range(4), each=2)
    assert [row for row, _ in found] == list("aabbcc")
    assert [column for _, column in found] == [0, 1, 2, 3, 0, 1]


def test_some_cases_are_slow() -> None:
    def marks(cases: list[Any]) -> list[bool]:
        return [bool(getattr(case, "marks", ())) for case in cases]

    assert marks(slow_but_first([(1, 2), (3, 4), (5, 6)], fast=2)) == [False, False, True]
    assert slow_but_first([(1, 2), (3, 4)])[1].values == (3, 4)
    assert marks(slow_unless(str.isupper, ["a", "B"])) == [True, False]


def test_a_shared_folder_is_built_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    built = []

    def build(folder: Path) -> None:
        built.append(folder)
        (folder / "file").write_text("whole", encoding="utf-8")

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(built_once, tmp_path_factory, "tiers", build) for _ in range(8)]
    folders = {job.result() for job in jobs}
    assert built == [*folders] and (built[0] / "file").read_text(encoding="utf-8") == "whole"
