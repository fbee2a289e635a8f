"""Models by family, modifiers from plain to complex."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.report.order import arranged, modifier_chains, ranked
from gardenpath.eval.statistics.questions.analysis import Analysis, load_analyses

ROOT = Path(__file__).parents[3]
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
def test_modifiers_stand_as_the_analyses_rank_them(found: list[str], expected: list[str]) -> None:
    chains = modifier_chains(load_analyses(ROOT / "conf" / "analysis"))
    assert ranked(found, chains) == expected


def test_orders_come_from_predictors_and_from_levels() -> None:
    derived = Analysis(
        name="a", title="A", formula="outcome ~ x",
        derive={"x": {"from": "modifier", "values": {"hard": 2, "easy": 1}},
                "y": {"from": "class", "values": {"b": 1, "a": 2}},
                "z": {"from": "modifier", "values": {"hard": "b", "easy": "a"}}},
    )  # fmt: skip
    coded = Analysis(
        name="b", title="B", codings={"modifier": {"kind": "sum", "levels": ["q", "p"]}}
    )
    assert modifier_chains([derived, coded])[1:] == (("easy", "hard"), ("q", "p"))


def test_names_that_no_order_knows_stay_where_they_are() -> None:
    assert ranked(["toy", "b", "a"], [("a", "b")]) == ["toy", "a", "b"]
    assert ranked(["Subject RC", "none"], [("none", "subject_rc")]) == ["none", "Subject RC"]


def test_orders_that_contradict_each_other_end() -> None:
    assert sorted(ranked(["a", "b"], [("a", "b"), ("b", "a")])) == ["a", "b"]


@given(st.lists(NAMES), st.permutations(["none", "adjective", "subject_rc", "object_rc"]))
def test_every_name_comes_once_and_in_order(names: list[str], chain: list[str]) -> None:
    found = ranked(names, [chain])
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
