"""Which software made a result."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from gardenpath import util as module
from gardenpath.util import versions

NUMBERS = r"Gardenpath [\d.]+{revision}, Python 3\.\d+\.\d+, scipy [\d.]+, numpy [\d.]+"


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file in it, in the place of the project's checkout."""
    (tmp_path / "pyproject.toml").write_text("# a project\n", encoding="utf-8")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return tmp_path


def test_packages_that_are_not_installed_are_left_out(checkout: Path) -> None:
    said = versions("scipy", "no-such-package", "numpy")
    assert re.fullmatch(NUMBERS.format(revision=""), said)


def test_a_checkout_says_its_commit_and_whether_it_was_changed(checkout: Path) -> None:
    _git(checkout, "init", "-q")
    assert "commit" not in versions()
    _git(checkout, "add", "-A")
    _git(checkout, "commit", "-q", "-m", "first")
    _git(checkout, "tag", "v1")
    commit = _git(checkout, "rev-parse", "--short=9", "HEAD")
    assert f" (commit {commit}), " in versions()
    with (checkout / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("# changed")
    assert f" (commit {commit} and changes), " in versions()


def test_without_git_there_is_no_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / ".git").mkdir()
    monkeypatch.setenv("PATH", str(checkout))
    assert "commit" not in versions()
