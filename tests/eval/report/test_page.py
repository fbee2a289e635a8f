"""The report as a file: complete, self-contained, and safe whatever the texts are."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import image as mpl_image

from gardenpath.eval.display import EXACT
from gardenpath.eval.report.content import Glossed, ReportContent, ReportedAnalysis
from gardenpath.eval.report.explorer import INFINITE, ExplorerLimits, explorer_data
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures.all import InlineFigures
from gardenpath.eval.report.page import (
    CHAPTERS,
    FOLDED,
    PAGE_TEMPLATES,
    ReportTable,
    cell_text,
    data_block,
    page,
    perplexity_tables,
    render,
    summary_table,
    write_report,
)
from gardenpath.studies.compared import STUDY_CHAPTERS
from tests.eval.report.browser import Browser, choose, downloaded
from tests.eval.report.samples import NASTY


class Outline(HTMLParser):
    """Elements, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def content(report: Path) -> str:
    return report.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def outline(content: str) -> Outline:
    parser = Outline()
    parser.feed(content)
    return parser


def test_nothing_in_the_page_points_outside(content: str, outline: Outline) -> None:
    for _, attributes in outline.elements:
        for name in ("src", "href", "xlink:href", "action", "data", "poster"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:")), value
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", content))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert all(url.startswith(("#", "data:")) for url in re.findall(r"url\(\"?([^)]*)", content))
    assert "default-src 'none'" in content and "@import" not in content


def test_texts_stay_texts(content: str, outline: Outline) -> None:
    assert NASTY not in content
    assert [tag for tag, _ in outline.elements].count("script") == 3  # two of data, the page's own
    assert any(NASTY in piece for piece in outline.texts)


def test_ids_are_unique_and_references_find_them(outline: Outline) -> None:
    ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = [a.get("href") or a.get("xlink:href") or "" for _, a in outline.elements]
    wanted = {link[1:] for link in links if link.startswith("#")}
    assert wanted <= set(ids)


def test_every_chapter_is_there(outline: Outline) -> None:
    chapters = [a["id"] for tag, a in outline.elements if a.get("class") == "chapter"]
    assert chapters == [
        *("answer", "accuracy", "effects", "explorer", "statistics"),
        *("sentences", "doubts", "perplexity", "training", "runs"),
    ]


def test_pictures_have_words_for_those_who_do_not_see_them(outline: Outline) -> None:
    figures = [a for tag, a in outline.elements if tag == "svg" and "aria-hidden" not in a]
    assert len(figures) > 10
    assert all(a.get("role") == "img" and a.get("aria-label") for a in figures)


def test_figures_take_the_colours_of_the_page(content: str) -> None:
    figures = "".join(re.findall(r"<svg.*?</svg>", content, flags=re.DOTALL))
    rules = "".join(re.findall(r"^\.s\d+\{.*\}$", content, flags=re.MULTILINE))
    assert "var(--ink)" in rules and "var(--blue)" in rules
    assert "#1f2933" not in figures + rules and "#ffffff" not in figures + rules
    used = set(re.findall(r'class="(s\d+)"', figures))
    assert used == set(re.findall(r"\.(s\d+)\{", rules))


def test_letters_are_drawn_once_for_all_figures(content: str, report: Path) -> None:
    paths = sorted((report.parent / "figures").glob("*.svg"))
    single = {
        (node.get("d"), node.get("transform"))
        for path in paths
        for node in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}path")
        if "scale" in node.get("transform", "")
    }
    kept = re.findall(r'<path id="(g\d+)"', content)
    assert len(kept) == len(set(kept)) == len(single)
    assert len(content.encode()) < sum(path.stat().st_size for path in paths)


def test_words_are_embedded_for_machines_without_chinese_fonts(content: str) -> None:
    assert re.search(r"@font-face\{font-family:\"Gardenpath Han\";src:url\(data:font/otf", content)


@given(st.text(max_size=40))
def test_json_in_pages_reads_back_and_cannot_end_its_element(word: str) -> None:
    block = data_block("x", {"word": word + "</script><!--"})
    inside = block.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert "<" not in inside and ">" not in inside
    assert json.loads(inside) == {"word": word + "</script><!--"}


def _table(frame: pd.DataFrame, **settings: Any) -> str:
    """A table of the chapter on runs, which shows whatever tables it is given."""
    table = ReportTable(name="t", title="T", frame=frame, **settings)
    return render("runs.html", facts={}, run_tables=[table])


