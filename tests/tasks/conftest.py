"""The runs that all tests of tasks look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tasks import toy_runs


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of four small runs."""
    return toy_runs.trained(tmp_path_factory.getbasetemp())
