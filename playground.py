"""Try sentences in the browser, with trained models.

    python playground.py
    python playground.py run=runs/toy_english,hf:gpt2 port=9000

The page is served from this machine to this machine only.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "src"


def use_this_checkout() -> None:
    """Import ``gardenpath`` from src/ next to this file, even if another version is installed."""
    spec = importlib.util.spec_from_file_location("gardenpath", SOURCE / "__init__.py")
    if "gardenpath" not in sys.modules and spec is not None and spec.loader is not None:
        sys.modules["gardenpath"] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)


if __name__ == "__main__":
    use_this_checkout()
    from gardenpath.playground import playground_main

    playground_main()
