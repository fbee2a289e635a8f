"""Computed cells beside published ones."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from gardenpath.studies.compared import ComparedPart, compared_parts
from gardenpath.studies.study import Evidence, StudyCell, StudyPart
from tests.eval.studies.small_study import SMALL, data

pytestmark = pytest.mark.usefixtures("small_values")


def _compared(**sources: dict[str, list[float]]) -> dict[str, ComparedPart]:
    evidence = [Evidence(data(outcomes, source)) for source, outcomes in sources.items()]
    return {one.part.number: one for one in compared_parts(SMALL.result(evidence))}


def test_cells_are_compared_with_the_values_of_their_place() -> None:
    table = _compared(files={"lstm": [1, 1, 1, 0], "ngram": [1, 0]})["Table 1"]
    by_row = {one.cell.row: one for one in table.cells}
    assert (by_row["lstm"].agrees, by_row["ngram"].agrees) == (True, False)
    assert by_row["ngram"].difference == pytest.approx(0.1)
    assert table.counts("files") == (1, 2)
    # The paper's order, and its cells that were not computed.
    assert table.rows_of("") == ["ngram", "lstm", "rnng"]
    assert by_row["rnng"].agrees is None and math.isnan(by_row["rnng"].difference)
    assert table.shown(by_row["rnng"].cell) == "–"
    frame = table.frame()
    assert dict(zip(frame["row"], frame["printed"], strict=True)) == {
        "lstm": "0.75", "ngram": "0.40", "rnng": "0.90",
    }  # fmt: skip


def test_figures_have_no_cells_for_published_values_alone() -> None:
    figure = _compared(files={"rnng": [1, 0]})["Figure 1"]
    assert figure.rows_of("") == ["rnng"] and figure.counts("files") == (0, 0)


def test_figures_without_cells_have_the_published_values() -> None:
    (figure, *_) = compared_parts(SMALL.result([]))
    assert [(one.cell.row, one.agrees) for one in figure.cells] == [("lstm", None)]


@pytest.mark.parametrize(
    ("outcomes", "agrees", "interval_agrees"),
    # 1.96 · 0.5 / √4 = .49; with twice the items the mean is the same and the interval is not.
    [([1, 1, 1, 0], True, True), ([1, 1, 1, 0] * 2, True, False), ([1], False, None)],
)
def test_intervals_are_compared_apart(
    outcomes: list[float], agrees: bool, interval_agrees: bool | None
) -> None:
    figure = _compared(files={"lstm": outcomes})["Figure 1"]
    (one,) = figure.cells
    assert (one.agrees, one.interval_agrees) == (agrees, interval_agrees)
    assert figure.frame()["interval_agrees"].tolist() == [interval_agrees]


def test_remarks_name_the_cells_of_a_note() -> None:
    table = _compared(files={"lstm": [1, 1, 1, 0], "ngram": [1, 0], "new": [1]})["Table 1"]
    cells = [replace(one.cell, note="ties") for one in table.cells if one.cell.row != "rnng"]
    table = ComparedPart(replace(table.part, cells=cells), table.published)
    assert table.remarks(differing=True) == ["ngram of files, mean accuracy: ties"]
    (remark,) = table.remarks(differing=False)
    assert remark.startswith("lstm of files, mean accuracy; ngram of files, mean accuracy; new")


def test_sources_are_counted_apart() -> None:
    table = _compared(files={"lstm": [1, 1, 1, 0]}, runs={"lstm": [1, 0], "new": [1]})["Table 1"]
    assert table.sources == ("files", "runs")
    assert (table.counts("files"), table.counts("runs")) == ((1, 1), (0, 1))
    assert table.rows_of("") == ["ngram", "lstm", "rnng", "new"]


def test_shown_numbers_have_the_digits_of_the_part() -> None:
    part = ComparedPart(
        StudyPart(number="T", title="t", digits=2), compared_parts(SMALL.result([]))[0].published
    )
    cell = StudyCell(source="s", row="r", column="c", value=-0.126, low=-0.2, high=-0.05)
    assert part.shown(cell) == "−0.13 ± 0.08"
    starred = StudyCell(source="s", row="r", column="c", value=0.5, stars="**")
    assert part.shown(starred) == "0.50**"
    assert part.shown(StudyCell(source="s", row="r", column="c", value=7, text="7K")) == "7K"
    assert part.label("some_key") == "some key"
