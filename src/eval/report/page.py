"""HTML and JSON with escaping, so that no text is interpreted as code, and tables for templates.

``page``, the reports of studies and the playground render Jinja2 templates through this module and
through nothing else: plain ``str`` values are escaped, only ``Markup`` is inserted verbatim.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gardenpath.eval.display import EXACT
from gardenpath.eval.perplexity import MARGINAL, PerplexityRow
from gardenpath.eval.report.content import (
    ReportContent,
    ReportedAnalysis,
    arranged,
    cautions,
    corpus_groups,
    findings,
)
from gardenpath.eval.report.explorer import ExplorerLimits, explorer_data, opening
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures.all import (
    InlineFigures,
    Picture,
    WrittenFigure,
    pictures,
    write_pictures,
)
from gardenpath.eval.suites.outcomes import usable_counts
from gardenpath.eval.suites.pairs import pairs_in_words, phenomenon_frames
from gardenpath.store.files import write_text
from gardenpath.store.tables import COULD_FLIP, NEAR_TIES, RUN_COLUMNS, SENTENCE_COLUMNS
from gardenpath.util import plural, spaced, unbroken

PAGE_TEMPLATES = Path(__file__).with_name("templates")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(PAGE_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(unbroken=unbroken, plural=plural)
    return environment


def render(template: str, **data: Any) -> Markup:
    """Render a template, such as ``page.html``, with data."""
    return Markup(_environment().get_template(template).render(data))


def data_block(identifier: str, content: Any) -> Markup:
    """Return JSON for embedding in a page; it cannot end the script element or start a comment."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    block = Markup('<script type="application/json" id="{}">{}</script>')
    return block.format(identifier, Markup(written))


# Tables of the report, as plain data for the templates.

MINUS = "\N{MINUS SIGN}"
# Tables with more rows have a filter.
ROWS_FOR_FILTER = 8
# Texts with more characters are wrapped.
LONG_TEXT = 40


class TableCell(NamedTuple):
    """A cell: its text, its CSS class, and its numeric sort key, if any."""

    text: str
    style: str = ""
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReportTable:
    """A table with its title; rows whose first value is in ``strong`` are highlighted.

    Columns of empty strings are omitted: for example, given surprisals have no corpus.
    """

    name: str
    title: str
    frame: pd.DataFrame
    note: str = ""
    strong: Sequence[str] = ()

    def __post_init__(self) -> None:
        kept = [name for name in self.frame.columns if not (self.frame[name] == "").all()]
        object.__setattr__(self, "frame", self.frame[kept])

    @cached_property
    def _is_numeric(self) -> list[bool]:
        kinds = self.frame.dtypes
        return [
            pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
            for kind in kinds
        ]

    @property
    def columns(self) -> list[TableCell]:
        heads = zip(self.frame, self._is_numeric, strict=True)
        return [TableCell(spaced(name), "number" if is_number else "") for name, is_number in heads]

    @cached_property
    def rows(self) -> list[tuple[str, list[TableCell]]]:
        """The rows: the CSS class and the cells of each."""
        rows = []
        for values in self.frame.itertuples(index=False, name=None):
            cells = []
            for name, value, is_number in zip(self.frame, values, self._is_numeric, strict=True):
                if is_number:
                    cells.append(TableCell(cell_text(value, str(name)), "number", _sort_key(value)))
                else:
                    is_plain = isinstance(value, bool | float | None)
                    text = cell_text(value) if is_plain else str(value)
                    cells.append(TableCell(text, "wide" if cells and len(text) > LONG_TEXT else ""))
            rows.append(("strong" if str(values[0]) in self.strong else "", cells))
        return rows

    @property
    def has_filter(self) -> bool:
        return len(self.frame) > ROWS_FOR_FILTER


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, Real) and math.isnan(float(value)))


