"""A headless Chromium that Playwright drives: that of the machine, without a download."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Page, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
_PATIENCE_SECONDS = 20.0
LOCAL = ("file:", "data:", "blob:", "about:")


def find_browser() -> str | None:
    """The path of a browser, if the machine has one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser; what the page complains about, or asks for, is in ``errors``."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._note)
        page.on("request", self._watch)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _watch(self, request: Request) -> None:
        if not request.url.startswith(LOCAL):
            self.errors.append(f"asks for {request.url}")

    def open(
        self,
        page: Path,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        fragment: str = "",
    ) -> None:
        """Show a file in a window of this size, and wait until it has loaded."""
        self.resize(width=width, height=height, dark=dark)
        self.page.goto("about:blank")
        self.page.goto(page.resolve().as_uri() + fragment, wait_until="load")

    def resize(self, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Another size of window, or another colour scheme."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme="dark" if dark else "light")

    def run(self, expression: str) -> Any:
        """The value of an expression in the page."""
        return self.page.evaluate(f"() => ({expression})")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true; the page's own rules do not let Playwright do so."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not self.run(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            self.page.wait_for_timeout(50)

    def press(self, key: str) -> None:
        """Press and release a key."""
        self.page.keyboard.press(key)

    def screenshot(self, *, whole: bool = False) -> bytes:
        """What is in the window, or the whole page, as PNG."""
        return self.page.screenshot(full_page=whole)


@contextmanager
def browser(path: str) -> Iterator[Browser]:
    """A running browser with a fresh profile; it is gone at the end."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield Browser(chromium.new_page())
        finally:
            chromium.close()


def texts_at(path: str) -> str:
    """The expression of the texts of all elements at a path."""
    return f"Array.from(document.querySelectorAll('{path}'), one => one.textContent)"


def choose(window: Browser, name: str, value: str) -> None:
    """Choose an option by its text, as a reader does."""
    window.run(
        f"(() => {{ const list = document.getElementById('explorer-{name}');"
        f"list.value = Array.from(list.options).find(o => o.text === '{value}').value;"
        "list.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )


def shown_words(window: Browser) -> list[str]:
    """Return the words of the first variant in the explorer."""
    path = "#explorer-variants .variant:first-child .word"
    return list(window.run(f"Array.from(document.querySelectorAll('{path}'), w => w.textContent)"))


def downloaded(window: Browser, label: str) -> bytes:
    """Click on a button and return the file that it saves."""
    with window.page.expect_download() as download:
        window.page.get_by_label(label, exact=True).click()
    return Path(download.value.path()).read_bytes()
