"""One made-up study and one report of it, for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.eval.report.study import Study
from gardenpath.eval.report.write import write_report
from tests.eval.report.samples import sample_study


@pytest.fixture(scope="session")
def study() -> Study:
    """The study."""
    return sample_study()


@pytest.fixture(scope="session")
def report(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of its report; the figures are beside it."""
    return write_report(study, tmp_path_factory.mktemp("results"))
