"""Write a run to a folder for others: as a portable run, or for the library transformers."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gardenpath.errors import GardenpathError, RunError
from gardenpath.models.family import AdoptedFamily
from gardenpath.runs.run import Run
from gardenpath.runs.sharing.model_card import CARD_FILE, plain_card
from gardenpath.settings.check import plain
from gardenpath.settings.task_settings import SharedForm
from gardenpath.store.files import build_folder, write_json, write_text
from gardenpath.store.manifest import MANIFEST_FILE
from gardenpath.store.run_folder import (
    CONFIG_FILE,
    MARKER_FILE,
    METRICS_FILE,
    RESULT_FILE,
    SUBWORDS_FILE,
    VERSIONS_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    RunFolder,
)

_PORTABLE_FILES = (
    MARKER_FILE, CONFIG_FILE, VOCABULARY_FILE, SUBWORDS_FILE, WEIGHTS_FILE, METRICS_FILE,
    VERSIONS_FILE, RESULT_FILE, MANIFEST_FILE,
)  # fmt: skip
_JSON_FILE = "config.json"


def share_run(run: Run, folder: str | Path, form: SharedForm = "safetensors") -> None:
    """Write a finished run to a new folder, as a whole.

    ``safetensors`` writes a run folder without logs and checkpoints, which :func:`gardenpath.load`
    loads, with a description in JSON. ``huggingface`` writes a model of the library transformers:
    a GPT-2 for a Transformer; an LSTM with its code, which transformers lacks.
    """
    target = Path(folder)
    if isinstance(run.family, AdoptedFamily):
        raise RunError(f"{run.path}: the model was adopted; share it from where it came")
    if not run.folder.is_finished:
        raise RunError(f"{run.path}: the run is not finished; continue it with existing=resume")
    run.verify()
    if target.exists():
        raise _taken(target)
    if not build_folder(target, _builder(run, form)):
        raise _taken(target)


def _builder(run: Run, form: SharedForm) -> Callable[[Path], None]:
    if form == "safetensors":
        return lambda folder: _write_portable(run, folder)
    try:
        from gardenpath.runs.sharing.transformers_folder import transformers_writer
    except ImportError as error:
        raise GardenpathError(
            "task.form=huggingface needs the library transformers: install it with "
            "pip install 'gardenpath[hf]'"
        ) from error
    return transformers_writer(run)


def _taken(folder: Path) -> RunError:
    return RunError(f"{folder}: exists already; remove it, or choose another output=")


def _write_portable(run: Run, folder: Path) -> None:
    for name in _PORTABLE_FILES:
        if (run.path / name).is_file():
            shutil.copyfile(run.path / name, folder / name)
    write_json(folder / _JSON_FILE, _described(run))
    write_text(folder / CARD_FILE, plain_card(run))
    # The copy is compared with its checksums, and all that scoring needs is loaded from it.
    RunFolder(folder).verify()
    Run(folder, device="cpu").verify()


def _described(run: Run) -> dict[str, Any]:
    """Return what determines the numbers of a run; no folders of this machine."""
    settings = run.settings
    shape = getattr(settings.model.network, "shape", None)
    data = settings.data
    return {
        "family": settings.model.family,
        "name": settings.model.name,
        "network": plain(settings.model.network),
        "shape": None if shape is None else asdict(shape),
        "corpus": data.name,
        "language": data.language,
        "min_count": data.min_count,
        "cleaning": plain(data.cleaning),
        "subwords": plain(data.subwords),
        "seed": settings.seed,
        "vocabulary_size": len(run.vocabulary),
        "files": {
            name: run.folder.verified_sha256(name)
            for name in (VOCABULARY_FILE, SUBWORDS_FILE, WEIGHTS_FILE)
            if (run.path / name).is_file()
        },
    }
