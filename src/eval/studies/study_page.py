"""``report.html`` of a study: claims with verdicts, tables and figures in the paper's order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gardenpath.eval.report.figures.all_figures import WrittenFigure
from gardenpath.eval.report.figures.inline_figures import InlineFigures
from gardenpath.eval.report.page.html_tables import ReportTable
from gardenpath.eval.report.page.markup import data_block, render
from gardenpath.eval.report.page.page import finished_page
from gardenpath.eval.report.shown_analyses import shown_results
from gardenpath.eval.report.study import Shown
from gardenpath.eval.studies.compared import ComparedCell, ComparedPart
from gardenpath.eval.studies.study_parts import StudyResult
from gardenpath.text import key

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