@given(st.text(max_size=40))
def test_texts_of_templates_read_back(word: str) -> None:
    parser = Outline()
    parser.feed(_table(pd.DataFrame({"a": ["x"], "b": ["y"]}), note=f"note: {word}|") + " ")
    assert [tag for tag, _ in parser.elements].count("p") == 1
    shown = "".join(parser.texts).replace("\r\n", "\n").replace("\r", "\n")
    assert f"note: {word}|".replace("\r\n", "\n").replace("\r", "\n") in shown


def test_every_template_is_used() -> None:
    names = {path.stem for path in PAGE_TEMPLATES.glob("*.html")}
    assert names == {*CHAPTERS, *STUDY_CHAPTERS, "page", "parts"}


SVG = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 viewBox="0 0 9 4.5"><defs><style>*{stroke: red}</style></defs>
 <g id="figure"><path d="M 0 0" style="fill: #ffffff"/>
  <g id="text"><g style="fill: #1f2933" transform="translate(1.23456 2) scale(0.09 -0.09)">
   <defs><path id="Font-1" d="M 1
 2" transform="scale(0.015625)"/></defs>
   <use xlink:href="#Font-1"/><use xlink:href="#Font-1" transform="translate(61.279 0)"/></g></g>
  <defs><path id="mark" d="M 0 0"/><clipPath id="edge"><rect x="0" y="0"/></clipPath></defs>
  <use xlink:href="#mark" x="3.14159" y="2" clip-path="url(#edge)" style="fill: #1f2933"/>
 </g></svg>"""


def test_figures_share_letters_and_styles_but_no_marks() -> None:
    inline = InlineFigures()
    one, two = inline.figure(SVG, label='"'), inline.figure(SVG, label="b")
    assert one == (
        '<svg role="img" aria-label="&#34;" viewBox="0 0 9 4.5" style="--width:12px;--least:9px">'
        '<g class="s0" transform="translate(1.23 2) scale(0.09 -0.09)">'
        '<use href="#g0"/><use href="#g0" x="61"/></g>'
        '<defs><path id="f1-mark" d="M 0 0"/><clipPath id="f1-edge"><rect x="0" y="0"/></clipPath>'
        '</defs><use href="#f1-mark" x="3.14" y="2" clip-path="url(#f1-edge)" class="s0"/></svg>'
    )
    assert two == one.replace("f1-", "f2-").replace("&#34;", "b")
    assert inline.outlines().count("<path") == 1
    assert '<path id="g0" d="M 1 2" transform="scale(0.015625)"/>' in inline.outlines()
    assert inline.css() == ".s0{fill:var(--ink)}\n"
    assert InlineFigures().outlines() == ""


def test_a_statistical_question_is_one_line_and_significant_results_come_first(
    content: str,
) -> None:
    chapter = content[content.index('id="statistics"') :]
    first = chapter[chapter.index('<details class="analysis">') : chapter.index("</details>")]
    line, details = first.split("</summary>", 1)
    assert "<strong>Does structural supervision help?</strong> 1 of 3 comparisons differs" in line
    assert "significantly from zero (p\N{NO-BREAK SPACE}&lt;" in line
    others = details.index("No significant difference in 2 other comparisons:")
    assert details.index("RNNG is more accurate") < others < details.index("No difference")
    assert "t(4)\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}−0.57" in details
    assert "Not tested in 1 case:" in chapter


def test_a_single_answer_is_never_folded() -> None:
    analysis = ReportedAnalysis(
        title="x", sentences=("No effect could be shown.",), significant=(False,)
    )
    content = page(ReportContent(title="t", analyses=[analysis]), {}, ExplorerLimits())
    assert "<strong>x</strong> No effect could be shown.</summary>" in content


@pytest.mark.parametrize(
    ("length", "line"),
    [
        (20, "RNNG is more accurate than LSTM: b = 0.51, SE 0.20, z = 2.57, p = .010"),
        (70, "RNNG is more accurate than LSTM."),
        (95, "A significant difference."),
    ],
)
def test_a_single_answer_fits_a_line(length: int, line: str) -> None:
    said = "RNNG is more accurate than LSTM: b = 0.51, SE 0.20, z = 2.57, p = .010"
    assert ReportedAnalysis(title="x" * length, sentences=(said,), significant=(True,)).line == line
    several = ReportedAnalysis(
        title="x" * length, sentences=(said, said), significant=(True, False)
    )
    assert len(several.line) + length <= 118 and several.line.startswith("1 of 2")


def test_the_answer_has_its_warnings(study: ReportContent) -> None:
    content = page(study, {}, ExplorerLimits())
    chapter = content[content.index('id="answer"') : content.index('id="accuracy"')]
    assert chapter.count('<p class="answer">On toy_') == 2
    warnings = re.findall(r"<li>(.*?)</li>", chapter)
    assert warnings[0].startswith("Items with unknown critical words: unigram (toy_mandarin) 16 of")
    assert "and 3 others. Accuracies of these models say little." in warnings[0]
    assert warnings[1].startswith("Too few usable items for intervals and tests of some models")
    assert "in classifier noun, missing object: 10 are needed" in warnings[1]


def test_details_of_runs_are_folded_and_the_answer_is_not(content: str) -> None:
    folded = dict(re.findall(r'<section id="(\w+)" class="chapter">\s*<(details|h2)', content))
    assert [name for name, how in folded.items() if how == "details"] == list(FOLDED)


def test_a_title_that_asks_has_no_full_stop(content: str) -> None:
    titles = re.findall(r"<figcaption><strong>(.*?)</strong> ", content)
    assert any(title.endswith("help?") for title in titles)
    assert all(title.endswith((".", "?")) and not title.endswith("?.") for title in titles)


def test_perplexities_say_what_they_rest_on(study: ReportContent) -> None:
    english = [row for row in study.perplexity if row.corpus == "toy_english"]
    joint = [replace(row, model=f"{row.model} (joint)") for row in english[:2]]
    marginal = replace(english[4], model="rnng (marginal)", sentences=15)
    rows = [*joint, *english, marginal]
    tables = list(perplexity_tables(replace(study, perplexity=rows)))
    assert [table.title for table in tables] == [
        "Perplexity with gold trees on 500 test sentences of toy_english",
        "Perplexity on 500 test sentences of toy_english",
        "Perplexity on 15 test sentences of toy_english",
    ]
    models = [table.frame["model"].tolist() for table in tables]
    assert models == [
        [row.model for row in joint],
        [row.model for row in english],
        [marginal.model],
    ]
    assert ["joint" in table.note for table in tables] == [True, False, False]
    assert ["marginal" in table.note for table in tables] == [False, False, True]
    corpora = [table.title.split()[-1] for table in perplexity_tables(study)]
    assert corpora == ["toy_english", "toy_mandarin"], "perplexities of two corpora say nothing"


def test_tables_stand_in_the_order_of_the_figures(study: ReportContent) -> None:
    frame = summary_table(study).frame
    part = frame[(frame["corpus"] == "toy_mandarin") & (frame["class"] == "missing object")]
    assert list(dict.fromkeys(part["model"]))[-2:] == ["plm", EXACT]
    expected = ["none", "subject rc", "coordinated rc", "embedded rc"]
    assert part["modifier"].tolist() == expected * 7


def test_what_is_empty_is_left_out(content: str) -> None:
    assert "Nothing" not in content
    frame = pd.DataFrame({"model": ["a"], "corpus": [""], "standard_error": [0.5]})
    table = _table(frame)
    assert "corpus" not in table and "standard error" in table


@pytest.mark.parametrize(
    ("value", "column", "expected"),
    [
        (0.0004, "p", "< .001"),
        (0.0095, "p", ".0095"),
        (0.8, "p", ".800"),
        (-0.5, "estimate", "−0.500"),
        (1234, "items", "1,234"),
        (math.nan, "x", "–"),
        (None, "x", "–"),
        (math.inf, "x", "∞"),
        (True, "x", "yes"),
    ],
)
def test_numbers_as_they_are_read(value: object, column: str, expected: str) -> None:
    assert cell_text(value, column) == expected


def test_tables_sort_by_numbers_and_not_by_digits() -> None:
    frame = pd.DataFrame({"model": ["a", "b"], "bits": [10.0, math.nan]})
    table = _table(frame)
    assert 'data-value="10"' in table and 'data-value=""' in table
    assert table.count('aria-sort="none"') == 2
    assert "<input" not in table, "two rows need no filter"


def _data(content: str) -> dict[str, Any]:
    found = re.search(r'id="explorer-data">(.*?)</script>', content, flags=re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def _run(data: dict[str, Any], model: str) -> str:
    """The number of a model's run on the Mandarin toy corpus, as JSON names it."""
    wanted = {"model": model, "corpus": "toy_mandarin"}
    return str(next(n for n, run in enumerate(data["runs"]) if run.items() >= wanted.items()))


