"""The examples of docs/api.md run, in the order in which they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.integration.commands import ROOT

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_api_page_run(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    blocks = _BLOCK.findall(text)
    assert len(blocks) >= 10
    script = tmp_path / "examples.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "uniform" in done.stdout
    assert (tmp_path / "results" / "mine" / "manifest.json").is_file()
