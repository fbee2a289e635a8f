"""Published values: how they are written, and when a computed value agrees with them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.errors import InputError
from gardenpath.studies import compared as module
from gardenpath.studies.compared import PublishedValue, published_part
from gardenpath.studies.compared import published_values as read_values
from gardenpath.studies.replicate import STUDIES, study_spec
from gardenpath.studies.study import StudyCell


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
    found = published_part("one", "Table 1").find(
        StudyCell(source="", row="r", column="a"), "printed"
    )
    assert found is not None
    numbers = (found.value, found.reach, found.stars, found.digits, found.text)
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
    assert part.rows("up") == ("r",) and part.rows("") == ("q",) and part.rows("left") == ()
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
