"""Which figures a report has, their files, and their form inside a page.

``page`` draws all ``pictures`` of a report and embeds them; studies and the pages of others use
``write_figures`` and ``InlineFigures``. How a figure is drawn is in ``results``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import pandas as pd
from markupsafe import Markup, escape

from gardenpath.eval import display
from gardenpath.eval.display import EXACT
from gardenpath.eval.report.content import ReportContent, corpus_groups
from gardenpath.eval.report.figures import results, style
from gardenpath.store.files import read_text, whole_file, write_text
from gardenpath.store.tables import write_table
from gardenpath.util import short_stem

FigureSection = Literal["accuracy", "effects", "sentences", "statistics", "corpora", "training"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure: the name of its file, its section, title and caption, and a function to draw it.

    ``subject`` is the number of the analysis to which a statistics figure belongs.
    """

    name: str
    section: FigureSection
    title: str
    caption: str
    draw: Callable[[], style.ReportFigure]
    subject: int | None = None


def pictures(content: ReportContent) -> list[Picture]:
    """Return the figures of a report, in its order."""
    return [
        *_accuracy(content),
        *_effects(content),
        *_sentences(content),
        *_statistics(content),
        *_corpora(content),
    ]


@dataclass(frozen=True, slots=True)
class WrittenFigure:
    """The texts of a figure: its drawing as SVG, and the numbers that are drawn as CSV."""

    svg: str
    csv: str


def write_pictures(content: ReportContent, folder: Path) -> dict[str, WrittenFigure]:
    """Write every figure of a report; return them by name."""
    return write_figures({picture.name: picture.draw for picture in pictures(content)}, folder)


def write_figures(
    drawings: Mapping[str, Callable[[], style.ReportFigure]], folder: Path
) -> dict[str, WrittenFigure]:
    """Write each figure as ``<name>.svg`` and ``<name>.png``, and its numbers as ``<name>.csv``."""
    texts = {}
    # Compress each figure while the next one is drawn.
    with style.look(), ThreadPoolExecutor(max_workers=1) as compressing:
        written = []
        for name, draw in drawings.items():
            figure = draw()
            style.settle(figure)
            path = folder / f"{name}.png"
            written.append(compressing.submit(_write_png, path, style.pixels(figure)))
            table = folder / f"{name}.csv"
            write_table(table, figure.numbers.round(6))
            texts[name] = WrittenFigure(style.as_svg(figure), read_text(table))
            write_text(folder / f"{name}.svg", texts[name].svg)
        for png in written:
            png.result()
    return texts


def _write_png(path: Path, drawn: style.Pixels) -> None:
    with whole_file(path) as temporary:
        temporary.write_bytes(style.as_png(drawn))


def slug(text: str) -> str:
    """Return a text as part of a file name."""
    return short_stem(re.sub(r"[^\w]+", "_", text.lower()).strip("_")[:80])


def _accuracy(content: ReportContent) -> Iterator[Picture]:
    items = content.items
    groups = corpus_groups(items)
    lines = "The dotted line is the chance level."
    if (items["model"] == EXACT).any():
        lines = (
            "The dotted line is the chance level; the dash-dotted line is the accuracy of the "
            "exact grammar, the ceiling for models."
        )
    # The ends of file names and titles.
    ends = [
        (f"_{slug(' '.join(corpora))}", f", {' and '.join(corpora)}")
        if len(groups) > 1
        else ("", "")
        for corpora in groups
    ]
    for corpora, (tail, place) in zip(groups, ends, strict=True):
        if items[items["corpus"].isin(corpora)]["class"].nunique() > 1:
            yield Picture(
                name=f"mean_accuracy{tail}",
                section="accuracy",
                title=f"Mean accuracy by model{place}",
                caption=f"Mean over all classes, with equal weights. {lines}",
                draw=partial(results.mean_accuracy, content, corpora),
            )
    for corpora, (tail, place) in zip(groups, ends, strict=True):
        yield Picture(
            name=f"accuracy_by_class{tail}",
            section="accuracy",
            title=f"Accuracy by class and model{place}",
            caption="Markers are means over random seeds and suites, bars are 95 % bootstrap "
            f"intervals over items. {lines}",
            draw=partial(results.accuracy_by_class, content, corpora),
        )
    all_corpora = list(dict.fromkeys(items["corpus"]))
    for corpus in all_corpora:
        tail, place = ("", "") if len(all_corpora) == 1 else (f"_{slug(corpus)}", f", {corpus}")
        yield from _by_modifier(content, corpus, tail, place)


