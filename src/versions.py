"""Which software made a result."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def versions(*packages: str) -> str:
    """``Gardenpath 0.1.0 (commit 1a2b3c4), Python 3.11.7, …``: of the packages, those installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    own = f"Gardenpath {project['project']['version']}{_revision(ROOT)}"
    said = [own, f"Python {platform.python_version()}"]
    for name in packages:
        try:
            said.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(said)


def _revision(root: Path) -> str:
    """`` (commit 1a2b3c4)``, or nothing where the files are not a checkout of their own."""
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
