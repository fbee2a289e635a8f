"""The page of the playground in a real browser."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pytest
from playwright.sync_api import Page

from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.surprisal.tables import read_surprisals
from tests.documents import ROOT
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
from tests.playground.serving import Served
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


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_fits_its_window(
    opened: Browser, page: Page, playground: Served, width: int, dark: bool
) -> None:
    opened.resize(width=width, dark=dark)
    compute(page, playground, FIRST, SECOND, families=("rnng", "lstm"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width


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
