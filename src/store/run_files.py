"""Recognise the files that a run wrote, and remove them without touching others."""

from __future__ import annotations

import contextlib
import fnmatch
import os
from pathlib import Path

from gardenpath.errors import RunError
from gardenpath.store.files import is_leftover, remove_leftovers, remove_tree
from gardenpath.store.locks import owner_path
from gardenpath.store.manifest import MANIFEST_FILE
from gardenpath.store.run_folder import (
    CHECKPOINT_FILE,
    CONFIG_FILE,
    DIVERGED_FOLDER,
    FAILURE_FILE,
    LOCK_FILE,
    LOG_FILE,
    METRICS_FILE,
    RESULT_FILE,
    SUBWORDS_FILE,
    VERSIONS_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    RunFolder,
)

# In order of removal: without a result, a run is unfinished; without a configuration, not begun.
# The marker is not included because it is replaced.
_FILES = (
    RESULT_FILE, MANIFEST_FILE, CONFIG_FILE, WEIGHTS_FILE, METRICS_FILE, VERSIONS_FILE,
    VOCABULARY_FILE, SUBWORDS_FILE, LOG_FILE, CHECKPOINT_FILE, FAILURE_FILE,
)  # fmt: skip

# Folder that the logger writes within a run folder.
_WANDB = "wandb"
_WANDB_NAMES = ("run-*", "offline-run-*", "latest-run", "debug.log", "debug-internal.log")

# Files of a loss that was infinite.
_DIVERGED_NAMES = ("batch*.safetensors", "sentences*.txt")


def foreign_names(folder: Path) -> list[str]:
    """List the files of a folder without a run, except those of a training that has not begun."""
    if not folder.is_dir():
        return []
    own = {LOCK_FILE, owner_path(folder / LOCK_FILE).name, LOG_FILE}
    return [
        path.name
        for path in sorted(folder.iterdir())
        if path.name not in own and not is_leftover(path)
    ]


def require_only_this_run(folder: Path) -> None:
    """Refuse to replace a run in or above the working directory, or above other runs."""
    place = folder.resolve()
    if Path.cwd().resolve().is_relative_to(place):
        raise RunError(
            f"{folder}: existing=overwrite is refused for the working directory and folders that "
            "contain it; choose another run_dir="
        )
    if other := _run_below(folder):
        raise RunError(
            f"{folder}: existing=overwrite is refused because the folder contains another run "
            f"({other}); choose another run_dir=, or move that run"
        )


def remove_run_files(folder: Path) -> None:
    """Remove the files of a run by their names, and leave all other files in place."""
    for name in _FILES:
        # A folder of such a name does not belong to the run.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            (folder / name).unlink()
    checkpoints, wandb = (folder / CHECKPOINT_FILE).parent, folder / _WANDB
    diverged = folder / DIVERGED_FOLDER
    remove_leftovers(checkpoints)
    _remove_matching(wandb, _WANDB_NAMES)
    _remove_matching(diverged, _DIVERGED_NAMES)
    for place in (checkpoints, wandb, diverged):
        with contextlib.suppress(OSError):  # absent, or not empty
            place.rmdir()


def _remove_matching(folder: Path, patterns: tuple[str, ...]) -> None:
    if folder.is_symlink() or not folder.is_dir():
        return
    remove_leftovers(folder)
    for path in sorted(folder.iterdir()):
        if any(fnmatch.fnmatchcase(path.name, pattern) for pattern in patterns):
            remove_tree(path)


def _run_below(folder: Path) -> Path | None:
    for root, below, _ in os.walk(folder):
        below[:] = [name for name in below if not is_leftover(Path(name))]
        if Path(root) != folder and RunFolder(Path(root)).is_marked:
            return Path(root)
    return None
