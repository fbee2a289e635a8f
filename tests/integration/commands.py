"""The two commands as a user starts them, and within this process where that will do."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def start(
    script: str, *arguments: str, folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a script in a new process, in another folder than that of the project."""
    return subprocess.run(
        [sys.executable, str(ROOT / script), *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "120", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def call(script: str, *arguments: str) -> int:
    """Run a script within this process, which is much faster; its exit code."""
    path = str(ROOT / script)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [path, *arguments])
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def toy(folder: Path, *arguments: str, train_sentences: int = 200) -> list[str]:
    """The command line of a small run on the English toy corpus."""
    return [
        f"data.reader.train={train_sentences}",
        "data.reader.valid=20",
        "data.reader.test=100",
        f"paths.runs={folder / 'runs'}",
        f"paths.cache={folder / 'cache'}",
        *arguments,
    ]


TINY = ("model.size=tiny", "trainer=cpu", "trainer.max_epochs=1")
