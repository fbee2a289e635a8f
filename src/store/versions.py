"""Versions of the software that produced a result."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path

from gardenpath import __version__
from gardenpath.places import PACKAGE

# The checkout, if the package is part of one.
ROOT = PACKAGE.parent


def versions(*packages: str) -> str:
    """Return ``Gardenpath 0.1.0 (commit 1a2b3c4), Python 3.11.7, …`` with installed packages."""
    said = [f"Gardenpath {__version__}{_revision(ROOT)}", f"Python {platform.python_version()}"]
    for name in packages:
        try:
            said.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(said)


def _revision(root: Path) -> str:
    """Return `` (commit 1a2b3c4)``, or nothing if the files are not a checkout of their own."""
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--abbrev=9", "--exclude=*"]
    try:
        found = subprocess.run(
            [*command, "--dirty= and changes"], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if found.returncode else f" (commit {found.stdout.strip()})"