def cell_text(value: object, column: str = "") -> str:
    """Format a value: integers without decimals, p values short, others with three decimals."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_missing(value):
        return "–"
    if isinstance(value, Integral):
        return f"{int(value):,}".replace("-", MINUS)
    assert isinstance(value, Real)
    real = float(value)
    if math.isinf(real):
        return "∞" if real > 0 else f"{MINUS}∞"
    if column == "p":
        digits = 4 if real < 0.01 else 3
        return "< .001" if real < 0.001 else f"{real:.{digits}f}".removeprefix("0")
    if column in ("perplexity", "perplexity without end", "bits/sentence"):
        return f"{real:.2f}".replace("-", MINUS)
    return f"{real:.3f}".replace("-", MINUS)


def _sort_key(value: object) -> str:
    """Return the sort key of a cell; empty for missing values, which come last."""
    if _is_missing(value):
        return ""
    assert isinstance(value, Real)
    return "1e999" if float(value) == math.inf else f"{float(value):.7g}"


# ----------------------------------------------------------------------------
# The report as a file: its tables, its chapters, and ``report.html`` with the figures beside it.
#
# ``write_report`` is called for every evaluation with a report; ``finished_page`` also makes the
# page of a published study (``gardenpath.studies.report``). The numbers come from
# ``ReportContent``, the markup from ``templates``. The page is self-contained: it opens from disk
# without network access.


MAX_UNKNOWN_WORDS = 300


def in_model_order(table: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by corpus and, within it, by model in the order of families."""
    return arranged(table, ["corpus", "model"], ()).reset_index(drop=True)


def accuracy_tables(content: ReportContent) -> Iterator[ReportTable]:
    """Yield tables with models as rows and classes as columns, one per group of corpora."""
    groups = corpus_groups(content.items)
    for number, corpora in enumerate(groups):
        table = content.by_class[content.by_class["corpus"].isin(corpora)]
        wide = table.pivot_table(
            index=["model", "corpus"], columns="class", values="mean", sort=False
        )
        wide.columns = [spaced(name or "all items") for name in wide.columns]
        if wide.shape[1] > 1:
            overall = content.by_model.set_index(["model", "corpus"])
            wide["mean"] = overall["mean"]
        counted = ["ties", NEAR_TIES, "missing"]
        counts = table.groupby(["model", "corpus"], sort=False)[counted].sum()
        wide["ties"], wide["near ties"] = counts["ties"], counts[NEAR_TIES]
        if counts["missing"].any():
            wide["missing"] = counts["missing"]
        frame = in_model_order(wide.reset_index())
        yield ReportTable(
            name=f"accuracy-{number}",
            title="Accuracy by class" + ("" if len(groups) == 1 else f": {', '.join(corpora)}"),
            frame=frame.drop(columns="corpus") if len(corpora) == 1 else frame,
            note="Means over random seeds and modifiers. A tie counts as its expected value under "
            "random order, and so does a near tie: a difference too small to tell from zero.",
            strong=(EXACT,),
        )


def pair_set_tables(content: ReportContent) -> Iterator[ReportTable]:
    """Yield the accuracies on published minimal pairs, averaged as by their authors."""
    for which, frame in phenomenon_frames(content.aggregate):
        named = frame.assign(name=frame["name"].map(spaced))
        yield ReportTable(
            name=f"pairs-{which.name}",
            title=f"{which.title} ({which.reference})",
            frame=named.drop(columns="level").rename(columns={"name": "phenomenon"}),
            note=f"Compared is the {pairs_in_words(which, content.aggregate)}.",
        )


def summary_table(content: ReportContent) -> ReportTable:
    columns = [
        column for column in content.summary.columns if content.summary[column].notna().any()
    ]
    # Omit columns of counts that are all zero.
    counts = ("missing", "unknown", NEAR_TIES, COULD_FLIP)
    columns = [c for c in columns if c not in counts or content.summary[c].any()]
    by = [column for column in ("corpus", "model", "class", "modifier") if column in columns]
    frame = arranged(content.summary[columns], by, content.modifier_orders)
    for column in ("class", "modifier"):
        if column in frame.columns:
            frame = frame.assign(**{column: frame[column].map(spaced)})
    return ReportTable(
        name="summary",
        title="Accuracy by class and modifier",
        frame=frame.reset_index(drop=True),
        note="low and high are the bounds of the 95 % bootstrap interval over items; ties counts "
        "predictions with exactly equal surprisals, over all random seeds"
        + (", near_ties those with differences too small to count" if NEAR_TIES in columns else "")
        + (", could_flip those within the search error." if COULD_FLIP in columns else "."),
        strong=(EXACT,),
    )


