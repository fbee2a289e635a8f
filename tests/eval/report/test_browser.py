"""The report in a browser: it opens, sorts, filters, explores, and looks like something."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib import image as mpl_image

from gardenpath.eval.report.page import FOLDED
from tests.eval.report.browser import Browser, choose, downloaded


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
