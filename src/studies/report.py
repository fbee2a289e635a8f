"""What a study writes: figures beside published values, tables, claims, statistics, the page.

``replicate`` calls ``write_study``. Figures and page are made of the parts of the report on suites
(``gardenpath.eval.report``); their numbers are those of ``compared``.
"""

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
from gardenpath.eval.report.content import ReportedAnalysis, reported_analyses, write_analyses
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures.all import InlineFigures, WrittenFigure, write_figures
from gardenpath.eval.report.html import ReportTable
from gardenpath.eval.report.page import FIGURES_FOLDER, REPORT_FILE, analysis_tables, finished_page
from gardenpath.store.files import write_text
from gardenpath.store.tables import write_table
from gardenpath.studies.compared import ComparedPart, compared_parts
from gardenpath.studies.study import FigureStyle, StudyResult
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

    @property
    def face(self) -> str:
        """The colour of the inside of markers."""
        return style.PAPER if self.hollow else self.colour


def draw_part(part: ComparedPart) -> style.ReportFigure:
    """Draw one panel per panel key: columns along the axis, rows as series side by side."""
    series = _all_series(part)
    labels = [[part.label(column) for column in part.columns_of(panel)] for panel in part.panels]
    # Series stand side by side, so the axis needs room for each.
    most = max(map(len, labels))
    titles = max(len(part.label(panel)) for panel in part.panels)
    width = max(
        2.4,
        style.widest_label(labels),
        0.35 + most * (0.2 + 0.1 * len(series)),
        0.4 + _LETTER * titles,
    )
    width = min(width, 10.0)
    columns = max(1, int(10.0 // width))
    look = part.part.style or FigureStyle()
    figure, axes = style.panels(
        len(part.panels), columns=columns, width=width, height=2.5, foot=0.6,
        sharey=look.same_scale,
    )  # fmt: skip
    for axis, panel in zip(axes, part.panels, strict=True):
        _draw_panel(axis, part, panel, series, look)
    handles = [
        Line2D([], [], color=row.colour, marker=row.marker, ls="none", label=row.label,
               markerfacecolor=row.face)
        for row in series
    ]  # fmt: skip
    if any(cell.published is not None for cell in part.cells):
        handles.append(Line2D([], [], **{**_PUBLISHED, "label": "published"}))
    style.place_legend(figure, handles)
    figure.numbers = part.frame()
    return figure


def _all_series(part: ComparedPart) -> list[_Series]:
    series: list[_Series] = []
    looks: dict[str, tuple[str, str]] = {}
    for source, row in dict.fromkeys((cell.cell.source, cell.cell.row) for cell in part.cells):
        # Rows such as "lstm ctb" and "lstm xinhua" are one model trained on two corpora.
        family = family_of(row.split(" ")[0])
        hollow = family in looks
        look = looks.setdefault(family, family_style(family, list(looks.values())))
        series.append(_Series(source, row, part.row_label(row, source), *look, hollow=hollow))
    return series


def _draw_panel(
    axis: Axes, part: ComparedPart, panel: str, series: Sequence[_Series], look: FigureStyle
) -> None:
    columns = part.columns_of(panel)
    if look.reference is not None:
        axis.axhline(look.reference, **style.CHANCE_LINE, zorder=1)
    for row, offset in zip(series, style.offsets(len(series), _GROUP), strict=True):
        cells = part.row_cells(panel, row.source, row.row)
        drawn = [(number + offset, cells[c]) for number, c in enumerate(columns) if c in cells]
        for x, cell in drawn:
            if math.isfinite(cell.cell.low) and math.isfinite(cell.cell.high):
                axis.vlines([x], [cell.cell.low], [cell.cell.high], color=row.colour, linewidth=1.4)
            if cell.published is not None and math.isfinite(cell.published.value):
                axis.plot([x], [cell.published.value], **_PUBLISHED)
        axis.plot(
            [x for x, _ in drawn], [cell.cell.value for _, cell in drawn], row.marker,
            color=row.colour, markerfacecolor=row.face,
            linestyle="-" if look.connected else "none", linewidth=0.7,
        )  # fmt: skip
    labels = [style.folded(part.label(column), width=10) for column in columns]
    axis.set_xticks(range(len(columns)), labels)
    axis.set_xlim(-0.55, len(columns) - 0.45)
    axis.grid(False, axis="x")
    if panel:
        axis.set_title(part.label(panel))
    if look.limits is not None:
        axis.set_ylim(*look.limits)
    if style.is_first(axis):
        axis.set_ylabel(look.y_label)


# The page: claims with verdicts, tables and figures in the paper's order.

STUDY_CHAPTERS = {
    "study_claims": "Claims",
    "study_parts": "Tables and figures",
    "statistics": "Statistics",
    "runs": "Sources and versions",
}
_OTHER_VERDICTS = {"depends": "depending on a choice", "not reproduced": "not reproduced",
                   "not tested": "not tested"}  # fmt: skip


def _study_page(
    result: StudyResult, compared: Sequence[ComparedPart], drawn: Mapping[str, WrittenFigure]
) -> str:
    """Return the report of a study as HTML; ``drawn`` maps names to figures."""
    inline = InlineFigures()
    titles = {part.part.name: part.part.title for part in compared}
    pictures = {
        name: inline.figure(figure.svg, label=titles[name]) for name, figure in drawn.items()
    }
    sources = {claim.source for claim in result.claims}
    values = {
        "claims": result.claims,
        "many_sources": len(sources) > 1,
        "notes": result.notes,
        "facts": result.facts,
        "run_tables": [],
        "answers": list(_verdicts(result)),
        "compared": compared,
        "pictures": pictures,
        "analyses": list(_analyses(result)),
        "figures": [],
    }
    return finished_page(
        title=result.title, description=result.reference, chapters=STUDY_CHAPTERS, folded=("runs",),
        values=values, inline=inline, drawn=drawn,
    )  # fmt: skip


def _verdicts(result: StudyResult) -> Iterator[str]:
    """Yield, for each source, how many claims of the paper have which verdict."""
    for source in dict.fromkeys(claim.source for claim in result.claims):
        counts = Counter[str](claim.verdict for claim in result.claims if claim.source == source)
        tested = counts.total() - counts["not tested"]
        parts = [f"{counts['reproduced']} of {tested} tested claims reproduced"] if tested else []
        parts += [
            f"{counts[kind]} {text}" for kind, text in _OTHER_VERDICTS.items() if counts[kind]
        ]
        yield f"{source[:1].upper()}{source[1:]}: {'; '.join(parts)}."


def _analyses(result: StudyResult) -> Iterator[tuple[ReportedAnalysis, list[ReportTable]]]:
    for source, analyses in result.analyses.items():
        for number, analysis in enumerate(reported_analyses(analyses)):
            if len(result.analyses) > 1:
                analysis = replace(analysis, title=f"{analysis.title} ({source})")
            yield analysis, analysis_tables(analysis, f"{key(source)}-{number}")


def claims_frame(result: StudyResult) -> pd.DataFrame:
    """Return one row per claim of the paper and source, with the verdict and its reason."""
    return pd.DataFrame([asdict(claim) for claim in result.claims])


def write_study(result: StudyResult, folder: Path) -> Path:
    """Write tables, figures, claims, statistics and the report to a folder; return its path."""
    compared = compared_parts(result)
    figures = {}
    for part in compared:
        name = part.part.name
        if part.cells:
            header = {"table": name, "title": part.part.title}
            write_table(folder / "tables" / f"{name}.csv", part.frame(), header)
        if part.part.style is not None and part.part.cells:
            figures[name] = partial(draw_part, part)
    write_table(folder / "claims.csv", claims_frame(result), {"table": "claims"})
    for source, analyses in result.analyses.items():
        place = folder / "statistics"
        write_analyses(place if len(result.analyses) == 1 else place / key(source), analyses)
    drawn = write_figures(figures, folder / FIGURES_FOLDER)
    path = folder / REPORT_FILE
    write_text(path, _study_page(result, compared, drawn))
    return path
