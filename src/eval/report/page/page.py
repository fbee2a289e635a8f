"""``report.html``: one file with everything in it, that opens from disk and asks for no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Template

from gardenpath.eval.perplexity.comparison import EXACT
from gardenpath.eval.report.figures import fonts
from gardenpath.eval.report.figures.all_figures import Picture, Section, pictures
from gardenpath.eval.report.figures.inline_figures import InlineFigures
from gardenpath.eval.report.page.explorer import ExplorerLimits, explorer_data
from gardenpath.eval.report.page.findings import analysis_html
from gardenpath.eval.report.page.html_tables import ReportTable, table_html
from gardenpath.eval.report.page.markup import Html, data_block, element, join, text, unbroken
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
from gardenpath.eval.report.study import Study


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure and how the page draws it."""

    picture: Picture
    svg: Html


SCRIPTS = ("tables.js", "trees.js", "chart.js", "explorer.js")


def page(study: Study, svgs: Mapping[str, str], limits: ExplorerLimits) -> str:
    """The report; ``svgs`` are the figures by name."""
    inline = InlineFigures()
    known = [
        Shown(picture, inline.figure(svgs[picture.name], label=picture.title))
        for picture in pictures(study)
        if picture.name in svgs
    ]
    chapters = [chapter for chapter in _chapters(study, known, limits) if chapter[2]]
    body = join(_chapter(name, title, content) for name, title, content in chapters)
    data = data_block("explorer-data", explorer_data(study, limits))
    navigation = element(
        "nav",
        element(
            "ul",
            *(element("li", element("a", title, href=f"#{name}")) for name, title, _ in chapters),
        ),
        aria_label="Chapters",
    )
    scripts = "\n".join(_asset(name) for name in SCRIPTS)
    template = Template(_asset("page.html"))
    return template.substitute(
        title=text(study.title),
        description=element("p", study.description) if study.description else "",
        navigation=navigation,
        body=join([inline.outlines(), body]),
        data=data,
        style=_font_face(study.title + body + data) + _asset("report.css") + inline.css(),
        script=scripts,
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


def _chapter(name: str, title: str, content: Html) -> Html:
    return element("section", element("h2", title), content, id=name, class_="chapter")


def _chapters(
    study: Study, known: Sequence[Shown], limits: ExplorerLimits
) -> Iterator[tuple[str, str, Html]]:
    """Name, title and content of every chapter; empty ones are left out later."""

    def figures(section: Section, subject: int | None = None) -> Html:
        return join(
            _figure(shown)
            for shown in known
            if shown.picture.section == section and shown.picture.subject == subject
        )

    def tables(*given: ReportTable | None) -> Html:
        return join(table_html(table) for table in given if table is not None and len(table.frame))

    has_items = bool(len(study.items))
    yield "overview", "What was run", _overview(study)
    if has_items:
        accuracy = tables(*accuracy_tables(study))
        summary = tables(summary_table(study))
        yield "accuracy", "Accuracy", join([accuracy, figures("accuracy"), summary])
    yield "effects", "Effects", figures("effects")
    yield "explorer", "Item explorer", _explorer(study, limits)
    yield "sentences", "Surprisal along sentences", _folded(known, "sentences")
    statistics = [
        analysis_html(analysis, number, figures("statistics", number))
        for number, analysis in enumerate(study.analyses)
    ]
    yield "statistics", "Statistics", join(statistics)
    if has_items:
        doubts = tables(unknown_items_table(study), unknown_words_table(study))
        yield "doubts", "Unknown words and ties", doubts
    perplexity = tables(perplexity_table(study), excess_table(study))
    yield "perplexity", "Perplexity and corpora", join([figures("corpora"), perplexity])
    yield "training", "Training", figures("training")


def _figure(shown: Shown) -> Html:
    picture = shown.picture
    # A title that asks something has its sign at the end already.
    title = picture.title if picture.title.endswith(("?", "!", ".")) else f"{picture.title}."
    scroll = element(
        "div", shown.svg, class_="scroll", tabindex="0", role="region", aria_label=picture.title
    )
    caption = element("figcaption", element("strong", title), " ", unbroken(picture.caption))
    return element("figure", scroll, caption)


def _folded(known: Sequence[Shown], section: Section) -> Html:
    """Figures of which only the first is open: they are many and alike."""
    chosen = [shown for shown in known if shown.picture.section == section]
    return join(
        element(
            "details",
            element("summary", shown.picture.title),
            _figure(shown),
            open=place == 0,
        )
        for place, shown in enumerate(chosen)
    )


def _overview(study: Study) -> Html:
    """What was run, and the result in a few sentences."""
    facts = [
        join([element("dt", name), element("dd", value)])
        for name, value in study.facts.items()
        if value
    ]
    sentences = [*_findings(study), *study.notes]
    runs = runs_table(study)
    return join(
        [
            element("ul", *(element("li", sentence) for sentence in sentences), class_="findings")
            if sentences
            else "",
            element("dl", *facts) if facts else "",
            table_html(runs) if len(runs.frame) else "",
        ]
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


def _explorer(study: Study, limits: ExplorerLimits) -> Html:
    """The frame that the script fills; empty without surprisals."""
    if not len(study.surprisals):
        return Html("")
    most = study.surprisals.groupby("suite")["item"].nunique().max()
    notes = []
    if most > limits.items:
        notes.append(
            f"The page carries the first {limits.items} items of each suite, of up to {most} that "
            "were scored."
        )
    if study.parses and most > limits.items_with_parses:
        notes.append(
            f"Partial parses, the best {limits.parses} at each word, are there for the first "
            f"{limits.items_with_parses} items of each suite."
        )
    note = " ".join(notes)
    return Html(Template(_asset("explorer.html")).substitute(note=text(note)))
