"""Models by family, modifiers from plain to complex."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.report.content import arranged, ranked
from gardenpath.eval.suites.library import modifier_orders

NAMES = st.sampled_from(["none", "adjective", "subject_rc", "object_rc", "toy", "pp"])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            ["adjective", "none", "object_rc", "subject_rc"],
            ["none", "adjective", "subject_rc", "object_rc"],
        ),
        (
            ["coordinated_rc", "embedded_rc", "none", "subject_rc"],
            ["none", "subject_rc", "coordinated_rc", "embedded_rc"],
        ),
        (
            ["adjunct", "complex_np", "object", "over_adjunct", "over_complex_np"],
            ["object", "adjunct", "over_adjunct", "complex_np", "over_complex_np"],
        ),
    ],
)
def test_modifiers_stand_as_the_materials_rank_them(found: list[str], expected: list[str]) -> None:
    assert ranked(found, modifier_orders()) == expected


def test_names_that_no_order_knows_stay_where_they_are() -> None:
    assert ranked(["toy", "b", "a"], [("a", "b")]) == ["toy", "a", "b"]
    assert ranked(["Subject RC", "none"], [("none", "subject_rc")]) == ["none", "Subject RC"]


def test_orders_that_contradict_each_other_end() -> None:
    assert sorted(ranked(["a", "b"], [("a", "b"), ("b", "a")])) == ["a", "b"]


@given(st.lists(NAMES), st.permutations(["none", "adjective", "subject_rc", "object_rc"]))
def test_every_name_comes_once_and_in_order(names: list[str], chain: list[str]) -> None:
    found = ranked(names, [tuple(chain)])
    assert sorted(found) == sorted(set(names))
    known = [name for name in found if name in chain]
    assert known == [name for name in chain if name in set(names)]


def test_rows_are_arranged_and_keep_their_numbers() -> None:
    rows = [
        ("c", "plm", "object_rc"),
        ("c", "lstm", "object_rc"),
        ("c", "plm", "none"),
        ("b", "lstm", "none"),
    ]
    table = pd.DataFrame(rows, columns=["corpus", "model", "modifier"], index=[7, 7, 8, 9])
    found = arranged(table, ["corpus", "model", "modifier"], [("none", "object_rc")])
    assert found.values.tolist() == [list(rows[place]) for place in (1, 2, 0, 3)]
    assert found.index.tolist() == [7, 8, 7, 9]
    assert arranged(table, [], ()).equals(table)
