"""Paths of the package's own files, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent

# In a checkout, conf/ is next to the package folder; in a wheel, it is inside.
CONFIG_DIR = next(
    folder for folder in (PACKAGE / "conf", PACKAGE.parent / "conf") if folder.is_dir()
)