def _by_modifier(content: ReportContent, corpus: str, tail: str, place: str) -> Iterator[Picture]:
    items = content.items[content.items["corpus"] == corpus]
    if items["modifier"].nunique() > 1:
        is_ranked = content.ranks(items["modifier"])
        order = "Modifiers are ordered from simple to complex. " if is_ranked else ""
        yield Picture(
            name=f"accuracy_by_modifier{tail}",
            section="accuracy",
            title=f"Accuracy by {'complexity of the ' if is_ranked else ''}modifier{place}",
            caption=f"{order}Markers are means over random seeds, bars are 95 % bootstrap "
            "intervals over items.",
            draw=partial(results.accuracy_by_modifier, content, corpus),
        )
    if items["difference_bits"].notna().any():
        is_exact = (items["model"] == EXACT).any()
        infinite = " Infinite differences of the exact grammar are excluded." if is_exact else ""
        yield Picture(
            name=f"differences_by_condition{tail}",
            section="effects",
            title=f"Surprisal differences by condition{place}",
            caption="Difference in surprisal between the compared conditions, in bits; values "
            "above zero are as predicted. Bars are 95 % bootstrap intervals over items."
            f"{infinite}",
            draw=partial(results.differences_by_condition, content, corpus),
        )


def _effects(content: ReportContent) -> Iterator[Picture]:
    for corpus, table in content.effects.groupby("corpus", sort=False):
        names = list(dict.fromkeys(table["effect"]))
        wh = [name for name in names if "wh" in name.lower()]
        rest = [name for name in names if name not in wh]
        for title, chosen in (("Wh-effects", wh), ("Effects", rest)):
            if chosen:
                yield Picture(
                    name=slug(f"{title} {corpus}"),
                    section="effects",
                    title=f"{title} by condition" + (f", {corpus}" if corpus else ""),
                    caption="Means over random seeds and items in bits, with 95 % bootstrap "
                    "intervals over items.",
                    draw=partial(results.effects_by_condition, content, str(corpus), chosen),
                )


def _sentences(content: ReportContent) -> Iterator[Picture]:
    """Yield one item of every class and corpus that was scored by a model.

    The explorer of the report shows the other items.
    """
    classes = content.items.drop_duplicates("suite").set_index("suite")["class"]
    table = content.surprisals[content.surprisals["model"] != EXACT]
    firsts = table.drop_duplicates(["suite", "corpus"])[["suite", "item", "corpus"]]
    places = {suite: place for place, suite in enumerate(content.suites())}
    firsts = firsts.sort_values("suite", key=lambda suites: suites.map(places), kind="stable")
    kinds = firsts["suite"].map(classes).fillna(firsts["suite"])
    firsts = firsts[~pd.DataFrame({"kind": kinds, "corpus": firsts["corpus"]}).duplicated()]
    for suite, item, corpus in firsts.itertuples(index=False, name=None):
        name = style.figure_label(suite) + (f", {corpus}" if corpus else "")
        yield Picture(
            name=slug(f"sentence {suite} {corpus}"),
            section="sentences",
            title=f"Surprisal by word: item {item} of {name}",
            caption="The variants of the item, aligned by region; means over random seeds. The "
            "critical region is shaded.",
            draw=partial(results.surprisal_figure, content, suite=suite, item=item, corpus=corpus),
        )


def _statistics(content: ReportContent) -> Iterator[Picture]:
    for number, analysis in enumerate(content.analyses):
        if results.estimate_rows(analysis):
            yield Picture(
                name=f"estimates_{number + 1}_{slug(analysis.title)}",
                section="statistics",
                title=f"Estimates: {analysis.title}",
                caption="One row per comparison, with 95 % intervals; hollow markers: the interval "
                "includes zero.",
                draw=partial(results.estimates, analysis),
                subject=number,
            )


def _corpora(content: ReportContent) -> Iterator[Picture]:
    if any(row.excess_bits_per_word is not None for row in content.perplexity):
        yield Picture(
            name="excess_surprisal",
            section="corpora",
            title="Excess surprisal over the exact grammar",
            caption="Surprisal of each model minus that of the grammar that generated the test "
            "sentences, in bits per word; zero is optimal. Markers are means over random seeds, "
            "bars are ranges.",
            draw=partial(results.excess, content.perplexity),
        )
    if content.lengths:
        yield Picture(
            name="sentence_lengths",
            section="corpora",
            title="Sentence lengths",
            caption="Distribution of sentence lengths in each corpus.",
            draw=partial(results.sentence_lengths, content.lengths),
        )
    if content.curves:
        yield Picture(
            name="loss_curves",
            section="training",
            title="Loss during training",
            caption="Validation and training loss of each run after each epoch. Losses with trees "
            "include the loss of the tree and are not comparable to the others.",
            draw=partial(results.loss_curves, content.curves),
        )


# Embedding of figures in a page, with shared letter outlines and styles.
#
# matplotlib writes the outlines of letters into every figure and the style into every line. The
# figures of a page share both, which reduces their size to about a third.

# Colours that are replaced by colours of the page, so that figures support dark mode.
PAGE_COLOURS = {
    display.SKY: "var(--sky)",
    display.BLUE: "var(--blue)",
    display.ORANGE: "var(--orange)",
    display.VERMILLION: "var(--vermillion)",
    display.GREEN: "var(--green)",
    display.PURPLE: "var(--purple)",
    display.GREY: "var(--grey)",
    style.INK: "var(--ink)",
    style.MUTED: "var(--muted)",
    style.GRID: "var(--grid)",
    style.BAND: "var(--band)",
    style.PAPER: "var(--paper)",
}

