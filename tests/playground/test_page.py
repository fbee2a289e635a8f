"""The page of the playground in a real browser: streaming, keyboard, safety, copies."""

from __future__ import annotations

import csv
import io
import math
import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.surprisal.tables import read_surprisals
from tests.documented.pages import ROOT
from tests.eval.report.browser import Browser
from tests.playground.serving import (
    FIRST,
    SECOND,
    Served,
    cells_of,
    compute,
    copied,
    finished,
    open_page,
    served,
    settings_for,
)
from tests.toy_runs import evaluate


@pytest.mark.slow
def test_cells_are_those_of_task_surprisal(
    page: Page, playground: Served, folder: Path, tmp_path: Path
) -> None:
    families = ("lstm", "ngram", "plm", "rnng")
    compute(page, playground, FIRST, SECOND, families=families)
    (tmp_path / "sentences.txt").write_text(f"{FIRST}\n{SECOND}\n", encoding="utf-8")
    table = tmp_path / "surprisal.tsv"
    evaluate(
        folder, tmp_path, "task=surprisal", f"task.file={table}",
        f"input={tmp_path / 'sentences.txt'}",
        "task.allow_unknown=true", f"paths.surprisals={tmp_path / 'other.sqlite'}",
    )  # fmt: skip
    rows, _ = read_surprisals(table)
    for family in families:
        own = [row for row in rows if f"/{family}/" in row.run]
        assert len(own) == len(FIRST.split()) + len(SECOND.split()) + 2
        shown = cells_of(page, family)
        assert [word for word, _ in shown] == [row.word for row in own]
        for (_, bits), row in zip(shown, own, strict=True):
            assert float(bits) == pytest.approx(row.surprisal_bits, abs=0.0051)


def test_differences_stand_below_words_of_both_variants(page: Page, playground: Served) -> None:
    compute(page, playground, FIRST, SECOND, families=("rnng",))
    rows = page.eval_on_selector_all(
        ".grid tr", "all => all.map(r => Array.from(r.cells).slice(1).map(c => c.textContent))"
    )
    first, second, difference, *entropies = rows
    assert len(first) == len(second) == len(difference) == len(SECOND.split()) + 1
    assert first[2] == "" and second[2].startswith("that") and difference[2] == ""
    numbers = [[float(text[-4:].lstrip("srl.>")) for text in row if text] for row in entropies]
    assert len(entropies) == 2 and all(value >= 0 for row in numbers for value in row)
    cells = dict(zip(range(len(first)), zip(first, second, difference, strict=True), strict=True))
    for place in (0, 1, 4, 5, 6):
        a, b, shown = cells[place]
        sign = -1 if shown.startswith("−") else 1
        expected = _number(a) - _number(b)
        assert sign * float(shown.lstrip("+−")) == pytest.approx(expected, abs=0.011)


def _number(cell: str) -> float:
    """The number at the end of the text of a cell."""
    whole, decimals = cell.rsplit(".", 1)
    digits = len(whole) - len(whole.rstrip("0123456789"))
    return float(f"{whole[len(whole) - digits :]}.{decimals}")


@pytest.mark.slow
def test_arrow_keys_step_through_partial_parses(page: Page, playground: Served) -> None:
    compute(page, playground, FIRST, SECOND, families=("rnng", "plm"))
    card = f'.card[data-name="{playground.name_of("rnng")}"]'
    page.click(f"{card} .cell >> nth=0")
    seen = []
    for _ in range(3):
        assert page.query_selector(f"{card} .trees .parse svg") is not None
        seen.append(page.inner_text(f"{card} .trees h5 >> nth=0"))
        page.keyboard.press("ArrowRight")
    assert [title.split("”")[0] for title in seen] == [
        f"A, after “{word}" for word in FIRST.split()[:3]
    ]
    assert "entropy" in seen[0] and "surprisal" in seen[0]
    assert page.locator(f"{card} .trees .parse-column").count() == 2
    shares = page.eval_on_selector_all(
        f"{card} .trees .parse-column:first-child .parse > div:first-child",
        "all => all.map(one => parseFloat(one.textContent))",
    )
    assert shares == sorted(shares, reverse=True) and 0 < sum(shares) <= 100.2
    page.keyboard.press("ArrowDown")
    pressed = page.locator('.cell[aria-pressed="true"]')
    assert pressed.count() == 1 and pressed.get_attribute("data-variant") == "1"
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"


def test_words_appear_before_the_answer_is_complete(page: Page, playground: Served) -> None:
    page.evaluate(
        """() => {
          window.counts = [];
          new MutationObserver(() => {
            const cells = Array.from(document.querySelectorAll('.card .cell .bits'));
            window.counts.push(cells.filter(one => one.textContent !== '…').length);
          }).observe(document.getElementById('cards'), { childList: true, subtree: true });
        }"""
    )
    sentence = "the old author that knows the young senator laughs near the lake again ."
    compute(page, playground, sentence, families=("rnng",))
    counts = page.evaluate("window.counts")
    total = len(sentence.split()) + 1
    assert counts == sorted(counts) and counts[-1] == total
    assert any(0 < count < total for count in counts)


