"""The report in a browser: it opens, sorts, filters, explores, and looks like something."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib import image as mpl_image

from gardenpath.eval.report.page.first_item import opening
from gardenpath.eval.report.page.page import FOLDED
from gardenpath.eval.report.study import Study
from tests.eval.report.browser import Browser, browser, find_browser
from tests.no_skips import NEEDS_BROWSER


@pytest.fixture(scope="module")
def shown(report: Path) -> Iterator[Browser]:
    """The report in a window."""
    path = find_browser()
    if path is None:
        pytest.skip(NEEDS_BROWSER)
    with browser(path) as window:
        window.open(report)
        yield window
        assert window.errors == []


def _column(window: Browser, table: str, column: int) -> list[str]:
    cells = f"Array.from(document.getElementById('{table}').tBodies[0].rows)"
    found = window.run(f"{cells}.filter(r => !r.hidden).map(r => r.cells[{column}].textContent)")
    return [str(value) for value in found]


def _texts(path: str) -> str:
    """The expression of the texts of all elements at a path."""
    return f"Array.from(document.querySelectorAll('{path}'), one => one.textContent)"


def _choose(window: Browser, name: str, value: str) -> None:
    """Choose an option by its text, as a reader does."""
    window.run(
        f"(() => {{ const list = document.getElementById('explorer-{name}');"
        f"list.value = Array.from(list.options).find(o => o.text === '{value}').value;"
        "list.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )


def _open_by_link(window: Browser, name: str) -> None:
    """Follow a link to an element, as one in the text of the page would."""
    window.run(f"(() => {{ location.hash = '#{name}'; }})()")
    window.page.wait_for_function(f"document.getElementById('{name}').checkVisibility()")


def _words(window: Browser) -> list[str]:
    path = "#explorer-variants .variant:first-child .word"
    return list(window.run(f"Array.from(document.querySelectorAll('{path}'), w => w.textContent)"))


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
    shown.page.wait_for_function(fold)


def _downloaded(window: Browser, label: str) -> bytes:
    with window.page.expect_download() as download:
        window.page.get_by_label(label, exact=True).click()
    return Path(download.value.path()).read_bytes()


def test_every_figure_can_be_downloaded(shown: Browser, report: Path) -> None:
    shown.open(report)
    figures = shown.run("Array.from(document.querySelectorAll('figure'), f => f.dataset.name)")
    assert len(figures) > 10
    kinds = "Array.from(f.querySelectorAll('.downloads button'), b => b.textContent).join()"
    found = shown.run(f"Array.from(document.querySelectorAll('figure'), f => {kinds})")
    assert set(found) == {"SVG,PNG,CSV"}
    files = report.parent / "figures"
    name = figures[0]
    csv = _downloaded(shown, f"Download {name} as CSV")
    assert csv == (files / f"{name}.csv").read_bytes() and b"mean" in csv
    assert _downloaded(shown, f"Download {name} as PNG").startswith(b"\x89PNG")
    svg = ElementTree.fromstring(_downloaded(shown, f"Download {name} as SVG"))
    uses = [one for one in svg.iter() if one.tag.endswith("use")]
    assert len(uses) > 50
    outlines = {one.get("id") for one in svg.iter() if one.tag.endswith("path")}
    assert {str(one.get("href"))[1:] for one in uses} <= outlines, "it needs no page"


def test_the_chart_of_the_explorer_can_be_downloaded(shown: Browser, report: Path) -> None:
    shown.open(report)
    button = "document.querySelector('#explorer-downloads button')"
    label = str(shown.run(f"{button}.getAttribute('aria-label')"))
    csv = _downloaded(shown, label.replace("as SVG", "as CSV")).decode().splitlines()
    assert csv[0] == "variant,word_id,region,word,surprisal_bits"
    cells = shown.run("document.querySelectorAll('#explorer-variants .cell').length")
    assert len(csv) - 1 == cells
    assert b"<svg" in _downloaded(shown, label)
    assert _downloaded(shown, label.replace("as SVG", "as PNG")).startswith(b"\x89PNG")


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
    folds = "document.querySelectorAll('details')"
    shown.run(f"(() => {{ for (const fold of {folds}) fold.open = true; }})()")
    assert shown.run("document.documentElement.scrollWidth") <= 390, "nor with all folds open"


def _state(window: Browser) -> dict[str, str]:
    """What the explorer shows: the chosen options, the pressed word, the trees."""
    chosen = {
        name: window.run(f"document.getElementById('explorer-{name}').selectedOptions[0].text")
        for name in ("suite", "item", "run")
    }
    pressed = "document.querySelector('button.cell[aria-pressed=true]')"
    word = window.run(f"{pressed} && {pressed}.dataset.variant + ' ' + {pressed}.dataset.word")
    trees = window.run("document.getElementById('explorer-parses').textContent")
    return {**chosen, "word": str(word), "trees": str(trees)}


def test_the_explorer_opens_where_the_page_says(shown: Browser, report: Path, study: Study) -> None:
    shown.open(report)
    best = opening(study)
    assert best is not None
    state = _state(shown)
    assert state["suite"].startswith(best.suite.replace("_", " "))
    assert state["item"] == str(best.item)
    assert best.reason in shown.run("document.querySelector('#explorer .note').textContent")


def test_the_address_has_the_state_of_the_explorer(shown: Browser, report: Path) -> None:
    shown.open(report)
    assert shown.run("location.hash") == "", "a page that nobody has touched has a plain address"
    _choose(shown, "suite", "islands complex np")
    shown.run("document.getElementById('explorer-next').click()")
    _choose(shown, "run", "plm · seed 1")
    shown.run(
        "document.querySelectorAll('#explorer-variants .variant')[1]"
        ".querySelectorAll('button.cell')[2].click()"
    )
    before, fragment = _state(shown), str(shown.run("location.hash"))
    assert (before["suite"], before["item"], before["word"]) == ("islands complex np", "2", "1 2")
    assert before["trees"]
    shown.open(report, fragment=fragment)
    assert _state(shown) == before
    assert (
        shown.run("Math.abs(document.getElementById('explorer').getBoundingClientRect().top)") < 99
    )
    _choose(shown, "suite", "islands object")
    assert _state(shown) != before
    shown.run(f"(() => {{ location.hash = '{fragment}'; }})()")
    shown.page.wait_for_function("document.getElementById('explorer-item').value === '1'")
    assert _state(shown) == before, "also if the address of an open page is changed"


def test_an_address_of_something_else_does_no_harm(shown: Browser, report: Path) -> None:
    shown.open(report)
    plain = _state(shown)
    for fragment in ("#explorer:suite=none&item=7", "#explorer:", "#explorer:suite=%E0%A4%A"):
        shown.open(report, fragment=fragment)
        assert _state(shown) == plain
    shown.open(report, fragment="#explorer:suite=islands_object&item=99&model=x&variant=9&word=99")
    assert _state(shown)["suite"] == "islands object" and _words(shown)


def test_arrow_keys_move_from_item_to_item(shown: Browser, report: Path) -> None:
    shown.open(report)
    _choose(shown, "suite", "islands object")
    shown.run("document.querySelector('#explorer-models button').focus()")
    item = "document.getElementById('explorer-item').selectedOptions[0].text"
    assert shown.run(item) == "1"
    shown.press("ArrowRight")
    assert shown.run(item) == "2"
    shown.press("ArrowRight")
    assert shown.run(item) == "2", "it is the last one"
    shown.press("ArrowLeft")
    assert shown.run(item) == "1"


def test_all_models_have_the_same_axis(shown: Browser, report: Path) -> None:
    shown.open(report)
    _choose(shown, "suite", "islands object")
    ticks = _texts("#explorer-chart text[text-anchor=end]")
    labels = [t for t in shown.run(ticks) if t.isdigit()]
    assert len(labels) >= 3 and labels[0] == "0"
    runs = shown.run("Array.from(document.getElementById('explorer-run').options, o => o.text)")
    assert len(runs) == 7
    pictures = set()
    for run in runs:
        _choose(shown, "run", run)
        assert [t for t in shown.run(ticks) if t.isdigit()] == labels
        assert "bits" in shown.run(ticks)
        pictures.add(
            shown.run("document.querySelector('#explorer-chart polyline').getAttribute('points')")
        )
    assert len(pictures) == len(runs), "though the lines differ"
    lines = shown.run("document.querySelectorAll('#explorer-chart polyline').length")
    assert (
        lines == shown.run("document.querySelectorAll('#explorer-variants .variant').length") == 4
    )


def test_parses_of_all_variants_stand_side_by_side(shown: Browser, report: Path) -> None:
    shown.open(report)
    _choose(shown, "suite", "classifier noun none")
    _choose(shown, "run", "rnng · seed 1")
    boxes = "Array.from(document.querySelectorAll('.parse-column'), c => c.getBoundingClientRect())"
    (left, right) = shown.run(f"{boxes}.map(b => [b.left, b.top, b.right])")
    assert left[1] == right[1] and left[2] <= right[0]


def test_every_picture_can_be_read_and_is_not_blank(shown: Browser, report: Path) -> None:
    """All figures and what the explorer draws, also in the dark."""
    for dark in (False, True):
        shown.open(report, dark=dark)
        _choose(shown, "suite", "classifier noun none")
        _choose(shown, "run", "rnng · seed 1")
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
            pixels = mpl_image.imread(io.BytesIO(_downloaded(shown, label)))[..., :3]
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


def test_the_explorer_switches_suite_item_and_model(shown: Browser) -> None:
    _choose(shown, "suite", "classifier noun adjective")
    assert _words(shown) == ["他", "看见", "了", "一", "本", "可爱", "的", "书", "。"]
    shown.run("document.getElementById('explorer-next').click()")
    assert _words(shown) == ["他", "看见", "了", "一", "家", "可爱", "的", "工厂", "。"]
    numbers = "document.querySelector('#explorer-variants .bits').textContent"
    _choose(shown, "run", "lstm · seed 1")
    before = shown.run(numbers)
    assert shown.run("document.querySelectorAll('.parse').length") == 0, "no parses of an lstm"
    _choose(shown, "run", "exact grammar")
    assert shown.run(numbers) != before
    assert "∞" in shown.run("document.getElementById('explorer-variants').textContent")
    _choose(shown, "suite", "islands object")
    assert _words(shown)[:3] == ["I", "know", "what"]


def test_parses_follow_the_keyboard(shown: Browser) -> None:
    _choose(shown, "suite", "classifier noun adjective")
    _choose(shown, "run", "rnng · seed 1")
    first = 'document.querySelector("button.cell")'
    shown.run(f"{first}.click()")
    label = "document.querySelector('.parse svg').getAttribute('aria-label')"
    assert shown.run(label) == "(IP (NP 他)"
    shown.press("ArrowRight")
    assert shown.run(label) == "(IP (NP 他) (VP 看见"
    assert shown.run("document.activeElement.dataset.word") == "1"
    shown.press("ArrowDown")
    assert shown.run("document.activeElement.dataset.variant") == "1"
    assert shown.run("document.querySelectorAll('button.cell[aria-pressed=true]').length") == 1
    shares = shown.run("Array.from(document.querySelectorAll('.parse'), p => p.textContent)")
    both = ["61.0", "30.0", "5.0"] * 2
    assert [share.split(" ")[0] for share in shares] == both, "both variants, side by side"


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