_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_SHIFT = re.compile(r"translate\((-?[\d.]+) (-?[\d.]+)\)")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_LEFT_OUT = ("metadata", "style", "title")
# The page has its own background.
_BACKGROUND = f"fill: {style.PAPER}"


class InlineFigures:
    """Converts the figures of a page one by one and collects what they share."""

    def __init__(self) -> None:
        self._outlines: dict[tuple[str, str], str] = {}
        self._styles: dict[str, str] = {}
        self._count = 0

    def figure(self, svg: str, *, label: str) -> Markup:
        """Return a figure with unique ids, the page's colours, and a label for screen readers."""
        self._count += 1
        root = ElementTree.fromstring(svg)
        letters = {}
        for node in filter(_is_letter, root.iter()):
            outline = (re.sub(r"\s+", " ", node.get("d", "")).strip(), node.get("transform", ""))
            name = self._outlines.setdefault(outline, f"g{len(self._outlines)}")
            letters[node.get("id", "")] = name
        width, height = root.get("viewBox", "0 0 640 320").split()[2:]
        attributes = {
            "role": "img",
            "aria-label": label,
            "viewBox": f"0 0 {width} {height}",
            # Figures shrink in narrow windows, down to a minimum width that is still readable.
            "style": f"--width:{float(width) * 4 / 3:.0f}px;--least:{float(width):.0f}px",
        }
        return _element("svg", attributes, (self._node(child, letters) for child in root))

    def outlines(self) -> Markup:
        """Return the letter outlines of all figures so far, which the page must contain."""
        paths = [
            _element("path", {"id": name, "d": d, "transform": transform})
            for (d, transform), name in self._outlines.items()
        ]
        hidden = {"width": "0", "height": "0", "aria-hidden": "true", "style": "position:absolute"}
        return _element("svg", hidden, [_element("defs", {}, paths)]) if paths else Markup("")

    def css(self) -> str:
        """Return the styles of all figures so far."""
        return "".join(f".{name}{{{rules}}}\n" for rules, name in self._styles.items())

    def _node(self, node: ElementTree.Element, letters: dict[str, str]) -> Markup:
        """Return an element and its content; groups without attributes are unwrapped."""
        name = node.tag.rpartition("}")[2]
        if name in _LEFT_OUT or _is_letter(node) or node.get("style") == _BACKGROUND:
            return Markup("")
        inside = [self._node(child, letters) for child in node]
        attributes = dict(self._attributes(name, node, letters))
        if name in ("g", "defs") and not (attributes and any(inside)):
            content = Markup("").join(inside)
            return _element("defs", {}, [content]) if name == "defs" and content else content
        return _element(name, attributes, inside)

    def _attributes(
        self, name: str, node: ElementTree.Element, letters: dict[str, str]
    ) -> Iterator[tuple[str, str]]:
        for key, value in node.attrib.items():
            key = key.rpartition("}")[2]
            if key == "id":
                if name in ("path", "clipPath"):
                    yield "id", self._own(value)
            elif key == "href":
                target = value.removeprefix("#")
                yield "href", f"#{letters.get(target) or self._own(target)}"
            elif key == "style":
                for colour, variable in PAGE_COLOURS.items():
                    value = value.replace(colour, variable)
                compact = re.sub(r"\s*([:;])\s*", r"\1", value.strip())
                yield "class", self._styles.setdefault(compact, f"s{len(self._styles)}")
            elif name == "use" and key == "transform" and (shift := _SHIFT.fullmatch(value)):
                # Outlines have large coordinates: one unit is a hundredth of a letter.
                yield "x", f"{float(shift[1]):.0f}"
                if float(shift[2]):
                    yield "y", f"{float(shift[2]):.0f}"
            else:
                value = _REFERENCE.sub(lambda target: f"url(#{self._own(target[1])})", value)
                # Two decimals are visually lossless.
                value = _LONG_NUMBER.sub(_two_digits, value)
                yield key, re.sub(r"\s+", " ", value).strip()

    def _own(self, identifier: str) -> str:
        return f"f{self._count}-{identifier}"


def _element(name: str, attributes: Mapping[str, str], inside: Iterable[Markup] = ()) -> Markup:
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    content = Markup("").join(inside)
    return Markup(f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>")


def _is_letter(node: ElementTree.Element) -> bool:
    # Outlines of letters are scaled; markers of lines are not.
    is_scaled = node.get("transform", "").startswith("scale(")
    return is_scaled and node.tag.endswith("}path") and "id" in node.attrib


def _two_digits(number: re.Match[str]) -> str:
    value = float(number[0])
    return f"{value:.4g}" if abs(value) < 1 else f"{value:.2f}".rstrip("0").rstrip(".")
