"""Where the package finds its own files, in a checkout as in an installed wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent

# In a checkout, conf/ lies beside the package's folder; a wheel holds it inside.
CONFIG_DIR = next(
    folder for folder in (PACKAGE / "conf", PACKAGE.parent / "conf") if folder.is_dir()
)
