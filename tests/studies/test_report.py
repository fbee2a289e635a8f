"""Files of a study: figures, tables, and a page that is safe whatever the texts are."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.lines import Line2D

from gardenpath.studies.compared import compared_parts, draw_part, write_study
from gardenpath.studies.study import Evidence, FigureStyle, StudyCell, StudyPart, StudyResult
from tests.studies.small_study import NASTY, SMALL, data

pytestmark = pytest.mark.usefixtures("small_values")


def _heights(line: Line2D) -> list[float]:
    return [float(y) for y in np.asarray(line.get_ydata())]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    evidence = [
        Evidence(data({"lstm": [1, 1, 1, 0], "ngram": [1, 0]})),
        Evidence(data({"lstm": [1, 0]}, "runs")),
    ]
    return write_study(SMALL.result(evidence), tmp_path / "out")


def test_all_files_are_written(written: Path) -> None:
    files = {path.relative_to(written.parent).as_posix() for path in written.parent.rglob("*.*")}
    assert {"report.html", "claims.csv", "tables/table_1.csv", "tables/figure_1.csv"} <= files
    assert "figures/figure_1.svg" in files
    claims = pd.read_csv(written.parent / "claims.csv")
    assert claims["verdict"].tolist() == ["reproduced", "not tested"]


def test_the_page_has_published_values_and_marks_differences(written: Path) -> None:
    page = written.read_text(encoding="utf-8")
    assert "Files: 1 of 2 cells agree with the published values." in page
    assert "Files: 1 of 1 tested claims reproduced." in html.unescape(page)
    assert "Runs: 1 not tested." in html.unescape(page)
    assert re.search(r'class="number differs"[^>]*>0\.50 ≠<small>0\.40</small>', page)
    assert re.search(r'class="number">0\.75<small>0\.75</small>', page)
    assert re.search(r"<small><em>\.75 ± \.49</em></small>", page)  # released, not printed
    assert "Not computed from runs: it is secret." in page
    assert 'class="verdict not-tested"' in page


def test_texts_are_escaped(written: Path) -> None:
    page = written.read_text(encoding="utf-8")
    assert NASTY not in page and "<b>" not in page
    assert html.unescape(page).count(NASTY) >= 5  # title, claim, note, cell and its tooltip


def test_a_figure_shows_computed_and_published_values() -> None:
    evidence = [Evidence(data({"lstm": [1, 1, 1, 0], "ngram": [1, 0]}))]
    figure = draw_part(compared_parts(SMALL.result(evidence))[0])
    (axis,) = figure.axes
    heights = {line.get_marker(): _heights(line) for line in axis.lines}
    assert heights["o"] == [0.75] and heights["^"] == [0.5]
    assert heights["_"] == [0.75]  # the published value
    # Intervals, and the line of reference.
    assert len(axis.collections) == 2
    (legend,) = figure.legends
    assert "published" in {text.get_text() for text in legend.get_texts()}
    assert axis.get_ylim() == (0.0, 1.0)


def test_panels_are_drawn_side_by_side() -> None:
    cells = [
        StudyCell(source="s", panel=panel, row=row, column=column, value=value)
        for panel in ("up", "down")
        for row, value in (("lstm ctb", 1.0), ("lstm xinhua", 2.0))
        for column in ("a", "b")
        if (panel, column) != ("down", "b")
    ]
    part = StudyPart(number="Figure 9", title="t", cells=cells, style=FigureStyle(y_label="bits"))
    result = StudyResult(name="small", title="t", reference="r", parts=[part], claims=[])
    figure = draw_part(compared_parts(result)[0])
    drawn = [axis for axis in figure.axes if axis.has_data()]
    assert [axis.get_title() for axis in drawn] == ["up", "down"]
    assert [len(axis.get_xticks()) for axis in drawn] == [2, 1]
    # Two corpora of a model have one colour, and the second is hollow.
    first, second = drawn[0].lines[:2]
    assert first.get_color() == second.get_color()
    assert first.get_markerfacecolor() != second.get_markerfacecolor()
    assert _heights(first) == [1.0, 1.0] and _heights(second) == [2.0, 2.0]
