"""What the tests do with the page of the playground."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page

from tests.playground.serving import Served

FIRST = "the author knows the senator ."
SECOND = "the author that laughs knows the senator ."


def open_page(page: Page, playground: Served, **state: Any) -> None:
    page.goto("about:blank")
    page.goto(f"{playground.address}#{urlencode(state, doseq=True)}")
    page.wait_for_selector("#models input", state="attached")


def compute(page: Page, playground: Served, *sentences: str, families: tuple[str, ...]) -> None:
    names = [playground.name_of(family) for family in families]
    for box in page.query_selector_all("#models input"):
        box.set_checked(box.get_attribute("value") in names)
    for field, sentence in zip(("#first", "#second"), (*sentences, ""), strict=False):
        page.fill(field, sentence)
    page.press("#first", "Enter")
    finished(page)


def finished(page: Page) -> None:
    page.wait_for_selector('body[aria-busy="false"] .card .cell')
    page.wait_for_function("() => !document.querySelector('.card .state').textContent")


def cells_of(page: Page, family: str) -> list[tuple[str, str]]:
    found = page.eval_on_selector_all(
        f'.card[data-name*="/{family}/"] .cell',
        "all => all.map(cell => Array.from(cell.children, one => one.textContent))",
    )
    return [(word, bits) for word, bits in found]


def copied(page: Page, said: str) -> str:
    page.wait_for_function(f"() => document.getElementById('copied').textContent === '{said}'")
    found: str = page.evaluate("navigator.clipboard.readText()")
    return found
