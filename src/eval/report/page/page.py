"""``report.html``: a self-contained file that opens from disk without network access."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from gardenpath.eval.report.cautions import cautions
from gardenpath.eval.report.figures import fonts
from gardenpath.eval.report.figures.all_figures import Picture, WrittenFigure, pictures
from gardenpath.eval.report.figures.inline_figures import InlineFigures
from gardenpath.eval.report.headline import findings
from gardenpath.eval.report.page.explorer import ExplorerLimits, explorer_data
from gardenpath.eval.report.page.first_item import opening
from gardenpath.eval.report.page.html_tables import ReportTable
from gardenpath.eval.report.page.markup import data_block, render
from gardenpath.eval.report.page.summaries import (
    accuracy_tables,
    excess_table,
    pair_set_tables,
    perplexity_tables,
    runs_table,
    summary_table,
    unknown_items_table,
    unknown_words_table,
    unusable_table,
)
from gardenpath.eval.report.study import Shown, Study

# Names and titles of the chapters; each has a template of this name. Empty chapters are omitted.
CHAPTERS = {
    "answer": "Answer",
    "accuracy": "Accuracy",
    "effects": "Effects in bits",
    "explorer": "Item explorer",
    "statistics": "Statistics",
    "sentences": "Surprisal by word",
    "doubts": "Unknown words and ties",
    "perplexity": "Perplexity",
    "training": "Training",
    "runs": "Runs and settings",
}
# Chapters that show their title alone until they are opened.
FOLDED = ("sentences", "doubts", "perplexity", "training", "runs")
# Height in pixels, without captions, up to which the figures of a chapter are open; the first
# always is.
OPEN_HEIGHTS = {"accuracy": 1100, "effects": 1000}
SCRIPTS = (
    "tables.js",
    "trees.js",
    "downloads.js",
    "chart.js",
    "cells.js",
    "explorer.js",
    "folds.js",
)


def page(study: Study, drawn: Mapping[str, WrittenFigure], limits: ExplorerLimits) -> str:
    """Return the report as HTML; ``drawn`` maps names to figures."""
    inline = InlineFigures()
    figures = [
        (picture, inline.figure(drawn[picture.name].svg, label=picture.title))
        for picture in pictures(study)
        if picture.name in drawn
    ]
    content = _content(study, figures, limits)
    written = {name: render(f"{name}.html", **content).strip() for name in CHAPTERS}
    chapters = [(name, CHAPTERS[name], html) for name, html in written.items() if html]
    return finished_page(
        title=study.title,
        description=study.description,
        chapters=chapters,
        folded=FOLDED,
        inline=inline,
        drawn=drawn,
        data=data_block("explorer-data", explorer_data(study, limits)),
    )


def finished_page(
    *,
    title: str,
    description: str,
    chapters: Sequence[tuple[str, str, Markup]],
    inline: InlineFigures,
    drawn: Mapping[str, WrittenFigure],
    data: Markup,
    folded: Collection[str] = (),
) -> str:
    """Return a whole page; chapters have a name, a title and their content.

    Only the titles of ``folded`` chapters are shown at first. ``inline`` has the figures of the
    chapters, ``drawn`` their numbers, ``data`` is the data block of the explorer.
    """
    texts = "".join([title, description, *(html for _, _, html in chapters), data])
    return render(
        "page.html",
        title=title,
        description=description,
        chapters=chapters,
        folded=folded,
        outlines=inline.outlines(),
        data=data + data_block("figure-data", {name: one.csv for name, one in drawn.items()}),
        style=Markup(_font_face(texts) + _asset("report.css") + inline.css()),
        script=Markup("\n".join(_asset(name) for name in SCRIPTS)),
    )


def _asset(name: str) -> str:
    return (fonts.ASSETS / name).read_text(encoding="utf-8")


def _font_face(content: str) -> str:
    """Return CSS that embeds the Han characters of the page, for systems without such fonts."""
    address = fonts.embedded(content)
    if not address:
        return ""
    source = f'font-family:"{fonts.BUNDLED_NAME}";src:url({address}) format("opentype")'
    return f"@font-face{{{source}}}\n"


def _content(
    study: Study, figures: Sequence[tuple[Picture, Markup]], limits: ExplorerLimits
) -> dict[str, Any]:
    """Return the data for the templates of the chapters."""
    has_items = bool(len(study.items))
    per_suite = study.surprisals.groupby("suite")["item"].nunique()
    return {
        "study": study,
        "limits": limits,
        "figures": figures,
        "open_figures": _open_figures(figures),
        "findings": list(findings(study.items, min_items=study.min_items)),
        "warnings": list(cautions(study)),
        "notes": study.notes,
        "facts": {name: value for name, value in study.facts.items() if value},
        "opening": first.reason if (first := opening(study)) else "",
        "scored_items": int(per_suite.max()) if len(per_suite) else 0,
        "analyses": [(one, _analysis_tables(one, n)) for n, one in enumerate(study.analyses)],
        "run_tables": _filled([runs_table(study)]),
        "accuracy_tables": _filled(accuracy_tables(study) if has_items else ()),
        "pair_tables": _filled(pair_set_tables(study)),
        "summary_tables": _filled([summary_table(study)] if has_items else ()),
        "unusable_tables": _filled([unusable_table(study)] if has_items else ()),
        "doubt_tables": _filled(
            [unknown_items_table(study), unknown_words_table(study)] if has_items else ()
        ),
        "perplexity_tables": _filled([*perplexity_tables(study), excess_table(study)]),
    }


def _open_figures(figures: Sequence[tuple[Picture, Markup]]) -> set[str]:
    """Return the names of the figures that are open: the first ones of each chapter."""
    found: set[str] = set()
    heights = dict.fromkeys(OPEN_HEIGHTS, 0.0)
    for picture, svg in figures:
        if picture.section in heights:
            is_first = not heights[picture.section]
            heights[picture.section] += _height(svg)
            if is_first or heights[picture.section] <= OPEN_HEIGHTS[picture.section]:
                found.add(picture.name)
    return found


def _height(svg: str) -> float:
    """Return the height of a figure in pixels; sizes in the drawing are in points."""
    size = re.search(r'viewBox="\S+ \S+ \S+ ([\d.]+)"', svg)
    return float(size[1]) * 4 / 3 if size else 0.0


def _filled(tables: Iterable[ReportTable | None]) -> list[ReportTable]:
    return [table for table in tables if table is not None and len(table.frame)]


def _analysis_tables(analysis: Shown, number: int) -> list[ReportTable]:
    return _filled(
        ReportTable(name=f"analysis-{number}-{place}", title=title, frame=frame)
        for place, (title, frame) in enumerate(analysis.tables.items())
    )