def test_unknown_words_are_marked_while_typing(page: Page, playground: Served) -> None:
    page.fill("#first", "")
    page.type("#first", "the xylograph knows")
    page.wait_for_selector("#first-seen mark")
    assert "xylograph" in page.eval_on_selector_all(
        "#first-seen mark", "all => all.map(m => m.textContent)"
    )
    assert "unknown to" in (page.get_attribute("#first-seen mark", "title") or "")
    assert page.locator(".card").count() == 0


@pytest.mark.slow
def test_the_state_is_in_the_address(page: Page, playground: Served) -> None:
    compute(page, playground, FIRST, SECOND, families=("plm",))
    page.click(".cell >> nth=3")
    before, address = cells_of(page, "plm"), page.url
    page.goto("about:blank")
    page.goto(address)
    finished(page)
    assert cells_of(page, "plm") == before
    assert page.input_value("#second") == SECOND
    assert page.get_attribute('.cell[aria-pressed="true"]', "data-word") == "3"
    assert page.locator("#models input:checked").count() == 1


def test_an_input_that_is_too_long_is_refused_politely(page: Page, playground: Served) -> None:
    page.fill("#first", "the " * 2500)
    page.press("#first", "Enter")
    page.wait_for_selector("#problem:not([hidden])")
    said = page.inner_text("#problem")
    assert "9,999 characters; the playground takes at most 1,000" in said
    assert "task=surprisal" in said and page.locator(".card").count() == 0
    compute(page, playground, FIRST, families=("ngram",))
    assert page.locator("#problem").is_hidden()


@pytest.mark.slow
def test_examples_can_be_chosen(page: Page) -> None:
    page.wait_for_selector("#examples option >> nth=1", state="attached")
    (value,) = page.eval_on_selector_all(
        "#examples option",
        "all => all.filter(one => one.textContent.includes('the horse raced')).map(o => o.value)",
    )
    page.select_option("#examples", value)
    finished(page)
    assert page.input_value("#first").startswith("the horse raced")
    assert "main verb" in page.inner_text("#example-note")


def test_a_model_can_be_added_and_a_wrong_one_is_explained(
    opened: Browser, page: Page, playground: Served
) -> None:
    page.click("#more summary")
    page.fill("#reference", "/nowhere/at/all")
    page.click("#add")
    page.wait_for_function(
        "() => document.getElementById('add-note').textContent.includes('/nowhere')"
    )
    page.fill("#reference", playground.name_of("ngram"))
    page.click("#add")
    page.wait_for_function(
        "() => document.getElementById('add-note').textContent.includes('ticked')"
    )
    # The browser notes that the first request was refused.
    assert any("400" in one for one in opened.errors)
    opened.errors.clear()
    assert page.locator("#models input").count() == len(playground.shelf.models)


@pytest.mark.slow
def test_copies_are_what_other_programs_read(
    page: Page, playground: Served, tmp_path: Path
) -> None:
    compute(page, playground, FIRST, SECOND, families=("lstm", "rnng"))
    page.click(f'.card[data-name="{playground.name_of("rnng")}"] .cell >> nth=2')
    page.click("#copy-yaml")
    text = copied(page, "YAML item copied")
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    (suite,) = load_suites([str(tmp_path / "mine.yaml")])
    assert {" ".join(words) for words in suite.sentences} == {FIRST, SECOND}
    assert suite.critical == ("critical",)
    page.click("#copy-tsv")
    rows = list(csv.DictReader(io.StringIO(copied(page, "table copied")), delimiter="\t"))
    assert len(rows) == 2 * (len(FIRST.split()) + len(SECOND.split()) + 2)
    assert {row["run"] for row in rows} == {
        one.run.name.run
        for name, one in playground.shelf.models.items()
        if "/lstm/" in name or "/rnng/" in name
    }
    assert all(math.isfinite(float(row["surprisal_bits"])) for row in rows)
    assert all(row["entropy_bits"] for row in rows if "rnng" in row["run"])
    page.click("#copy-picture")
    page.wait_for_function(
        "() => document.getElementById('copied').textContent === 'picture copied'"
    )
    size = page.evaluate(
        """async () => {
          const [item] = await navigator.clipboard.read();
          const image = await createImageBitmap(await item.getType("image/png"));
          return [image.width, image.height];
        }"""
    )
    assert min(size) > 400


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_fits_its_window(
    opened: Browser, page: Page, playground: Served, width: int, dark: bool
) -> None:
    opened.resize(width=width, dark=dark)
    compute(page, playground, FIRST, SECOND, families=("rnng", "lstm"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_two_users_see_their_own_sentences(opened: Browser, page: Page, playground: Served) -> None:
    context = opened.page.context.browser
    assert context is not None
    other = context.new_page()
    try:
        open_page(other, playground)
        for each, sentence in ((page, FIRST), (other, SECOND)):
            for box in each.query_selector_all("#models input"):
                box.set_checked(box.get_attribute("value") == playground.name_of("rnng"))
            each.fill("#first", sentence)
            each.fill("#second", "")
        page.press("#first", "Enter")
        other.press("#first", "Enter")
        for each, sentence in ((page, FIRST), (other, SECOND)):
            finished(each)
            assert [word for word, _ in cells_of(each, "rnng")] == [*sentence.split(), "</s>"]
    finally:
        other.close()


def test_the_picture_in_the_documents_is_small() -> None:
    assert (ROOT / "docs" / "images" / "playground.png").stat().st_size < 100_000


# ----------------------------------------------------------------------------
# The page of the playground: streaming, keyboard, contrast, safety, copies.


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
