"""The state of a run folder, and the runs at or below a folder, each once.

Tables of runs and every evaluation find runs here. A run is done, running, unfinished, failed,
damaged, a copy, or not a run at all. Reading the state is cheap: it reads the small files of a run,
not its weights (except to tell copies apart) or its corpus. Nothing is written, and no file in a
folder can make this fail.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gardenpath.errors import DamagedRunError, RunError
from gardenpath.store.files import is_leftover, owner_of, owner_path
from gardenpath.store.run_claim import read_failure
from gardenpath.store.run_folder import (
    CONFIG_FILE,
    LOCK_FILE,
    RESULT_FILE,
    WEIGHTS_FILE,
    RunFolder,
    epoch_rows,
)

RunState = Literal["done", "running", "unfinished", "failed", "damaged", "copy", "stray"]

# States that are named but are not mistakes: the evaluation of the other runs is complete.
HARMLESS: frozenset[RunState] = frozenset({"running", "unfinished", "failed", "copy", "stray"})

# Families that are estimated in one pass, and cannot diverge.
_COUNTED = ("ngram", "unigram")


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """The state of a run folder.

    ``reason`` says why a run is not done, with the remedy. ``epoch`` is the epoch of the best
    weights so far, if they exist. ``is_diverged`` marks weights that must not be evaluated.
    ``original`` is the folder of which a copy is a copy.
    """

    folder: RunFolder
    state: RunState
    reason: str = ""
    epoch: int | None = None
    is_diverged: bool = False
    original: Path | None = None

    @property
    def is_partial(self) -> bool:
        """Whether the run has stopped and has weights that can be evaluated nevertheless."""
        is_stopped = self.state in ("unfinished", "failed") and not self.is_diverged
        return is_stopped and (self.folder / WEIGHTS_FILE).is_file()


def is_run_like(folder: Path) -> bool:
    """Whether a folder contains, or seems to contain, a run in any state."""
    run = RunFolder(folder)
    is_claimed = owner_path(run / LOCK_FILE).is_file()  # by a training that has not begun
    return run.is_marked or is_claimed or os.path.lexists(run / RESULT_FILE)


def run_status(folder: RunFolder) -> RunStatus:
    """Return the state of a run folder; no file in it can make this fail."""
    try:
        return _status(folder)
    except RunError as error:
        return RunStatus(folder=folder, state="damaged", reason=str(error))
    except OSError as error:
        reason = f"{error.filename or folder.path}: cannot be read ({error.strerror or error})"
        return RunStatus(folder=folder, state="damaged", reason=reason)


def _status(folder: RunFolder) -> RunStatus:
    path = folder.path
    if owner := _trainer(folder):
        reason = f"is {'still training' if folder.is_begun else 'being prepared'} ({owner})"
        return RunStatus(folder=folder, state="running", reason=f"{path}: {reason}")
    if folder.is_begun and folder.is_finished:
        if problem := divergence(folder):
            return RunStatus(folder=folder, state="failed", reason=problem, is_diverged=True)
        return RunStatus(folder=folder, state="done")
    if folder.is_begun:
        return _unfinished(folder)
    if folder.is_marked or not folder.is_finished:
        reason = f"{path}: no run was begun here, or {CONFIG_FILE} is lost"
        return RunStatus(folder=folder, state="unfinished", reason=reason)
    reason = f"{path}: not a run folder: it has a {RESULT_FILE} but no {CONFIG_FILE}"
    return RunStatus(folder=folder, state="stray", reason=reason)


def _unfinished(folder: RunFolder) -> RunStatus:
    folder.verify()
    folder.config()
    failure = read_failure(folder)
    epoch = best_epoch(folder)
    if failure is None or failure.kind == "interrupted":
        has_weights = (folder / WEIGHTS_FILE).is_file()
        so_far = "" if has_weights else "; it has no weights yet"
        reason = (
            f"{folder.path}: the run is not finished{so_far}; continue it with 'python train.py … "
            "existing=resume'" + ", or use unfinished=include" * has_weights
        )
        return RunStatus(folder=folder, state="unfinished", reason=reason, epoch=epoch)
    return RunStatus(
        folder=folder,
        state="failed",
        reason=f"{folder.path}: the training failed: {failure.said_of(folder)}",
        epoch=epoch,
        # Weights whose failure is not known are not evaluated either.
        is_diverged=failure.kind in ("diverged", "unknown"),
    )


def best_epoch(folder: RunFolder) -> int | None:
    """Return the epoch with the lowest validation loss, whose weights are kept; None if unknown."""
    try:
        losses = {int(row["epoch"]): float(row["valid/loss"]) for row in epoch_rows(folder)}
    except (ValueError, KeyError, TypeError):
        return None
    finite = {epoch: loss for epoch, loss in losses.items() if math.isfinite(loss)}
    return min(finite, key=finite.__getitem__, default=None)


def divergence(folder: RunFolder) -> str | None:
    """Return why the weights of a finished run are of no use; None if they are."""
    result, model = folder.result(), folder.config().get("model")
    if isinstance(model, Mapping) and model.get("family") in _COUNTED:
        return None
    for split, numbers in result.items():
        for name, value in numbers.items() if isinstance(numbers, Mapping) else ():
            if name.endswith("loss") and isinstance(value, float) and not math.isfinite(value):
                return (
                    f"{folder.path}: the training diverged: the {split} {name} is {value}; train "
                    "again with a lower learning rate and existing=overwrite"
                )
    return None


def _trainer(folder: RunFolder) -> str | None:
    """Return the process that trains in a folder; None if there is none.

    The record beside the lock remains if the process was killed; then the lock itself decides. It
    is tried only in this case, because a training that begins at this moment would be refused.
    """
    owner = owner_of(folder / LOCK_FILE)
    if owner is None:
        return None
    try:
        handle = os.open(folder / LOCK_FILE, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # held by the training, or this file system has no such locks
        return str(owner)
    finally:
        os.close(handle)
    return None


def require_whole(folder: RunFolder) -> None:
    """Compare the files of a finished run with its checksums."""
    folder.verify()
    if not (folder / WEIGHTS_FILE).is_file() and not folder.is_adopted:
        raise DamagedRunError(
            f"{folder.path / WEIGHTS_FILE}: is missing; copy the run folder again, or train again"
        )


# ---- Find runs at or below a folder, with their states

# Folders within a run folder that contain no runs.
_INNER = ("checkpoints", "wandb")


def find_statuses(*roots: Path, partial: bool = False) -> list[RunStatus]:
    """Return all runs at or below folders, in any state, sorted by path.

    Links are followed, but each folder is visited once: under its own path if that is below the
    roots, too. Copies of a finished run have the state ``copy``; the first whole one counts. With
    ``partial``, unfinished runs that have weights are compared, too.
    """
    by_place: dict[str, RunStatus] = {}
    for root in roots:
        for status in _below(root):
            by_place.setdefault(real_place(status.folder.path), status)
    ordered = sorted(by_place.values(), key=lambda status: status.folder.path)
    return _with_copies_marked(ordered, partial=partial)


def _below(root: Path) -> Iterator[RunStatus]:
    visited: set[str] = set()
    folders, links = [root], list[Path]()
    # Links come last, so that a folder is found under its own path.
    while folders or links:
        folder = folders.pop() if folders else links.pop(0)
        if (place := real_place(folder)) in visited:
            continue
        visited.add(place)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            is_run = is_run_like(folder)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            reason = f"{folder}: cannot be read ({error.strerror or error})"
            yield RunStatus(folder=RunFolder(folder), state="damaged", reason=reason)
            continue
        if is_run:
            yield run_status(RunFolder(folder))
        for entry in entries:
            path = folder / entry.name
            if is_leftover(path) or (is_run and entry.name in _INNER):
                continue
            is_folder = False
            with contextlib.suppress(OSError):  # such as no permission
                is_folder = path.is_dir()
            if not entry.is_symlink():
                folders += [path] if is_folder else []
            elif is_folder:
                links.append(path)
            elif not is_run and not path.exists():
                reason = f"{path}: is a link to {path.readlink()}, which cannot be reached"
                yield RunStatus(folder=RunFolder(path), state="stray", reason=reason)


def real_place(path: Path) -> str:
    """Return the path without links; unlike ``Path.resolve``, also for links in a circle."""
    return os.path.realpath(path)


def _with_copies_marked(statuses: Sequence[RunStatus], *, partial: bool) -> list[RunStatus]:
    """Mark runs with the files of an earlier one; the first whole one is the original."""
    marked = list(statuses)
    groups: dict[str, list[int]] = {}
    for place, status in enumerate(statuses):
        if status.state == "done" or (partial and status.is_partial):
            try:
                groups.setdefault(status.folder.known_fingerprint(), []).append(place)
            except RunError as error:
                marked[place] = replace(status, state="damaged", reason=str(error))
    for places in groups.values():
        original: Path | None = None
        for place in places if len(places) > 1 else ():
            status = statuses[place]
            path = status.folder.path
            try:
                require_whole(status.folder)
            except RunError as error:
                marked[place] = replace(status, state="damaged", reason=str(error))
                continue
            if original is not None:
                reason = f"{path}: is a copy of {original}; it is counted once"
                marked[place] = replace(status, state="copy", reason=reason, original=original)
            original = original or path
    return marked
