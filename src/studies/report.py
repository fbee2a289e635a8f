"""Drawing of the figures of a study: computed values with intervals, and published ones beside."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gardenpath.eval.display import family_of, family_style
from gardenpath.eval.report.content import Shown, shown_results, write_analyses
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures.all import InlineFigures, WrittenFigure, write_figures
from gardenpath.eval.report.figures.style import CHANCE_LINE, place_legend, widest_label
from gardenpath.eval.report.html import ReportTable, data_block, render
from gardenpath.eval.report.page import FIGURES_FOLDER, REPORT_FILE, finished_page
from gardenpath.store.files import write_text
from gardenpath.store.tables import write_table
from gardenpath.studies.compared import ComparedCell, ComparedPart, compared_parts
from gardenpath.studies.study import StudyResult
from gardenpath.util import key

# Width of a group of points, as a share of the distance between two positions.
_GROUP = 0.7
# Width of a letter of a panel's title, in inches.
_LETTER = 0.075
_PUBLISHED: dict[str, Any] = {
    "marker": "_",
    "color": style.INK,
    "markersize": 9.0,
    "linestyle": "none",
    "zorder": 4,
}


@dataclass(frozen=True, slots=True)
class _Series:
    """A row of one source; ``hollow`` tells corpora or sources of one model apart."""

    source: str
    row: str
    label: str
    colour: str
    marker: str
    hollow: bool


def draw_part(part: ComparedPart) -> style.ReportFigure:
    """Draw one panel per panel key: columns along the axis, rows as series side by side."""
    series = _all_series(part)
    labels = [[part.label(column) for column in part.columns_of(panel)] for panel in part.panels]
    # Series stand side by side, so the axis needs room for each.
    most = max(len(one) for one in labels)
    titles = max(len(part.label(panel)) for panel in part.panels)
    width = max(
        2.4, widest_label(labels), 0.35 + most * (0.2 + 0.1 * len(series)), 0.4 + _LETTER * titles
    )
    width = min(width, 10.0)
    columns = max(1, int(10.0 // width))
    figure, axes = style.panels(
        len(part.panels), columns=columns, width=width, height=2.5, foot=0.6,
        sharey=part.part.style.same_scale,
    )  # fmt: skip
    for axis, panel in zip(axes, part.panels, strict=True):
        _draw_panel(axis, part, panel, series)
    place_legend(figure, _handles(part, series))
    figure.numbers = part.frame()
    return figure


def _all_series(part: ComparedPart) -> list[_Series]:
    found: list[_Series] = []
    taken: dict[str, tuple[str, str]] = {}
    seen: set[str] = set()
    for source, row in dict.fromkeys((cell.cell.source, cell.cell.row) for cell in part.cells):
        # Rows such as "lstm ctb" and "lstm xinhua" are one model trained on two corpora.
        family = family_of(row.split(" ")[0])
        look = taken.setdefault(family, family_style(family, list(taken.values())))
        label = part.label(row) + (f" ({source})" if len(part.sources) > 1 else "")
        found.append(_Series(source, row, label, *look, hollow=family in seen))
        seen.add(family)
    return found


def _draw_panel(axis: Axes, part: ComparedPart, panel: str, series: Sequence[_Series]) -> None:
    columns = part.columns_of(panel)
    step = _GROUP / len(series)
    if part.part.style.reference is not None:
        axis.axhline(part.part.style.reference, **CHANCE_LINE, zorder=1)
    for place, one in enumerate(series):
        offset = (place - (len(series) - 1) / 2.0) * step
        cells = {
            cell.cell.column: cell
            for cell in part.cells
            if (cell.cell.panel, cell.cell.source, cell.cell.row) == (panel, one.source, one.row)
        }
        chosen = [(number + offset, cells[c]) for number, c in enumerate(columns) if c in cells]
        _draw_series(axis, chosen, one, connected=part.part.style.connected)
    axis.set_xticks(range(len(columns)), [_wrapped(part.label(column)) for column in columns])
    axis.set_xlim(-0.55, len(columns) - 0.45)
    axis.grid(False, axis="x")
    if panel:
        axis.set_title(part.label(panel))
    if part.part.style.limits is not None:
        axis.set_ylim(*part.part.style.limits)
    if style.is_first(axis):
        axis.set_ylabel(part.part.style.y_label)


def _draw_series(
    axis: Axes, cells: Sequence[tuple[float, ComparedCell]], one: _Series, *, connected: bool
) -> None:
    for x, cell in cells:
        if math.isfinite(cell.cell.low) and math.isfinite(cell.cell.high):
            axis.vlines([x], [cell.cell.low], [cell.cell.high], color=one.colour, linewidth=1.4)
        if cell.published is not None and math.isfinite(cell.published.value):
            axis.plot([x], [cell.published.value], **_PUBLISHED)
    axis.plot(
        [x for x, _ in cells],
        [cell.cell.value for _, cell in cells],
        one.marker,
        color=one.colour,
        markerfacecolor=style.PAPER if one.hollow else one.colour,
        linestyle="-" if connected else "none",
        linewidth=0.7,
    )


def _handles(part: ComparedPart, series: Sequence[_Series]) -> list[Line2D]:
    found = [
        Line2D(
            [], [], color=one.colour, marker=one.marker, linestyle="none", label=one.label,
            markerfacecolor=style.PAPER if one.hollow else one.colour,
        )
        for one in series
    ]  # fmt: skip
    if any(cell.published is not None for cell in part.cells):
        found.append(Line2D([], [], **{**_PUBLISHED, "label": "published"}))
    return found


def _wrapped(label: str) -> str:
    """Break a label into lines of about ten characters."""
    lines = [""]
    for word in style.figure_label(label).split():
        if lines[-1] and len(lines[-1]) + len(word) > 10:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


# ----------------------------------------------------------------------------
# ``report.html`` of a study: claims with verdicts, tables and figures in the paper's order.


STUDY_CHAPTERS = {
    "study_claims": "Claims",
    "study_parts": "Tables and figures",
    "statistics": "Statistics",
    "runs": "Sources and versions",
}


def study_page(
    result: StudyResult, compared: Sequence[ComparedPart], drawn: Mapping[str, WrittenFigure]
) -> str:
    """Return the report of a study as HTML; ``drawn`` maps names to figures."""
    inline = InlineFigures()
    titles = {one.part.name: one.part.title for one in compared}
    content = {
        "claims": result.claims,
        "many_sources": len({claim.source for claim in result.claims}) > 1,
        "notes": result.notes,
        "facts": result.facts,
        "run_tables": [],
        "answers": list(_verdicts(result)),
        "compared": compared,
        "pictures": {
            name: inline.figure(one.svg, label=titles[name]) for name, one in drawn.items()
        },
        "rows": _grid_rows,
        "analyses": _analyses(result),
        "figures": [],
    }
    chapters = [
        (name, title, render(f"{name}.html", **content).strip())
        for name, title in STUDY_CHAPTERS.items()
    ]
    return finished_page(
        title=result.title,
        description=result.reference,
        chapters=[(name, title, html) for name, title, html in chapters if html],
        inline=inline,
        drawn=drawn,
        data=data_block("explorer-data", None),
        folded=("runs",),
    )


def _verdicts(result: StudyResult) -> Iterator[str]:
    """Yield, for each source, how many claims of the paper have which verdict."""
    for source in dict.fromkeys(claim.source for claim in result.claims):
        counts = Counter[str](claim.verdict for claim in result.claims if claim.source == source)
        tested = counts.total() - counts["not tested"]
        reproduced = f"{counts['reproduced']} of {tested} tested claims reproduced"
        said = [reproduced] if tested else []
        said += [
            f"{counts[verdict]} {said_as}"
            for verdict, said_as in (
                ("depends", "depending on a choice"),
                ("not reproduced", "not reproduced"),
                ("not tested", "not tested"),
            )
            if counts[verdict]
        ]
        yield f"{source[:1].upper()}{source[1:]}: {'; '.join(said)}."


def _grid_rows(part: ComparedPart, panel: str) -> list[tuple[str, list[ComparedCell | None]]]:
    """Return the rows of a panel: a label, and the cells of all columns."""
    found = []
    for row in part.rows_of(panel):
        for source in part.sources:
            cells = {
                one.cell.column: one
                for one in part.cells
                if (one.cell.panel, one.cell.row, one.cell.source) == (panel, row, source)
            }
            if cells:
                label = part.label(row) + (f" ({source})" if len(part.sources) > 1 else "")
                found.append((label, [cells.get(column) for column in part.columns_of(panel)]))
    return found


def _analyses(result: StudyResult) -> list[tuple[Shown, list[ReportTable]]]:
    found = []
    for source, analyses in result.analyses.items():
        for number, shown in enumerate(shown_results(analyses)):
            if len(result.analyses) > 1:
                shown = replace(shown, title=f"{shown.title} ({source})")
            tables = [
                ReportTable(name=f"{key(source)}-{number}-{place}", title=title, frame=frame)
                for place, (title, frame) in enumerate(shown.tables.items())
                if len(frame)
            ]
            found.append((shown, tables))
    return found


# ----------------------------------------------------------------------------
# Files of a study: tables, figures, claims, statistics and the report.


TABLES_FOLDER = "tables"
CLAIMS_FILE = "claims.csv"


def write_study(result: StudyResult, folder: Path) -> Path:
    """Write all files of a study to a folder; return the path of the report."""
    compared = compared_parts(result)
    for one in compared:
        if one.cells:
            header = {"table": one.part.name, "title": one.part.title}
            write_table(folder / TABLES_FOLDER / f"{one.part.name}.csv", one.frame(), header)
    claims = pd.DataFrame([asdict(claim) for claim in result.claims])
    write_table(folder / CLAIMS_FILE, claims, {"table": "claims"})
    for source, analyses in result.analyses.items():
        place = folder / "statistics"
        write_analyses(place if len(result.analyses) == 1 else place / key(source), analyses)
    figures = {
        one.part.name: partial(draw_part, one)
        for one in compared
        if one.part.kind == "figure" and one.part.cells
    }
    drawn = write_figures(figures, folder / FIGURES_FOLDER)
    path = folder / REPORT_FILE
    write_text(path, study_page(result, compared, drawn))
    return path