def runs_table(content: ReportContent) -> ReportTable:
    runs = content.runs()
    with_parses = {key[0] for key in content.parses}
    if with_parses:
        runs["shows parses"] = [run in with_parses for run in runs["run"]]
    columns = [*("model", "corpus", "seed", "run"), *runs.columns[len(RUN_COLUMNS) :]]
    return ReportTable(name="runs", title="Runs", frame=runs[columns], strong=(EXACT,))


def perplexity_tables(content: ReportContent) -> Iterator[ReportTable]:
    """Yield a table for each set of runs that can be ranked.

    Rows on other sentences, and joint perplexities, are in tables of their own; the exact grammar
    is beside perplexities of words alone. Empty columns are left out.
    """
    groups: dict[tuple[str, int, int, bool], list[PerplexityRow]] = {}
    for row in content.perplexity:
        groups.setdefault(row.basis, []).append(row)
    for number, ((corpus, sentences, _, is_joint), rows) in enumerate(groups.items()):
        numbers = {
            "perplexity": [row.perplexity for row in rows],
            "perplexity without end": [row.perplexity_without_end for row in rows],
            "bits/sentence": [row.bits_per_sentence for row in rows],
            "excess bits/word": [row.excess_bits_per_word for row in rows],
        }
        frame = pd.DataFrame({"model": [row.model for row in rows]})
        frame["seed"] = pd.array([row.seed for row in rows], dtype="Int64")
        frame = frame.assign(**numbers).astype(dict.fromkeys(numbers, "float64"))
        note = "Per word; the end of each sentence counts as a word unless stated otherwise. "
        if is_joint:
            note += "Words together with their gold trees (joint): more bits than for words alone."
        elif any(row.model.endswith(MARGINAL) for row in rows):
            note += "Words alone; models with trees are summed over trees (marginal)."
        yield ReportTable(
            name=f"perplexity-{number}",
            title=f"Perplexity {'with gold trees ' if is_joint else ''}on "
            f"{plural(sentences, 'test sentence')} of {corpus}",
            frame=frame.dropna(axis="columns", how="all"),
            note=note,
            strong=(EXACT,),
        )


def excess_table(content: ReportContent) -> ReportTable | None:
    """Return the mean excess surprisal over the exact grammar in the suites, in bits per word.

    Words to which the grammar assigns zero probability, and all words after them, have no excess.
    """
    table = content.surprisals
    keys = ["corpus", *SENTENCE_COLUMNS, "word_id"]
    exact = table[table["model"] == EXACT][[*keys, "surprisal_bits"]]
    exact = exact[np.isfinite(exact["surprisal_bits"])].drop_duplicates(keys)
    models = table[table["model"] != EXACT]
    both = models.merge(exact, on=keys, suffixes=("", "_exact"))
    if not len(both):
        return None
    both["excess"] = both["surprisal_bits"] - both["surprisal_bits_exact"]
    both["critical"] = is_critical(content, both)
    by = ["model", "corpus"]
    groups = both.groupby(by, sort=False)
    critical = both[both["critical"]].groupby(by, sort=False)
    frame = pd.DataFrame(
        {
            "words": groups["word_id"].size() // groups["run"].nunique(),
            "excess bits/word": groups["excess"].mean(),
            "in critical regions": critical["excess"].mean(),
        }
    )
    return ReportTable(
        name="excess",
        title="Excess surprisal over the exact grammar, in the suites",
        frame=in_model_order(frame.reset_index()),
        note="Surprisal of the model minus surprisal of the exact grammar, in bits per word. Means "
        "over random seeds and over all words that the grammar gives a non-zero probability.",
    )


def is_critical(content: ReportContent, rows: pd.DataFrame) -> pd.Series:
    """Return, for each word, whether it is in a critical region of its suite."""
    marked = {(suite, region) for suite, regions in content.critical.items() for region in regions}
    pairs = zip(rows["suite"], rows["region"].astype(str), strict=True)
    return pd.Series([pair in marked for pair in pairs], index=rows.index, dtype=bool)


