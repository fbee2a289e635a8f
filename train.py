"""Train a language model.

    python train.py model=lstm data=ptb_sample seed=3
    python train.py -m model=rnng,transformer seed=1,2,3

evaluate.py needs only the run folder (runs/<data>/<model>/seed<k>).
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
    from gardenpath.cli import train_job

    return train_job(config)


if __name__ == "__main__":
    use_this_checkout()
    from gardenpath.cli import main

    main("train", job)
