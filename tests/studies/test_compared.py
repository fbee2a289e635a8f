"""Computed cells beside published ones."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.errors import InputError
from gardenpath.studies import compared as module
from gardenpath.studies.compared import ComparedPart, PublishedValue, compared_parts, published_part
from gardenpath.studies.compared import published_values as read_values
from gardenpath.studies.replicate import STUDIES, study_spec
from gardenpath.studies.study import Evidence, StudyCell, StudyPart
from tests.studies.small_study import SMALL, data


def _compared(**sources: dict[str, list[float]]) -> dict[str, ComparedPart]:
    evidence = [Evidence(data(outcomes, source)) for source, outcomes in sources.items()]
    return {one.part.number: one for one in compared_parts(SMALL.result(evidence))}


@pytest.mark.usefixtures("small_values")
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


@pytest.mark.usefixtures("small_values")
def test_figures_have_no_cells_for_published_values_alone() -> None:
    figure = _compared(files={"rnng": [1, 0]})["Figure 1"]
    assert figure.rows_of("") == ["rnng"] and figure.counts("files") == (0, 0)


@pytest.mark.usefixtures("small_values")
def test_figures_without_cells_have_the_published_values() -> None:
    (figure, *_) = compared_parts(SMALL.result([]))
    assert [(one.cell.row, one.agrees) for one in figure.cells] == [("lstm", None)]


@pytest.mark.usefixtures("small_values")
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


@pytest.mark.usefixtures("small_values")
def test_remarks_name_the_cells_of_a_note() -> None:
    table = _compared(files={"lstm": [1, 1, 1, 0], "ngram": [1, 0], "new": [1]})["Table 1"]
    cells = [replace(one.cell, note="ties") for one in table.cells if one.cell.row != "rnng"]
    table = ComparedPart(replace(table.part, cells=cells), table.published)
    assert table.remarks(differing=True) == ["ngram of files, mean accuracy: ties"]
    (remark,) = table.remarks(differing=False)
    assert remark.startswith("lstm of files, mean accuracy; ngram of files, mean accuracy; new")


@pytest.mark.usefixtures("small_values")
def test_sources_are_counted_apart() -> None:
    table = _compared(files={"lstm": [1, 1, 1, 0]}, runs={"lstm": [1, 0], "new": [1]})["Table 1"]
    assert table.sources == ("files", "runs")
    assert (table.counts("files"), table.counts("runs")) == ((1, 1), (0, 1))
    assert table.rows_of("") == ["ngram", "lstm", "rnng", "new"]


@pytest.mark.usefixtures("small_values")
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


# ----------------------------------------------------------------------------
# Published values: how they are written, and when a computed value agrees with them.


def _cell(value: float = math.nan, text: str = "", stars: str | None = None) -> StudyCell:
    return StudyCell(source="s", row="r", column="c", value=value, text=text, stars=stars)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "VALUES", tmp_path)
    read_values.cache_clear()
    return tmp_path / "one.yaml"


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("0.33", (0.33, math.nan, None, 3, "0.330")),
        ("7", (7.0, math.nan, None, 3, "7.000")),
        (".45 ± .073", (0.45, 0.073, None, 2, ".45 ± .073")),
        ("'-.910 ± .250'", (-0.91, 0.25, None, 3, "-.910 ± .250")),
        ("'−0.06*'", (-0.06, math.nan, "*", 2, "−0.06*")),
        ("'-0.3***'", (-0.3, math.nan, "***", 1, "-0.3***")),
        ("974K", (math.nan, math.nan, None, 0, "974K")),
        ("✓**", (math.nan, math.nan, None, 0, "✓**")),
    ],
)
def test_numbers_half_widths_and_stars_are_read(
    written: Path, given_text: str, expected: tuple[float, float, str | None, int, str]
) -> None:
    written.write_text(f"Table 1:\n  columns: [a]\n  printed:\n    r: [{given_text}]\n", "utf-8")
    value = published_part("one", "Table 1").values["printed"]["", "r", "a"]
    numbers = (value.value, value.reach, value.stars, value.digits, value.text)
    assert repr(numbers) == repr(expected)  # NaN equals NaN in print


def test_panels_group_rows_and_null_is_no_value(written: Path) -> None:
    written.write_text(
        "Figure 1:\n  columns: [a, b]\n  released:\n    up: {r: [1, null]}\n    down: {r: [2, 3]}\n"
        "  printed:\n    q: [null, 4]\n",
        "utf-8",
    )
    part = published_part("one", "Figure 1")
    assert part.places == (("", "q", "b"), ("up", "r", "a"), ("down", "r", "a"), ("down", "r", "b"))
    assert part.columns == ["a", "b"]
    compared = ComparedPart(StudyPart(number="Figure 1", title=""), part)
    assert [compared.rows_of(panel) for panel in ("up", "", "left")] == [["r"], ["q"], []]
    assert published_part("one", "Figure 2").places == ()


def test_a_row_with_another_number_of_values_is_refused(written: Path) -> None:
    written.write_text("Table 1:\n  columns: [a, b]\n  printed:\n    r: [1]\n", "utf-8")
    with pytest.raises(InputError, match="Table 1, r: 1 values for 2 columns"):
        published_part("one", "Table 1")


@pytest.mark.parametrize(
    ("value", "agrees"),
    [(0.7449, True), (0.735, True), (0.7499, True), (0.7501, False), (0.734, False)],
)
def test_rounded_and_truncated_values_agree(value: float, agrees: bool) -> None:
    # 0.74 is 0.7449 rounded, and 0.7499 cut off.
    published = PublishedValue(text=".74", value=0.74, digits=2)
    assert published.agrees(_cell(value)) is agrees
    assert PublishedValue(text="-.74", value=-0.74, digits=2).agrees(_cell(-value)) is agrees


@given(st.floats(-50, 50), st.integers(0, 4))
def test_a_value_agrees_with_itself_rounded(value: float, digits: int) -> None:
    published = PublishedValue(text="", value=round(value, digits), digits=digits)
    assert published.agrees(_cell(value)) is True
    assert published.agrees(_cell(value + 2.1 * 10.0**-digits)) is False


def test_stars_and_texts_are_compared_too() -> None:
    published = PublishedValue(text="-.30**", value=-0.3, stars="**", digits=2)
    assert published.agrees(_cell(-0.3, stars="**")) is True
    assert published.agrees(_cell(-0.3, stars="*")) is False
    assert published.agrees(_cell(-0.3)) is True  # no stars were computed
    assert published.agrees(_cell()) is None
    words = PublishedValue(text="974K")
    assert words.agrees(_cell(974_123, text="974K")) is True
    assert words.agrees(_cell(99_000, text="99K")) is False
    assert words.agrees(_cell(974_123)) is None


@pytest.mark.parametrize("name", STUDIES)
def test_every_published_part_belongs_to_a_table_or_figure(name: str) -> None:
    numbers = [part.number for part in study_spec(name).parts]
    assert set(read_values(name)) - set(numbers) - _WITHOUT_PART == set()
    assert len(set(numbers)) == len(numbers)


# Sizes of models, which are settings and not results.
_WITHOUT_PART = {"Table 3a"}
