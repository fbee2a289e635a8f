"""``report.html``: one file with everything in it, that opens from disk and asks for no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gardenpath.eval.perplexity.comparison import EXACT
from gardenpath.eval.report.figures import fonts
from gardenpath.eval.report.figures.all_figures import FigureSection, pictures
from gardenpath.eval.report.figures.inline_figures import InlineFigures
from gardenpath.eval.report.page.explorer import ExplorerLimits, explorer_data
from gardenpath.eval.report.page.html_tables import ReportTable
from gardenpath.eval.report.page.markup import data_block, render
from gardenpath.eval.report.page.summaries import (
    accuracy_tables,
    excess_table,
    in_model_order,
    perplexity_table,
    runs_table,
    summary_table,
    unknown_items_table,
    unknown_words_table,
)
from gardenpath.eval.report.study import Shown, Study

# Names and titles of the chapters; each has a template of its name. Empty ones are left out.
CHAPTERS = {
    "overview": "What was run",
    "accuracy": "Accuracy",
    "effects": "Effects",
    "explorer": "Item explorer",
    "sentences": "Surprisal along sentences",
    "statistics": "Statistics",
    "doubts": "Unknown words and ties",
    "perplexity": "Perplexity and corpora",
    "training": "Training",
}
SCRIPTS = ("tables.js", "trees.js", "chart.js", "explorer.js")


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter of the page."""

    name: str
    title: str
    content: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFigure:
    """A figure as the page shows it; ``subject`` is the number of the analysis it belongs to."""

    section: FigureSection
    subject: int | None
    title: str
    caption: str
    svg: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnalysis:
    """An analysis as the page shows it: sentences that tell of something, and the others."""

    number: int
    title: str
    count: str
    found: Sequence[str]
    others: Sequence[str]
    skipped: Sequence[str]
    tables: Sequence[ReportTable]


def page(study: Study, svgs: Mapping[str, str], limits: ExplorerLimits) -> str:
    """The report; ``svgs`` are the figures by name."""
    inline = InlineFigures()
    figures = list(_figures(study, svgs, inline))
    content = _content(study, figures, limits)
    drawn = {name: render(f"{name}.html", **content).strip() for name in CHAPTERS}
    chapters = [Chapter(name, CHAPTERS[name], html) for name, html in drawn.items() if html]
    data = data_block("explorer-data", explorer_data(study, limits))
    texts = [study.title, study.description, *(chapter.content for chapter in chapters), data]
    return render(
        "page.html",
        study=study,
        chapters=chapters,
        outlines=inline.outlines(),
        data=data,
        style=Markup(_font_face("".join(texts)) + _asset("report.css") + inline.css()),
        script=Markup("\n".join(_asset(name) for name in SCRIPTS)),
    )


def _asset(name: str) -> str:
    return (fonts.ASSETS / name).read_text(encoding="utf-8")


def _font_face(content: str) -> str:
    """The Han characters of the page, for machines that have none."""
    address = fonts.embedded(content)
    if not address:
        return ""
    source = f'font-family:"{fonts.BUNDLED_NAME}";src:url({address}) format("opentype")'
    return f"@font-face{{{source}}}\n"


def _figures(study: Study, svgs: Mapping[str, str], inline: InlineFigures) -> Iterator[PageFigure]:
    for picture in pictures(study):
        if picture.name in svgs:
            yield PageFigure(
                section=picture.section,
                subject=picture.subject,
                title=picture.title,
                caption=picture.caption,
                svg=inline.figure(svgs[picture.name], label=picture.title),
            )


def _content(study: Study, figures: Sequence[PageFigure], limits: ExplorerLimits) -> dict[str, Any]:
    """What the templates of the chapters show."""
    has_items = bool(len(study.items))
    per_suite = study.surprisals.groupby("suite")["item"].nunique()
    return {
        "study": study,
        "limits": limits,
        "figures": figures,
        "findings": [*_findings(study), *study.notes],
        "facts": {name: value for name, value in study.facts.items() if value},
        "scored_items": int(per_suite.max()) if len(per_suite) else 0,
        "analyses": [_analysis(one, number) for number, one in enumerate(study.analyses)],
        "run_tables": _filled([runs_table(study)]),
        "accuracy_tables": _filled(accuracy_tables(study) if has_items else ()),
        "summary_tables": _filled([summary_table(study)] if has_items else ()),
        "doubt_tables": _filled(
            [unknown_items_table(study), unknown_words_table(study)] if has_items else ()
        ),
        "perplexity_tables": _filled([perplexity_table(study), excess_table(study)]),
    }


def _filled(tables: Iterable[ReportTable | None]) -> list[ReportTable]:
    return [table for table in tables if table is not None and len(table.frame)]


def _analysis(analysis: Shown, number: int) -> PageAnalysis:
    found, others = analysis.told()
    if len(analysis.sentences) == 1:
        # A single answer is shown, whatever it is.
        found, others = [*found, *others], []
    return PageAnalysis(
        number=number,
        title=analysis.title,
        count=analysis.count,
        found=found,
        others=others,
        skipped=analysis.skipped,
        tables=_filled(
            ReportTable(name=f"analysis-{number}-{place}", title=title, frame=frame)
            for place, (title, frame) in enumerate(analysis.tables.items())
        ),
    )


def _findings(study: Study) -> Iterator[str]:
    """For each corpus, the best model and the ceiling."""
    if not len(study.items):
        return
    table = in_model_order(study.by_model)
    for corpus, rows in table.groupby("corpus", sort=False):
        models = rows[rows["model"] != EXACT].dropna(subset="mean")
        if not len(models):
            continue
        best = models.loc[models["mean"].idxmax()]
        name = corpus or "the given surprisals"
        sentence = (
            f"On {name}, {best['model']} has the highest mean accuracy of {len(models)} models: "
            f"{best['mean']:.3f} [{best['low']:.2f}, {best['high']:.2f}]"
        )
        for ceiling in rows[rows["model"] == EXACT]["mean"]:
            sentence += f"; the exact grammar reaches {ceiling:.3f}"
        yield sentence + "."