def test_the_explorer_holds_what_the_study_holds(content: str, study: ReportContent) -> None:
    data = _data(content)
    suite = next(one for one in data["suites"] if one["name"] == "classifier_noun_adjective")
    item = suite["items"][1]
    run = _run(data, "rnng")
    rows = study.surprisals.query(
        "suite == 'classifier_noun_adjective' and item == 2 and model == 'rnng'"
    )
    for place, variant in enumerate(item["variants"]):
        expected = rows[rows["condition"] == variant["c"]]
        assert [data["words"][n] for n in variant["w"]] == expected["word"].tolist()
        assert [suite["regions"][n] for n in variant["r"]] == expected["region"].tolist()
        assert item["s"][run][place] == expected["surprisal_bits"].round(2).tolist()
        unseen = [n for n, seen in enumerate(expected["seen"]) if not seen]
        found = item["u"][run][place] if place < len(item["u"][run]) else []
        assert found == unseen
        parses = item["p"][run][str(place)]
        key = ("toy_mandarin/rnng/seed1", suite["name"], 2, variant["c"], 1, 3)
        assert [(share, data["trees"][n]) for share, n in parses["2"]] == study.parses[key]


def test_the_explorer_has_glosses_and_translations(study: ReportContent) -> None:
    name = study.suites()[0]
    words = ("he", "see", "PFV", "one", "CL", "book", ".")
    variants: dict[tuple[str, int], tuple[str, ...]]
    variants = {("match", 1): words, ("mismatch", 1): ("too", "few")}
    known: dict[tuple[str, int | str], Glossed]
    known = {(name, 2): (variants, "He sees a book."), (name, 1): ({}, "Only this.")}
    data = explorer_data(replace(study, glosses=known), ExplorerLimits())
    items = {item["id"]: item for item in data["suites"][0]["items"]}
    glossed, empty = items[2]["g"]
    assert tuple(data["glosses"][number] for number in glossed) == words and empty == []
    assert len(items[2]["variants"][0]["w"]) == len(words)
    assert items[2]["t"] == "He sees a book."
    assert ("g" in items[1], items[1]["t"]) == (False, "Only this.")
    assert (
        set(explorer_data(study, ExplorerLimits())["suites"][0]["items"][0]) & {"g", "t"} == set()
    )


