"""The page of the playground: streaming, keyboard, contrast, safety, copies."""

from __future__ import annotations

import csv
import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from gardenpath.eval.suites.library import load_suites
from tests.eval.report.browser import Browser
from tests.playground.pages import (
    FIRST,
    SECOND,
    cells_of,
    compute,
    copied,
    finished,
    open_page,
)
from tests.playground.serving import Served, served, settings_for
from tests.toy_runs import evaluate

# Colours of all texts and of what is behind them, blended.
CONTRASTS = """() => {
  const parts = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const mixed = (top, below, a) => [0, 1, 2].map((k) => top[k] * a + below[k] * (1 - a));
  const over = (top, below) => mixed(top, below, top[3] ?? 1);
  const ground = (node) => {
    const layers = [];
    for (let one = node; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      const image = style.backgroundImage.match(/rgba?\\([^)]*\\)/);
      if (image) layers.push(parts(image[0]));
      layers.push(parts(style.backgroundColor));
    }
    const opaque = layers.reverse().filter((one) => one.length);
    return opaque.reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const bright = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const found = [];
  for (const node of document.querySelectorAll('body *')) {
    const isShown = node.getClientRects().length && Array.from(node.childNodes)
      .some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!isShown || node.closest('svg') || node.tagName === 'OPTION') continue;
    const behind = ground(node), text = over(parts(getComputedStyle(node).color), behind);
    const [low, high] = [bright(text), bright(behind)].sort((a, b) => a - b);
    const name = `${node.className}: ${node.textContent.slice(0, 30)}`;
    found.push([(high + 0.05) / (low + 0.05), name]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}"""