def unknown_items_table(content: ReportContent) -> ReportTable:
    """Return the counts of items with out-of-vocabulary critical words, ties, missing values."""
    table = content.by_class
    columns = ["model", "corpus", "class", "items", "unknown", "ties", NEAR_TIES, "missing"]
    columns += [COULD_FLIP] if COULD_FLIP in table.columns else []
    frame = table[columns].rename(columns={"unknown": "with out-of-vocabulary critical words"})
    frame["class"] = frame["class"].map(spaced)
    return ReportTable(
        name="doubts",
        title="Items with out-of-vocabulary words, and ties",
        frame=in_model_order(frame),
        note="Each item is counted once; ties, near_ties and missing count predictions over all "
        "random seeds.",
    )


def unusable_table(content: ReportContent) -> ReportTable | None:
    """Return the unusable items of each model and suite, the largest shares first."""
    frame = usable_counts(content.items, ["model", "corpus", "suite"])
    frame["% unusable"] = 100.0 * (1.0 - frame["usable"] / frame["items"])
    frame = frame[frame["usable"] < frame["items"]]
    if not len(frame):
        return None
    frame = frame.sort_values("% unusable", ascending=False, kind="stable")
    return ReportTable(
        name="unusable",
        title="Items that are not usable",
        frame=frame.reset_index(drop=True),
        note="An item is usable if all its critical words are in the vocabulary and all its "
        f"surprisals are present. Tests and intervals need {content.min_items} usable items.",
    )


def unknown_words_table(content: ReportContent) -> ReportTable | None:
    """Return the out-of-vocabulary words of the suites, the most frequent first."""
    table = content.surprisals
    rows = table[~table["seen"].astype(bool)]
    if not len(rows):
        return None
    rows = rows.assign(critical=is_critical(content, rows))
    places = rows.drop_duplicates(["corpus", *SENTENCE_COLUMNS, "word_id"])
    groups = places.groupby(["word", "corpus"], sort=False)
    frame = pd.DataFrame(
        {
            "times": groups.size(),
            "times in critical regions": groups["critical"].sum().astype("int64"),
            "suites": groups["suite"].nunique(),
        }
    ).sort_values("times", ascending=False, kind="stable")
    note = f"{len(frame)} words are out of vocabulary for at least one model."
    if len(frame) > MAX_UNKNOWN_WORDS:
        note += f" The {MAX_UNKNOWN_WORDS} most frequent are listed."
    return ReportTable(
        name="unknown",
        title="Out-of-vocabulary words",
        frame=frame.head(MAX_UNKNOWN_WORDS).reset_index(),
        note=note,
    )


# The page.

REPORT_FILE = "report.html"
FIGURES_FOLDER = "figures"
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
    *("tables.js", "trees.js", "downloads.js", "chart.js", "cells.js", "explorer.js", "folds.js"),
)


def page(content: ReportContent, drawn: Mapping[str, WrittenFigure], limits: ExplorerLimits) -> str:
    """Return the report as HTML; ``drawn`` maps names to figures."""
    inline = InlineFigures()
    figures = [
        (picture, inline.figure(drawn[picture.name].svg, label=picture.title))
        for picture in pictures(content)
        if picture.name in drawn
    ]
    return finished_page(
        title=content.title, description=content.description, chapters=CHAPTERS, folded=FOLDED,
        values=_values(content, figures, limits), inline=inline, drawn=drawn,
        explorer=explorer_data(content, limits),
    )  # fmt: skip


def finished_page(
    *,
    title: str,
    description: str,
    chapters: Mapping[str, str],
    folded: Collection[str],
    values: Mapping[str, Any],
    inline: InlineFigures,
    drawn: Mapping[str, WrittenFigure],
    explorer: Mapping[str, Any] | None = None,
) -> str:
    """Return a whole page; ``chapters`` maps the names of templates to titles.

    Chapters are rendered with ``values``; empty ones are left out, and only the titles of
    ``folded`` ones are shown at first. ``inline`` has the figures of the chapters, ``drawn`` their
    numbers, ``explorer`` the data of the explorer.
    """
    written = {name: render(f"{name}.html", **values).strip() for name in chapters}
    data = data_block("explorer-data", explorer)
    texts = "".join([title, description, *written.values(), data])
    figure_data = data_block("figure-data", {name: figure.csv for name, figure in drawn.items()})
    font = ""
    # The Han characters of the page, for systems without such fonts.
    if address := style.embedded(texts):
        source = f'font-family:"{style.BUNDLED_NAME}";src:url({address}) format("opentype")'
        font = f"@font-face{{{source}}}\n"
    return render(
        "page.html", title=title, description=description,
        chapters=[(name, chapters[name], html) for name, html in written.items() if html],
        folded=folded, outlines=inline.outlines(), data=data + figure_data,
        style=Markup(font + _asset("report.css") + inline.css()),
        script=Markup("\n".join(_asset(name) for name in SCRIPTS)),
    )  # fmt: skip


