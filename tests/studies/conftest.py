"""Published values of the small study, in place of those of the papers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gardenpath.studies import compared as published_values
from tests.studies.small_study import VALUES


@pytest.fixture
def small_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Published values are read from a folder that has those of the small study only."""
    folder = tmp_path / "values"
    folder.mkdir()
    (folder / "small.yaml").write_text(VALUES, encoding="utf-8")
    monkeypatch.setattr(published_values, "VALUES", folder)
    published_values.published_values.cache_clear()
    yield
    published_values.published_values.cache_clear()
