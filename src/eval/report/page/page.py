"""``report.html``: a self-contained file that opens from disk without network access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from gardenpath.eval.report.figures import fonts
from gardenpath.eval.report.figures.all_figures import Picture, pictures
from gardenpath.eval.report.figures.inline_figures import InlineFigures
from gardenpath.eval.report.headline import findings, near_tie_note
from gardenpath.eval.report.page.explorer import ExplorerLimits, explorer_data
from gardenpath.eval.report.page.first_item import opening
from gardenpath.eval.report.page.html_tables import ReportTable
from gardenpath.eval.report.page.markup import data_block, render
from gardenpath.eval.report.page.summaries import (
    accuracy_tables,
    excess_table,
    pair_set_tables,
    perplexity_table,
    runs_table,
    summary_table,
    unknown_items_table,
    unknown_words_table,
    unusable_table,
)
from gardenpath.eval.report.study import Shown, Study
from gardenpath.store.tables import COULD_FLIP

# Names and titles of the chapters; each has a template of this name. Empty chapters are omitted.
CHAPTERS = {
    "overview": "Overview",
    "accuracy": "Accuracy",
    "effects": "Effects",
    "explorer": "Item explorer",
    "sentences": "Surprisal by word",
    "statistics": "Statistics",
    "doubts": "Out-of-vocabulary words and ties",
    "perplexity": "Perplexity and corpora",
    "training": "Training",
}
SCRIPTS = ("tables.js", "trees.js", "downloads.js", "chart.js", "cells.js", "explorer.js")


def page(study: Study, svgs: Mapping[str, str], limits: ExplorerLimits) -> str:
    """Return the report as HTML; ``svgs`` maps names to figures."""
    inline = InlineFigures()
    figures = [
        (picture, inline.figure(svgs[picture.name], label=picture.title))
        for picture in pictures(study)
        if picture.name in svgs
    ]
    content = _content(study, figures, limits)
    drawn = {name: render(f"{name}.html", **content).strip() for name in CHAPTERS}
    data = data_block("explorer-data", explorer_data(study, limits))
    chapters = [(name, CHAPTERS[name], html) for name, html in drawn.items() if html]
    return finished_page(
        title=study.title,
        description=study.description,
        chapters=chapters,
        inline=inline,
        data=data,
    )


def finished_page(
    *,
    title: str,
    description: str,
    chapters: Sequence[tuple[str, str, Markup]],
    inline: InlineFigures,
    data: Markup,
) -> str:
    """Return a whole page; chapters have a name, a title and their content.

    ``inline`` has the figures of the chapters, ``data`` is the data block of the explorer.
    """
    texts = "".join([title, description, *(html for _, _, html in chapters), data])
    return render(
        "page.html",
        title=title,
        description=description,
        chapters=chapters,
        outlines=inline.outlines(),
        data=data,
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
        "warnings": [str(one) for one in study.unusable],
        "unusable_tables": _filled([unusable_table(study)] if has_items else ()),
        "findings": [
            *findings(study.items, min_items=study.min_items),
            *_doubts(study),
            *study.notes,
        ],
        "facts": {name: value for name, value in study.facts.items() if value},
        "opening": first.reason if (first := opening(study)) else "",
        "scored_items": int(per_suite.max()) if len(per_suite) else 0,
        "analyses": [(one, _analysis_tables(one, n)) for n, one in enumerate(study.analyses)],
        "run_tables": _filled([runs_table(study)]),
        "accuracy_tables": _filled(accuracy_tables(study) if has_items else ()),
        "pair_tables": _filled(pair_set_tables(study)),
        "summary_tables": _filled([summary_table(study)] if has_items else ()),
        "doubt_tables": _filled(
            [unknown_items_table(study), unknown_words_table(study)] if has_items else ()
        ),
        "perplexity_tables": _filled([perplexity_table(study), excess_table(study)]),
    }


def _filled(tables: Iterable[ReportTable | None]) -> list[ReportTable]:
    return [table for table in tables if table is not None and len(table.frame)]


def _analysis_tables(analysis: Shown, number: int) -> list[ReportTable]:
    return _filled(
        ReportTable(name=f"analysis-{number}-{place}", title=title, frame=frame)
        for place, (title, frame) in enumerate(analysis.tables.items())
    )


def _doubts(study: Study) -> Iterator[str]:
    """Yield a sentence on near ties, and one on the outcomes that are within the search error."""
    if note := near_tie_note(study.items):
        yield note
    if COULD_FLIP not in study.items.columns:
        return
    known = study.items.dropna(subset=COULD_FLIP)
    counts = known.groupby("model", sort=False)[COULD_FLIP].agg(["sum", "size"])
    if not len(counts):
        return
    each = [f"{model} {int(row['sum'])} of {int(row['size'])}" for model, row in counts.iterrows()]
    total = f"{int(counts['sum'].sum())} of {int(counts['size'].sum())}"
    more = f" ({', '.join(each)})" if len(each) > 1 else ""
    yield f"{total} outcomes could flip within the 95 % interval of the search error{more}."