def test_the_first_word_arrives_before_the_last_is_computed(
    page: Page, playground: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = playground.shelf.models[playground.name_of("rnng")]
    sentence = "the young author that knows the old senator sleeps near the lake again ."
    computed: list[str] = []
    is_shown = threading.Event()
    original = model.scored

    def scored(sentences: Any, *, on_stored: Any, check: Any) -> Any:
        def on_stored_slowly(words: Any, stored: Any) -> None:
            on_stored(words, stored)
            computed.append(words[-1])
            # The second word is computed only after the page has shown the first.
            assert is_shown.wait(60)

        return original(sentences, on_stored=on_stored_slowly, check=check)

    monkeypatch.setattr(model, "scored", scored)
    for box in page.query_selector_all("#models input"):
        box.set_checked(box.get_attribute("value") == playground.name_of("rnng"))
    page.fill("#first", sentence)
    page.fill("#second", "")
    page.press("#first", "Enter")
    page.wait_for_function(
        "() => /^[0-9.]+$/.test(document.querySelector('.card .bits')?.textContent)"
    )
    cells = [bits for _, bits in cells_of(page, "rnng")]
    assert len(computed) == 1 and cells[1:] == ["…"] * len(sentence.split())
    is_shown.set()
    finished(page)
    assert len(computed) == len(sentence.split())


def test_an_example_whose_words_are_known_is_offered(page: Page) -> None:
    page.wait_for_function("() => document.getElementById('first').value !== ''")
    group = page.get_attribute("#examples optgroup >> nth=0", "label")
    assert group == "all words known"
    page.wait_for_selector("#first-seen:not(:empty)")
    assert page.locator("#first-seen mark, #second-seen mark").count() == 0
    assert page.locator(".card").count() == 0 and "#" not in page.url.rstrip("#")
    page.click("#go")
    finished(page)
    shown = [word for word, _ in cells_of(page, "toy_english")][
        : len(page.input_value("#first").split())
    ]
    assert " ".join(shown) == page.input_value("#first")


def test_what_was_unfolded_and_scrolled_stays_so(
    opened: Browser, page: Page, playground: Served
) -> None:
    opened.resize(width=390)
    compute(page, playground, FIRST, SECOND, families=("rnng",))
    page.click(".cell >> nth=1")
    page.click(".trees details summary >> nth=0")
    page.evaluate("document.querySelector('.card .chart-place').scrollLeft = 40")
    before = page.evaluate("window.scrollY")
    for _ in range(len(FIRST.split()) - 2):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.querySelector('.trees details').open")
        # The chosen word is in the window, beside the heading of its row.
        left, right, edge = page.evaluate(
            """() => {
              const cell = document.activeElement.getBoundingClientRect();
              const head = document.querySelector('.grid th').getBoundingClientRect();
              return [cell.left, cell.right, head.right];
            }"""
        )
        assert edge - 1 <= left and right <= 390
    # Trees of other heights may move the page a little, but it does not jump.
    assert abs(page.evaluate("window.scrollY") - before) < 60


def test_the_page_is_used_with_the_keyboard_alone(page: Page, playground: Served) -> None:
    compute(page, playground, FIRST, SECOND, families=("rnng", "lstm"))
    page.focus("#skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "results"
    # The jump is no state of the page: sentences and models remain.
    assert page.input_value("#first") == FIRST and "first=" in page.url
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.className")
        )
    assert reached[:4] == ["copy-yaml", "copy-tsv", "copy-picture", "copy-link"]
    assert any(name.startswith("cell") for name in reached)
    unnamed = page.evaluate(
        """() => Array.from(document.querySelectorAll('button, input, select, summary'))
          .filter(one => one.offsetParent)
          .filter(one => !one.getAttribute('aria-label') && !one.textContent.trim())
          .filter(one => !one.labels || !one.labels.length).length"""
    )
    assert unnamed == 0


@pytest.mark.parametrize("dark", [False, True])
def test_all_texts_can_be_read(opened: Browser, page: Page, playground: Served, dark: bool) -> None:
    opened.resize(width=1280, dark=dark)
    compute(page, playground, f"xylograph {FIRST}", SECOND, families=("rnng", "lstm"))
    page.click("#copy-tsv")
    copied(page, "table copied")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 60
    assert [one for one in found if one[0] < 4.5] == []


def test_words_are_never_code(page: Page, playground: Served) -> None:
    words = "<img src=x onerror=window.bad=1> <b>the</b> \"' &amp; ${1} javascript:window.bad=1"
    compute(page, playground, words, f"{words} .", families=("rnng", "lstm"))
    page.wait_for_selector("#first-seen mark")
    page.click("#copy-picture")
    page.wait_for_function("() => document.getElementById('copied').textContent.includes('copied')")
    assert page.locator(".card img, .card b, .seen img, .seen b").count() == 0
    assert page.evaluate("window.bad") is None
    assert any("<b>" in word for word, _ in cells_of(page, "rnng"))


def test_cells_and_chart_have_the_words_in_one_order(page: Page, playground: Served) -> None:
    pair = "the author knows the old senator .", "the author laughs near the senator ."
    compute(page, playground, *pair, families=("rnng",))
    columns = page.evaluate(
        """() => Array.from(document.querySelectorAll('.grid tr'))
          .filter(row => row.querySelector('.cell'))
          .map(row => Array.from(row.cells).slice(1)
            .flatMap((cell, place) => cell.querySelector('.cell') ? [place] : []))"""
    )
    places = page.evaluate(
        """() => {
          const seen = {};
          for (const one of document.querySelectorAll('.chart-place text[text-anchor="middle"]')) {
            const row = one.getAttribute('y');
            (seen[row] = seen[row] || []).push(Number(one.getAttribute('x')));
          }
          const all = Array.from(new Set(Object.values(seen).flat())).sort((a, b) => a - b);
          return Object.values(seen).map((row) => row.map((x) => all.indexOf(x)));
        }"""
    )
    assert columns == places and len(columns) == 2


def test_names_of_models_are_never_code(page: Page) -> None:
    title = page.evaluate(
        """() => {
          const name = '"><img src=x onerror=window.bad=1>';
          const model = { name, model: '<b>x</b>', corpus: '<i>y</i>', seed: 1 };
          const place = document.createElement('div');
          Models.show(place, [model], [model.name]);
          const tree = Drawing.tree('(<b>S</b> (<script>NP the) (VP');
          document.body.append(place, tree);
          const found = [
            place.querySelectorAll('b, i, img').length,
            tree.querySelectorAll('b, script').length,
            place.querySelector('input').value === model.name,
          ];
          place.remove(); tree.remove();
          return found;
        }"""
    )
    assert title == [0, 0, True]


def test_inline_code_is_not_run(opened: Browser, page: Page) -> None:
    page.evaluate(
        """() => {
          const script = document.createElement('script');
          script.textContent = 'window.bad = 1';
          document.body.append(script);
        }"""
    )
    assert page.evaluate("window.bad") is None
    assert any("Content Security Policy" in one for one in opened.errors)
    opened.errors.clear()


def test_a_link_to_a_model_that_is_not_in_the_list_says_so(page: Page, playground: Served) -> None:
    names = ["runs/elsewhere/seed9", playground.name_of("ngram")]
    open_page(page, playground, first=FIRST, run=names)
    finished(page)
    assert page.locator("#models input:checked").count() == 1
    assert "runs/elsewhere/seed9" in page.inner_text("#add-note")
    assert page.input_value("#reference") == "runs/elsewhere/seed9"


def test_without_the_server_the_page_says_what_to_do(
    opened: Browser, folder: Path, tmp_path: Path
) -> None:
    with served(settings_for(folder, tmp_path / "store.sqlite")) as found:
        open_page(opened.page, found)
        opened.page.wait_for_function("() => document.getElementById('first').value !== ''")
    opened.page.click("#go")
    opened.page.wait_for_selector("#problem:not([hidden])")
    assert "python playground.py" in opened.page.inner_text("#problem")
    opened.errors.clear()


@pytest.mark.slow
@pytest.mark.parametrize("sentences", [(FIRST,), (FIRST, SECOND), ("the author knows", "a king .")])
@pytest.mark.parametrize("family", ["lstm", "plm"])
def test_any_copied_item_is_a_suite(
    page: Page, playground: Served, tmp_path: Path, sentences: tuple[str, ...], family: str
) -> None:
    compute(page, playground, *sentences, families=(family,))
    # The end of a sentence is no region of a suite; another word is the critical one.
    page.click(".cell >> text=</s> >> nth=0")
    page.click("#copy-yaml")
    (tmp_path / "mine.yaml").write_text(copied(page, "YAML item copied"), encoding="utf-8")
    (suite,) = load_suites([str(tmp_path / "mine.yaml")])
    assert {" ".join(words) for words in suite.sentences} == set(sentences)
    assert suite.critical == ("critical",) and len(suite.effects) == 1
    assert len(suite.predictions) == len(sentences) - 1
    page.fill("#first", f"{FIRST} |")
    page.press("#first", "Enter")
    finished(page)
    page.click("#copy-yaml")
    page.wait_for_function(
        "() => document.getElementById('copied').textContent.includes('not copied')"
    )


def test_a_copied_suite_is_evaluated(
    page: Page, playground: Served, folder: Path, tmp_path: Path
) -> None:
    compute(page, playground, FIRST, SECOND, families=("rnng",))
    page.click('.cell[data-variant="0"][data-word="2"]')
    first, second = (float(page.inner_text(f'.cell[data-variant="{v}"][data-word="{w}"] .bits'))
                     for v, w in ((0, 2), (1, 4)))  # fmt: skip
    page.click("#copy-yaml")
    path = tmp_path / "mine.yaml"
    path.write_text(copied(page, "YAML item copied"), encoding="utf-8")
    evaluate(
        folder, tmp_path / "results", "suite=file", f"suite.suites=[{path}]", "task.report=false",
        model="rnng",
    )  # fmt: skip
    (file,) = (tmp_path / "results").rglob("items.csv")
    (row,) = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    assert float(row["difference_bits"]) == pytest.approx(first - second, abs=0.011)
