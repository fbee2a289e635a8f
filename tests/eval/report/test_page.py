"""The report as a file: complete, self-contained, and safe whatever the texts are."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.eval.comparison import EXACT
from src.eval.report.explorer import INFINITE, ExplorerLimits, explorer_data
from src.eval.report.markup import data_block, element, inline_svg, text
from src.eval.report.page import page
from src.eval.report.report import write_report
from src.eval.report.study import Study
from src.eval.report.tables import ReportTable, number, table_html
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
    assert [tag for tag, _ in outline.elements].count("script") == 2  # data, and the page's own
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
        *("overview", "accuracy", "effects", "explorer", "sentences"),
        *("statistics", "doubts", "perplexity", "training"),
    ]


def test_pictures_have_words_for_those_who_do_not_see_them(outline: Outline) -> None:
    figures = [a for tag, a in outline.elements if tag == "svg"]
    assert len(figures) > 10
    assert all(a.get("role") == "img" and a.get("aria-label") for a in figures)


def test_figures_take_the_colours_of_the_page(content: str) -> None:
    figures = "".join(re.findall(r"<svg.*?</svg>", content, flags=re.DOTALL))
    assert "var(--ink)" in figures and "var(--blue)" in figures
    assert "#1f2933" not in figures and "#ffffff" not in figures


def test_words_are_embedded_for_machines_without_chinese_fonts(content: str) -> None:
    assert re.search(r"@font-face\{font-family:\"Gardenpath Han\";src:url\(data:font/otf", content)


@given(st.text(max_size=40))
def test_json_in_pages_reads_back_and_cannot_end_its_element(word: str) -> None:
    block = data_block("x", {"word": word + "</script><!--"})
    inside = block.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert "<" not in inside and ">" not in inside
    assert json.loads(inside) == {"word": word + "</script><!--"}


@given(st.text(max_size=40))
def test_elements_read_back(word: str) -> None:
    parser = Outline()
    parser.feed(element("p", word, title=word, aria_label="a", hidden=False, open=True) + " ")
    shown = word.replace("\r", "\n") if "\r" in word else word
    assert parser.elements[0][0] == "p"
    assert set(parser.elements[0][1]) == {"title", "aria-label", "open"}
    assert "".join(parser.texts).rstrip(" ").replace("\r", "\n") == shown.rstrip(" ")
    assert text(element("b", word)) == element("b", word)


def test_figures_in_one_page_do_not_share_ids() -> None:
    svg = '<?xml?><svg viewBox="0 0 9 9"><defs><path id="a"/></defs><use xlink:href="#a"/>'
    svg += '<g clip-path="url(#a)"/></svg>'
    placed = inline_svg(svg, name="one two", label='"')
    assert placed.count("one-two-a") == 3 and "&quot;" in placed


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
    assert number(value, column) == expected


def test_tables_sort_by_numbers_and_not_by_digits() -> None:
    frame = pd.DataFrame({"model": ["a", "b"], "bits": [10.0, math.nan]})
    table = table_html(ReportTable(name="t", title="T", frame=frame))
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


def test_the_explorer_holds_what_the_study_holds(content: str, study: Study) -> None:
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


def test_infinite_surprisals_survive_the_way(content: str) -> None:
    data = _data(content)
    values = data["suites"][0]["items"][0]["s"][_run(data, EXACT)]
    assert INFINITE in values[1] and INFINITE not in values[0]


def test_the_explorer_keeps_its_limits_and_says_so(study: Study) -> None:
    limits = ExplorerLimits(items=1, items_with_parses=0, parses=1)
    data = explorer_data(study, limits)
    assert all(len(suite["items"]) == 1 and suite["total"] == 2 for suite in data["suites"])
    assert data["trees"] == []
    assert "first 1 items of each suite" in page(study, {}, limits)


def test_an_empty_study_makes_a_page(tmp_path: Path) -> None:
    path = write_report(Study(title="Nothing yet"), tmp_path)
    content = path.read_text(encoding="utf-8")
    assert "Nothing yet" in content and 'id="explorer-root"' not in content


def test_a_study_without_corpora_and_seeds_makes_a_page(study: Study, tmp_path: Path) -> None:
    """Surprisals that somebody else's models gave."""

    def bare(table: pd.DataFrame) -> pd.DataFrame:
        chosen = table[(table["corpus"] == "toy_mandarin") & (table["model"] != EXACT)]
        return chosen.assign(corpus="", seed=pd.array([pd.NA] * len(chosen), dtype="Int64"))

    other = Study(
        title="Rescored",
        items=bare(study.items),
        summary=study.summary.assign(corpus=""),
        surprisals=bare(study.surprisals),
    )
    path = write_report(other, tmp_path)
    assert "highest mean accuracy of 6 models" in path.read_text(encoding="utf-8")


def test_figures_of_an_earlier_report_go(study: Study, tmp_path: Path) -> None:
    lengths = replace(Study(title="x"), lengths=study.lengths)
    write_report(lengths, tmp_path)
    (tmp_path / "figures" / "notes.txt").write_text("mine", encoding="utf-8")
    write_report(Study(title="x"), tmp_path)
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["notes.txt"]


def test_a_report_is_the_same_every_time(tmp_path: Path, study: Study) -> None:
    small = Study(title="x", lengths=study.lengths, surprisals=study.surprisals[:60])
    first = write_report(small, tmp_path / "a").read_bytes()
    assert write_report(small, tmp_path / "b").read_bytes() == first
