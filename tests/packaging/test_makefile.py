"""The Makefile finds a supported Python, and says what is wrong if there is none."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Set up a virtual environment in a folder that is also the only one in which programs are."""
    make = shutil.which("make")
    assert make is not None
    return subprocess.run(
        [make, *arguments, f"VENV={folder}/venv", f"{folder}/venv/.installed"],
        cwd=ROOT,
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def _interpreter(folder: Path, name: str, version: str | None) -> Path:
    """A program that answers as a Python of this version does; None is one that does not run."""
    supported = version in ("3.11", "3.12", "3.13")
    path = folder / name
    answer = "exit 127" if version is None else f"echo {version}; exit {int(not supported)}"
    path.write_text(f"#!/bin/sh\n{answer}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        ({"python3.13": "3.13", "python3.11": "3.11", "python3": "3.12"}, "python3.11"),
        ({"python3.11": None, "python3.12": "3.12", "python3.13": "3.13"}, "python3.12"),
        ({"python3.9": "3.9", "python3": "3.13"}, "python3"),
    ],
    ids=["the oldest first", "those that do not run are passed over", "any in the range"],
)
def test_the_first_supported_python_is_chosen(
    tmp_path: Path, versions: dict[str, str | None], chosen: str
) -> None:
    for name, version in versions.items():
        _interpreter(tmp_path, name, version)
    assert f'python="{tmp_path / chosen}"' in _make(tmp_path, "--dry-run").stdout


def test_the_python_of_the_tests_is_supported(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    assert f'python="{tmp_path / "python3"}"' in _make(tmp_path, "--dry-run").stdout


def test_no_supported_python(tmp_path: Path) -> None:
    _interpreter(tmp_path, "python3", "3.9")
    done = _make(tmp_path)
    assert done.returncode == 2
    assert "error: no Python of version 3.11 3.12 3.13 was found; install one" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_not_supported(tmp_path: Path) -> None:
    path = _interpreter(tmp_path, "mine", "3.10")
    done = _make(tmp_path, f"PYTHON={path}")
    assert done.returncode == 2
    assert f"error: PYTHON={path} is Python 3.10; set PYTHON to an interpreter of" in done.stderr


def test_a_python_that_does_not_run(tmp_path: Path) -> None:
    done = _make(tmp_path, "PYTHON=/nowhere/python")
    assert done.returncode == 2
    assert "error: PYTHON=/nowhere/python is not a working Python" in done.stderr
