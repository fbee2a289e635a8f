"""The examples of docs/api.md and docs/notebooks.md run, in the order in which they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.commands import ROOT

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _output(page: str, folder: Path) -> str:
    """What the examples of a page print."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = _BLOCK.findall(text)
    assert len(blocks) >= 10
    script = folder / "examples.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_the_examples_of_the_notebook_page_run(tmp_path: Path) -> None:
    _output("notebooks.md", tmp_path)
    assert (tmp_path / "item_1.png").is_file()
    assert (tmp_path / "results" / "notebook" / "manifest.json").is_file()


@pytest.mark.slow
def test_the_examples_of_the_api_page_run(tmp_path: Path) -> None:
    assert "uniform" in _output("api.md", tmp_path)
    assert (tmp_path / "results" / "mine" / "manifest.json").is_file()
