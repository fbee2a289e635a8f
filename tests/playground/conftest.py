"""One playground for all tests that do not change its settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.eval.report.browser import Browser, browser, find_browser
from tests.no_skips import NEEDS_BROWSER
from tests.playground.serving import Served, open_page, served, settings_for


@pytest.fixture(scope="session")
def playground(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A running playground with four small runs."""
    store = tmp_path_factory.mktemp("playground") / "surprisals.sqlite"
    with served(settings_for(folder, store)) as found:
        yield found


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    """A browser whose pages may use the clipboard."""
    path = find_browser()
    if path is None:
        pytest.skip(NEEDS_BROWSER)
    with browser(path) as found:
        found.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield found


@pytest.fixture
def page(opened: Browser, playground: Served) -> Iterator[Page]:
    """The page of the playground; every request goes to the playground, and nothing is an error."""
    opened.errors.clear()
    asked: list[str] = []
    opened.page.on("request", lambda request: asked.append(request.url))
    opened.resize(width=1280)
    open_page(opened.page, playground)
    yield opened.page
    foreign = [url for url in asked if not url.startswith((playground.address, "data:", "blob:"))]
    assert asked and foreign == []
    assert [one for one in opened.errors if not one.startswith("asks for")] == []
