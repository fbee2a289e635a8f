"""Evaluate trained models.

    python evaluate.py suite=mandarin
    python evaluate.py study=mandarin surprisals=FOLDER materials=FOLDER
    python evaluate.py task=perplexity run=runs/ptb_sample
    python evaluate.py task=surprisal run=runs/ptb_sample/rnng/seed1 input=sentences.txt

`run` is a run folder, or a folder that contains several.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parent / "src"


def use_this_checkout() -> None:
    """Import ``gardenpath`` from src/ next to this file, even if another version is installed."""
    spec = importlib.util.spec_from_file_location("gardenpath", SOURCE / "__init__.py")
    if "gardenpath" not in sys.modules and spec is not None and spec.loader is not None:
        sys.modules["gardenpath"] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)


# Hydra's shell completion works for files that contain the words @hydra.main.
def job(config: Any) -> float | None:
    """Run one job of a sweep, possibly in its own process."""
    use_this_checkout()
    from gardenpath.cli import evaluate_job

    return evaluate_job(config)


if __name__ == "__main__":
    use_this_checkout()
    from gardenpath.cli import main

    main("evaluate", job)
