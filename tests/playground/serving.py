"""A playground that serves small runs on a free port, requests to it, and its page."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page

from gardenpath.playground import HOST, bound
from gardenpath.playground.models import ModelShelf
from gardenpath.playground.server import PlaygroundServer
from gardenpath.playground.settings import PlaygroundLimits, PlaygroundSettings
from tests.toy_runs import NARROW_SEARCH

PATIENCE_SECONDS = 60.0
Headers = Mapping[str, str]


def settings_for(folder: Path, store: Path, **limits: Any) -> PlaygroundSettings:
    """Settings for the runs of a folder, with narrow beams."""
    return PlaygroundSettings(
        run=(str(folder / "runs"),),
        device="cpu",
        surprisals=str(store),
        search=NARROW_SEARCH,
        limits=replace(PlaygroundLimits(), **limits),
    )


@dataclass(frozen=True)
class Served:
    """A running playground."""

    port: int
    shelf: ModelShelf

    @property
    def address(self) -> str:
        """The address of its page."""
        return f"http://{HOST}:{self.port}/"

    def name_of(self, family: str) -> str:
        """The name of the run of a family."""
        return next(name for name in self.shelf.models if f"/{family}/" in name)

    def ask(
        self, path: str, content: Any = None, *, headers: Headers | None = None
    ) -> tuple[int, Headers, bytes]:
        """Status, headers and body of the answer to a request; with content, a POST."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE_SECONDS)
        given = dict(headers or {})
        body = None
        if content is not None:
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            given = {"Content-Type": "application/json", **given}
        try:
            connection.request("POST" if body is not None else "GET", path, body, given)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def events(self, *families: str, sentences: list[str]) -> list[dict[str, Any]]:
        """All events of the answer to a request for surprisals."""
        runs = [self.name_of(family) for family in families]
        status, _, body = self.ask("/api/surprisal", {"runs": runs, "sentences": sentences})
        assert status == 200, body
        return [json.loads(line) for line in body.splitlines()]


@contextmanager
def served(settings: PlaygroundSettings) -> Iterator[Served]:
    """Serve a playground in a thread of this process."""
    shelf = ModelShelf(settings)
    server = PlaygroundServer(shelf, settings.limits)
    with bound(0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        end = time.monotonic() + PATIENCE_SECONDS
        while not server.started:
            assert time.monotonic() < end and thread.is_alive(), "the server does not start"
            time.sleep(0.02)
        try:
            yield Served(listening.getsockname()[1], shelf)
        finally:
            server.should_exit = True
            thread.join(PATIENCE_SECONDS)


# ----------------------------------------------------------------------------
# What the tests do with the page of the playground.


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