def _asset(name: str) -> str:
    return (style.ASSETS / name).read_text(encoding="utf-8")


def _values(
    content: ReportContent, figures: Sequence[tuple[Picture, Markup]], limits: ExplorerLimits
) -> dict[str, Any]:
    """Return the data for the templates of the chapters."""
    has_items = bool(len(content.items))
    per_suite = content.surprisals.groupby("suite")["item"].nunique()
    return {
        "content": content,
        "limits": limits,
        "figures": figures,
        "open_figures": _open_figures(figures),
        "findings": list(findings(content.items, min_items=content.min_items)),
        "warnings": list(cautions(content)),
        "notes": content.notes,
        "facts": {name: value for name, value in content.facts.items() if value},
        "opening": first.reason if (first := opening(content)) else "",
        "scored_items": int(per_suite.max()) if len(per_suite) else 0,
        "analyses": [
            (analysis, analysis_tables(analysis, f"analysis-{number}"))
            for number, analysis in enumerate(content.analyses)
        ],
        "run_tables": _filled([runs_table(content)]),
        "accuracy_tables": _filled(accuracy_tables(content) if has_items else ()),
        "pair_tables": _filled(pair_set_tables(content)),
        "summary_tables": _filled([summary_table(content)] if has_items else ()),
        "unusable_tables": _filled([unusable_table(content)] if has_items else ()),
        "doubt_tables": _filled(
            [unknown_items_table(content), unknown_words_table(content)] if has_items else ()
        ),
        "perplexity_tables": _filled([*perplexity_tables(content), excess_table(content)]),
    }


def _open_figures(figures: Sequence[tuple[Picture, Markup]]) -> set[str]:
    """Return the names of the figures that are open: the first ones of each chapter."""
    names: set[str] = set()
    heights = dict.fromkeys(OPEN_HEIGHTS, 0.0)
    for picture, svg in figures:
        if picture.section in heights:
            is_first = not heights[picture.section]
            size = re.search(r'viewBox="\S+ \S+ \S+ ([\d.]+)"', svg)
            # Sizes in the drawing are in points.
            heights[picture.section] += float(size[1]) * 4 / 3 if size else 0.0
            if is_first or heights[picture.section] <= OPEN_HEIGHTS[picture.section]:
                names.add(picture.name)
    return names


def _filled(tables: Iterable[ReportTable | None]) -> list[ReportTable]:
    return [table for table in tables if table is not None and len(table.frame)]


def analysis_tables(analysis: ReportedAnalysis, name: str) -> list[ReportTable]:
    """Return the tables of an analysis; their names start with ``name``."""
    return _filled(
        ReportTable(name=f"{name}-{place}", title=title, frame=frame)
        for place, (title, frame) in enumerate(analysis.tables.items())
    )


def write_report(
    content: ReportContent, folder: Path, *, limits: ExplorerLimits | None = None
) -> Path:
    """Write the figures and the report to a folder; return the path of the report.

    Each file is written atomically. The report embeds its figures, so it is always consistent with
    them. Figures of an earlier report that this one does not have are removed at the end.
    """
    figures = folder / FIGURES_FOLDER
    drawn = write_pictures(content, figures)
    path = folder / REPORT_FILE
    write_text(path, page(content, drawn, limits or ExplorerLimits()))
    if figures.is_dir():
        for old in sorted(figures.iterdir()):
            if old.suffix in (".svg", ".png", ".csv") and old.stem not in drawn:
                old.unlink()
    return path
