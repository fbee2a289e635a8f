"""The two commands as a user starts them, and within this process where that will do."""

from __future__ import annotations

import io
import os
import runpy
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from gardenpath.settings.compose import CommandLine, ConfigSource, Script, expand_watch_flag

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


def answer(script: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What ``start`` returns, of a script that is run within this process."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        patch.setenv("COLUMNS", "120")
        code = call(script, *arguments)
    return subprocess.CompletedProcess([script, *arguments], code, out.getvalue(), err.getvalue())


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


def check_command_line(script: Script, arguments: Sequence[str]) -> None:
    """Raise an error that lists all mistakes in the overrides; with ``-m``, of a whole sweep."""
    overrides = [expand_watch_flag(a) for a in arguments if a not in ("-m", "--multirun")]
    line = CommandLine(ConfigSource(script), overrides, is_sweep=len(overrides) < len(arguments))
    line.check()
