"""One playground for all tests that do not change its settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.playground.serving import Served, served, settings_for


@pytest.fixture(scope="session")
def playground(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A running playground with four small runs."""
    store = tmp_path_factory.mktemp("playground") / "surprisals.sqlite"
    with served(settings_for(folder, store)) as found:
        yield found
