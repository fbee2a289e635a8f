"""The documentation site builds without warnings, and needs no network."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import get_type_hints

import pytest

import gardenpath
from gardenpath.data.corpus import READERS
from gardenpath.eval.search.settings import SEARCHES
from gardenpath.models.family import MODELS
from gardenpath.settings.tasks import TASKS
from tests.documents import PAGES, ROOT
from tests.eval.report.browser import browser, find_browser
from tests.no_skips import NEEDS_BROWSER


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built in a temporary folder."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    subprocess.run(["make", "--silent", "build/types/gardenpath"], cwd=ROOT, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    for page in PAGES:
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file()


def test_the_reference_has_every_public_name(site: Path) -> None:
    public = [name for name in gardenpath.__all__ if not name.startswith("__")]
    assert sorted({f"gardenpath.{name}" for name in public} - _headings(site)) == []


def test_the_reference_has_all_settings(site: Path) -> None:
    networks = [get_type_hints(model)["network"] for model in MODELS.values()]
    classes = [*READERS.values(), *networks, *TASKS.values(), *SEARCHES.values()]
    # Some have public names of their own, and some families have no settings.
    expected = {
        f"{one.__module__}.{one.__name__}"
        for one in classes
        if one.__name__ not in gardenpath.__all__ and dataclasses.fields(one)
    }
    assert sorted(expected - _headings(site)) == []


def _headings(site: Path) -> set[str]:
    text = (site / "reference.html").read_text(encoding="utf-8")
    return set(re.findall(r'<h\d id="([\w.]+)"', text))


def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    pattern = re.compile(
        r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=\"?(https?:[^\s\">]+)"
    )
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= len(PAGES)
    assert [url for page in pages for url in pattern.findall(page.read_text("utf-8"))] == []


def test_the_search_works_on_pages_opened_from_disk(site: Path) -> None:
    path = find_browser()
    if path is None:
        pytest.skip(NEEDS_BROWSER)
    with browser(path) as window:
        window.open(site / "models.html")
        window.run("document.querySelector('input[name=query]').focus()")
        window.run(
            "(() => { const box = document.querySelector('input[name=query]');"
            "box.value = 'Kneser-Ney'; box.dispatchEvent(new Event('keyup', {bubbles: true})); })()"
        )
        found = "Array.from(document.querySelectorAll('.md-search-result__link'), a => a.href)"
        end = time.monotonic() + 30
        while not (results := window.run(found)) and time.monotonic() < end:
            time.sleep(0.1)
        assert any("models.html" in address for address in results)
        assert window.errors == []
