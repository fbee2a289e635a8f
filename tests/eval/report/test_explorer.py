"""The item explorer in a browser: what it opens on, what it shows, keys, address, downloads."""

from __future__ import annotations

from pathlib import Path

from gardenpath.eval.report.content import Study
from gardenpath.eval.report.explorer import opening
from tests.eval.report.browser import Browser, choose, downloaded, shown_words, texts_at


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


def test_the_explorer_switches_suite_item_and_model(shown: Browser) -> None:
    choose(shown, "suite", "classifier noun adjective")
    assert shown_words(shown) == ["他", "看见", "了", "一", "本", "可爱", "的", "书", "。"]
    shown.run("document.getElementById('explorer-next').click()")
    assert shown_words(shown) == ["他", "看见", "了", "一", "家", "可爱", "的", "工厂", "。"]
    numbers = "document.querySelector('#explorer-variants .bits').textContent"
    choose(shown, "run", "lstm · seed 1")
    before = shown.run(numbers)
    assert shown.run("document.querySelectorAll('.parse').length") == 0, "no parses of an lstm"
    choose(shown, "run", "exact grammar")
    assert shown.run(numbers) != before
    assert "∞" in shown.run("document.getElementById('explorer-variants').textContent")
    choose(shown, "suite", "islands object")
    assert shown_words(shown)[:3] == ["I", "know", "what"]


def test_parses_follow_the_keyboard(shown: Browser) -> None:
    choose(shown, "suite", "classifier noun adjective")
    choose(shown, "run", "rnng · seed 1")
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


def test_arrow_keys_move_from_item_to_item(shown: Browser, report: Path) -> None:
    shown.open(report)
    choose(shown, "suite", "islands object")
    shown.run("window.scrollTo({top: 0, behavior: 'instant'})")
    shown.run("document.querySelector('#explorer-models button').focus({preventScroll: true})")
    item = "document.getElementById('explorer-item').selectedOptions[0].text"
    assert shown.run(item) == "1"
    shown.press("ArrowRight")
    assert shown.run(item) == "2"
    shown.press("ArrowRight")
    assert shown.run(item) == "2", "it is the last one"
    shown.press("ArrowLeft")
    assert shown.run(item) == "1"
    shown.run("document.activeElement.blur()")
    shown.press("ArrowRight")
    assert shown.run(item) == "1", "the explorer is not in view"
    shown.run("document.getElementById('explorer').scrollIntoView({behavior: 'instant'})")
    shown.press("ArrowRight")
    assert shown.run(item) == "2"


def test_the_address_has_the_state_of_the_explorer(shown: Browser, report: Path) -> None:
    shown.open(report)
    assert shown.run("location.hash") == "", "a page that nobody has touched has a plain address"
    choose(shown, "suite", "islands complex np")
    shown.run("document.getElementById('explorer-next').click()")
    choose(shown, "run", "plm · seed 1")
    shown.run(
        "document.querySelectorAll('#explorer-variants .variant')[1]"
        ".querySelectorAll('button.cell')[2].click()"
    )
    before, fragment = _state(shown), str(shown.run("location.hash"))
    assert (before["suite"], before["item"], before["word"]) == ("islands complex np", "2", "1 2")
    assert before["trees"]
    shown.open(report, fragment=fragment)
    assert _state(shown) == before
    # The page scrolls there smoothly.
    shown.wait_for("Math.abs(document.getElementById('explorer').getBoundingClientRect().top) < 99")
    choose(shown, "suite", "islands object")
    assert _state(shown) != before
    shown.run(f"(() => {{ location.hash = '{fragment}'; }})()")
    shown.wait_for("document.getElementById('explorer-item').value === '1'")
    assert _state(shown) == before, "also if the address of an open page is changed"


def test_an_address_of_something_else_does_no_harm(shown: Browser, report: Path) -> None:
    shown.open(report)
    plain = _state(shown)
    for fragment in ("#explorer:suite=none&item=7", "#explorer:", "#explorer:suite=%E0%A4%A"):
        shown.open(report, fragment=fragment)
        assert _state(shown) == plain
    shown.open(report, fragment="#explorer:suite=islands_object&item=99&model=x&variant=9&word=99")
    assert _state(shown)["suite"] == "islands object" and shown_words(shown)


def test_all_models_have_the_same_axis(shown: Browser, report: Path) -> None:
    shown.open(report)
    choose(shown, "suite", "islands object")
    ticks = texts_at("#explorer-chart text[text-anchor=end]")
    labels = [t for t in shown.run(ticks) if t.isdigit()]
    assert len(labels) >= 3 and labels[0] == "0"
    runs = shown.run("Array.from(document.getElementById('explorer-run').options, o => o.text)")
    assert len(runs) == 7
    pictures = set()
    for run in runs:
        choose(shown, "run", run)
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
    choose(shown, "suite", "classifier noun none")
    choose(shown, "run", "rnng · seed 1")
    boxes = "Array.from(document.querySelectorAll('.parse-column'), c => c.getBoundingClientRect())"
    (left, right) = shown.run(f"{boxes}.map(b => [b.left, b.top, b.right])")
    assert left[1] == right[1] and left[2] <= right[0]


def test_the_chart_of_the_explorer_can_be_downloaded(shown: Browser, report: Path) -> None:
    shown.open(report)
    button = "document.querySelector('#explorer-downloads button')"
    label = str(shown.run(f"{button}.getAttribute('aria-label')"))
    csv = downloaded(shown, label.replace("as SVG", "as CSV")).decode().splitlines()
    assert csv[0] == "variant,word_id,region,word,surprisal_bits"
    cells = shown.run("document.querySelectorAll('#explorer-variants .cell').length")
    assert len(csv) - 1 == cells
    assert b"<svg" in downloaded(shown, label)
    assert downloaded(shown, label.replace("as SVG", "as PNG")).startswith(b"\x89PNG")