def test_infinite_surprisals_survive_the_way(content: str) -> None:
    data = _data(content)
    values = data["suites"][0]["items"][0]["s"][_run(data, EXACT)]
    assert INFINITE in values[1] and INFINITE not in values[0]


@pytest.mark.slow
def test_the_explorer_keeps_its_limits_and_says_so(study: ReportContent) -> None:
    limits = ExplorerLimits(items=1, items_with_parses=0, parses=1)
    data = explorer_data(study, limits)
    assert all(len(suite["items"]) == 1 and suite["total"] == 2 for suite in data["suites"])
    assert data["trees"] == []
    assert "up to 1 items of each suite, of up to 2 scored items" in page(study, {}, limits)


def test_a_crash_leaves_the_earlier_report_whole(
    study: ReportContent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ReportContent(title="x", lengths=study.lengths, curves=study.curves)
    write_report(small, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    drawn = []

    def fail(pixels: style.Pixels) -> bytes:
        drawn.append(pixels)
        if len(drawn) == 2:
            raise RuntimeError("no memory")
        return b"new"

    monkeypatch.setattr(style, "as_png", fail)
    with pytest.raises(RuntimeError, match="no memory"):
        write_report(replace(small, title="y"), tmp_path)
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert set(after) == set(before), "no piece of a file"
    changed = [path.name for path in after if after[path] != before[path]]
    assert changed == ["sentence_lengths.png"]


def test_an_empty_study_makes_a_page(tmp_path: Path) -> None:
    path = write_report(ReportContent(title="Nothing yet"), tmp_path)
    content = path.read_text(encoding="utf-8")
    assert "Nothing yet" in content and 'id="explorer-root"' not in content


def test_a_study_without_corpora_and_seeds_makes_a_page(
    study: ReportContent, tmp_path: Path
) -> None:
    """Surprisals that somebody else's models gave."""

    def bare(table: pd.DataFrame) -> pd.DataFrame:
        chosen = table[(table["corpus"] == "toy_mandarin") & (table["model"] != EXACT)]
        return chosen.assign(corpus="", seed=pd.array([pd.NA] * len(chosen), dtype="Int64"))

    other = ReportContent(
        title="Rescored",
        items=bare(study.items),
        summary=study.summary.assign(corpus=""),
        surprisals=bare(study.surprisals),
    )
    path = write_report(other, tmp_path)
    assert "which of 6 models is the best" in path.read_text(encoding="utf-8")


def test_figures_of_an_earlier_report_go(study: ReportContent, tmp_path: Path) -> None:
    lengths = replace(ReportContent(title="x"), lengths=study.lengths)
    write_report(lengths, tmp_path)
    (tmp_path / "figures" / "notes.txt").write_text("mine", encoding="utf-8")
    write_report(ReportContent(title="x"), tmp_path)
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["notes.txt"]


def test_a_report_is_the_same_every_time(tmp_path: Path, study: ReportContent) -> None:
    small = ReportContent(title="x", lengths=study.lengths, surprisals=study.surprisals[:60])
    first = write_report(small, tmp_path / "a").read_bytes()
    assert write_report(small, tmp_path / "b").read_bytes() == first


# ----------------------------------------------------------------------------
# The report in a browser: it opens, sorts, filters, explores, and looks like something.


def _column(window: Browser, table: str, column: int) -> list[str]:
    cells = f"Array.from(document.getElementById('{table}').tBodies[0].rows)"
    found = window.run(f"{cells}.filter(r => !r.hidden).map(r => r.cells[{column}].textContent)")
    return [str(value) for value in found]


def _open_by_link(window: Browser, name: str) -> None:
    """Follow a link to an element, as one in the text of the page would."""
    window.run(f"(() => {{ location.hash = '#{name}'; }})()")
    window.wait_for(f"document.getElementById('{name}').checkVisibility()")


def test_it_opens_without_errors(shown: Browser) -> None:
    assert "Six models" in shown.run("document.title")
    assert shown.run("document.querySelectorAll('figure svg').length") > 10
    assert shown.errors == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table-perplexity-0", "table-summary", "table-analysis-0-0"])
def test_folds_open_for_a_link_to_something_in_them(
    shown: Browser, report: Path, name: str
) -> None:
    is_seen = f"document.getElementById('{name}').checkVisibility()"
    shown.open(report)
    assert not shown.run(is_seen)
    _open_by_link(shown, name)
    shown.open(report, fragment=f"#{name}")
    assert shown.run(is_seen), "also if the page is opened with it"


@pytest.mark.slow
@pytest.mark.parametrize("name", FOLDED)
def test_folded_chapters_open_from_the_list_of_chapters(
    shown: Browser, report: Path, name: str
) -> None:
    shown.open(report)
    fold = f"document.querySelector('#{name} > details').open"
    assert not shown.run(fold)
    shown.page.click(f"nav a[href='#{name}']")
    shown.wait_for(fold)


def test_every_figure_can_be_downloaded(shown: Browser, report: Path) -> None:
    shown.open(report)
    figures = shown.run("Array.from(document.querySelectorAll('figure'), f => f.dataset.name)")
    assert len(figures) > 10
    kinds = "Array.from(f.querySelectorAll('.downloads button'), b => b.textContent).join()"
    found = shown.run(f"Array.from(document.querySelectorAll('figure'), f => {kinds})")
    assert set(found) == {"SVG,PNG,CSV"}
    files = report.parent / "figures"
    name = figures[0]
    csv = downloaded(shown, f"Download {name} as CSV")
    assert csv == (files / f"{name}.csv").read_bytes() and b"mean" in csv
    assert downloaded(shown, f"Download {name} as PNG").startswith(b"\x89PNG")
    svg = ElementTree.fromstring(downloaded(shown, f"Download {name} as SVG"))
    uses = [one for one in svg.iter() if one.tag.endswith("use")]
    assert len(uses) > 50
    outlines = {one.get("id") for one in svg.iter() if one.tag.endswith("path")}
    assert {str(one.get("href"))[1:] for one in uses} <= outlines, "it needs no page"


@pytest.mark.parametrize("dark", [False, True])
def test_the_answer_and_the_first_figure_are_on_the_first_screen(
    shown: Browser, report: Path, dark: bool
) -> None:
    shown.open(report, width=1280, height=800, dark=dark)
    box = "document.querySelector('figure svg').getBoundingClientRect()"
    top, bottom = shown.run(f"{box}.top"), shown.run(f"{box}.bottom")
    assert (min(bottom, 800) - top) / (bottom - top) > 0.8
    assert shown.run("document.querySelector('.answer').getBoundingClientRect().bottom") < top
    assert shown.run("document.documentElement.scrollHeight") <= 8 * 800


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_it_without_scrolling_sideways(
    shown: Browser, report: Path, dark: bool
) -> None:
    shown.open(report, width=390, height=844, dark=dark)
    answer = "document.querySelector('.answer').getBoundingClientRect()"
    assert shown.run(f"{answer}.bottom") < 844
    assert shown.run("document.documentElement.scrollHeight") <= 12 * 844
    first = "document.querySelector('figure')"
    place = f"{first}.querySelector('.scroll') ?? {first}"
    inside = f"(place => place.scrollWidth - place.clientWidth)({place})"
    assert shown.run(inside) <= 0, "all models are seen at once"
    folds = "document.querySelectorAll('details')"
    shown.run(f"(() => {{ for (const fold of {folds}) fold.open = true; }})()")
    assert shown.run("document.documentElement.scrollWidth") <= 390, "nor with all folds open"


@pytest.mark.slow
def test_every_picture_can_be_read_and_is_not_blank(shown: Browser, report: Path) -> None:
    """All figures and what the explorer draws, also in the dark."""
    for dark in (False, True):
        shown.open(report, dark=dark)
        choose(shown, "suite", "classifier noun none")
        choose(shown, "run", "rnng · seed 1")
        shown.run(
            "(() => { for (const d of document.querySelectorAll('details')) d.open = true; })()"
        )
        labels = shown.run(
            "Array.from(document.querySelectorAll('.downloads button'), b => b.ariaLabel)"
            ".filter(l => l.endsWith('PNG'))"
        )
        figures = shown.run("document.querySelectorAll('figure').length")
        assert len(labels) == figures + 3, "the chart and two columns of parses"
        for label in labels[:: 5 if dark else 1]:
            pixels = mpl_image.imread(io.BytesIO(downloaded(shown, label)))[..., :3]
            assert min(pixels.shape[:2]) > 100, label
            assert pixels.std() > 0.01, label
            assert bool(pixels[0, 0].mean() < 0.4) == dark, label


def test_tables_sort_by_click(shown: Browser) -> None:
    head = "document.querySelectorAll('#table-perplexity-0 thead th')[2]"
    before = [float(value) for value in _column(shown, "table-perplexity-0", 2)]
    assert before != sorted(before), "something to sort"
    shown.run(f"{head}.querySelector('button').click()")
    assert [float(v) for v in _column(shown, "table-perplexity-0", 2)] == sorted(before)
    assert shown.run(f"{head}.getAttribute('aria-sort')") == "ascending"
    shown.run(f"{head}.querySelector('button').click()")
    expected = sorted(before, reverse=True)
    assert [float(v) for v in _column(shown, "table-perplexity-0", 2)] == expected
    assert shown.run(f"{head}.getAttribute('aria-sort')") == "descending"


def test_tables_sort_by_keyboard(shown: Browser) -> None:
    _open_by_link(shown, "table-summary")
    shown.run("document.querySelectorAll('#table-summary th')[0].querySelector('button').focus()")
    shown.press("Enter")
    models = _column(shown, "table-summary", 0)
    assert models == sorted(models)


def test_what_is_missing_comes_last_in_both_directions(shown: Browser) -> None:
    for _ in range(2):
        shown.run("document.querySelectorAll('#table-runs th')[2].querySelector('button').click()")
        assert _column(shown, "table-runs", 2)[-2:] == ["–", "–"]


def test_tables_filter(shown: Browser) -> None:
    shown.run(
        "(() => { const box = document.getElementById('summary-filter');"
        "box.value = 'RNNG mandarin'; box.dispatchEvent(new Event('input')); })()"
    )
    assert set(_column(shown, "table-summary", 0)) == {"rnng"}
    assert set(_column(shown, "table-summary", 1)) == {"toy_mandarin"}
    said = shown.run("document.querySelector('output[for=summary-filter]').textContent")
    assert said.startswith(f"{len(_column(shown, 'table-summary', 0))} of ")


@pytest.mark.parametrize(
    ("bracketed", "labels", "open_nodes", "leaves"),
    [
        ("(S (NP the cat) (VP", ["S", "NP", "VP"], 2, ["the", "cat", "…"]),
        ("(S (NP the cat) (VP sleeps))", ["S", "NP", "VP"], 0, ["the", "cat", "sleeps"]),
        ("(S", ["S"], 1, ["…"]),
    ],
)
def test_trees_are_drawn_as_far_as_they_go(
    shown: Browser, bracketed: str, labels: list[str], open_nodes: int, leaves: list[str]
) -> None:
    tree = f"Drawing.tree('{bracketed}')"
    texts = shown.run(f"Array.from({tree}.querySelectorAll('text'), t => t.textContent)")
    assert sorted(texts) == sorted([*labels, *leaves])
    assert shown.run(f"{tree}.querySelectorAll('rect').length") == open_nodes


def test_letters_of_figures_are_drawn(shown: Browser) -> None:
    """Every letter finds its outline, which all figures share; a blank has none."""
    open_all = "for (const fold of document.querySelectorAll('details')) fold.open = true;"
    letters = """Array.from(document.querySelectorAll('figure svg use[href^="#g"]'))"""
    outline = "document.querySelector(one.getAttribute('href')).getAttribute('d')"
    right = f"one => (one.getBBox().height > 0) === ({outline} !== '')"
    counts = f"[{letters}.length, {letters}.filter({right}).length]"
    total, found = shown.run(f"(() => {{ {open_all} return {counts}; }})()")
    assert total > 500 and found == total


def test_what_is_wide_shows_that_there_is_more(shown: Browser) -> None:
    box = "document.getElementById('table-summary').parentElement"
    shown.resize(width=390)
    assert shown.run(f"{box}.scrollWidth > {box}.clientWidth")
    assert "linear-gradient" in shown.run(f"getComputedStyle({box}).backgroundImage")
    shown.run(f"{box}.scrollLeft = 200")
    first = "document.querySelector('#table-summary thead th')"
    left = f"{first}.getBoundingClientRect().left - {box}.getBoundingClientRect().left"
    assert 0 <= shown.run(left) <= 2, "the first column stays"
    second = "document.querySelectorAll('#table-summary thead th')[1]"
    assert shown.run(f"{second}.getBoundingClientRect().left") < shown.run(
        f"{first}.getBoundingClientRect().right"
    )
    shown.run(f"{box}.scrollLeft = 0")
    shown.resize(width=1280)
    for table in ("table-accuracy-0", "table-accuracy-1", "table-perplexity-0"):
        box = f"document.getElementById('{table}').parentElement"
        assert shown.run(f"{box}.scrollWidth <= {box}.clientWidth"), table


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_looks_like_something(shown: Browser, width: int, dark: bool) -> None:
    shown.resize(width=width, height=900, dark=dark)
    place = "document.getElementById('explorer').offsetTop"
    shown.run(f"window.scrollTo({{top: {place}, behavior: 'instant'}})")
    pixels = mpl_image.imread(io.BytesIO(shown.screenshot()))[..., :3]
    assert pixels.shape[:2] == (900, width)
    assert pixels.std() > 0.03, "not blank"
    assert bool(pixels.mean() < 0.4) == dark
    # Wide things scroll inside their own boxes; the page itself never scrolls sideways.
    assert shown.run("document.documentElement.scrollWidth") <= width


def test_chinese_has_glyphs_whatever_the_machine_has(shown: Browser) -> None:
    """The embedded font alone draws the words; boxes for missing glyphs would all look the same."""
    font = "'20px \"Gardenpath Han\"'"
    shapes = shown.run(
        f"document.fonts.load({font}, '书猫家').then(() => ['书', '猫', '家'].map(word => {{"
        "const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');"
        f"pen.font = {font}; pen.fillText(word, 5, 30); return canvas.toDataURL(); }}))"
    )
    assert len(set(shapes)) == 3
    assert shown.run(f"document.fonts.check({font}, '书猫家')")
