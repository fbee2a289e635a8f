"""One made-up study and one report of it, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gardenpath.eval.report.content import ReportContent
from gardenpath.eval.report.page import write_report
from tests.eval.report.browser import Browser, browser, find_browser
from tests.eval.report.samples import sample_study
from tests.no_skips import NEEDS_BROWSER


@pytest.fixture(scope="session")
def study() -> ReportContent:
    """The study."""
    return sample_study()


@pytest.fixture(scope="session")
def report(study: ReportContent, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of its report; the figures are beside it."""
    return write_report(study, tmp_path_factory.mktemp("results"))


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
