"""Find runs at or below a folder, with their states; each run once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gardenpath.errors import RunError
from gardenpath.store.files import is_leftover
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.status.run_status import RunStatus, is_run_like, require_whole, run_status

# Folders within a run folder that contain no runs.
_INNER = ("checkpoints", "wandb")


def find_statuses(*roots: Path, partial: bool = False) -> list[RunStatus]:
    """Return all runs at or below folders, in any state, sorted by path.

    Links are followed, but each folder is visited once: under its own path if that is below the
    roots, too. Copies of a finished run have the state ``copy``; the first whole one counts. With
    ``partial``, unfinished runs that have weights are compared, too.
    """
    found: dict[str, RunStatus] = {}
    for root in roots:
        for status in _below(root):
            found.setdefault(real_place(status.folder.path), status)
    ordered = sorted(found.values(), key=lambda one: one.folder.path)
    return _without_copies(ordered, partial=partial)


def find_runs(root: Path) -> list[RunFolder]:
    """Return all finished runs at or below a folder, sorted by path."""
    return [one.folder for one in find_statuses(root) if one.state == "done"]


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
            entries = sorted(os.scandir(folder), key=lambda one: one.name)
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
            if not entry.is_symlink():
                folders += [path] if entry.is_dir(follow_symlinks=False) else []
            elif _is_folder(path):
                links.append(path)
            elif not is_run and not path.exists():
                reason = f"{path}: is a link to {path.readlink()}, which cannot be reached"
                yield RunStatus(folder=RunFolder(path), state="stray", reason=reason)


def real_place(path: Path) -> str:
    """Return the path without links; unlike ``Path.resolve``, also for links in a circle."""
    return os.path.realpath(path)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # such as no permission
        return False


def _without_copies(statuses: Sequence[RunStatus], *, partial: bool) -> list[RunStatus]:
    """Mark runs with the files of an earlier one; the first whole one is the original."""
    groups: dict[str, list[RunStatus]] = {}
    found = []
    for one in statuses:
        if one.state == "done" or (partial and one.is_partial):
            try:
                groups.setdefault(one.folder.known_fingerprint(), []).append(one)
            except RunError as error:
                one = replace(one, state="damaged", reason=str(error))
        found.append(one)
    changed = {
        other.folder.path: other
        for group in groups.values()
        if len(group) > 1
        for other in _compared(group)
    }
    return [changed.get(one.folder.path, one) for one in found]


def _compared(group: Sequence[RunStatus]) -> list[RunStatus]:
    original: Path | None = None
    found = []
    for one in group:
        try:
            require_whole(one.folder)
        except RunError as error:
            found.append(replace(one, state="damaged", reason=str(error)))
            continue
        if original is None:
            original = one.folder.path
            found.append(one)
            continue
        reason = f"{one.folder.path}: is a copy of {original}; it is counted once"
        found.append(replace(one, state="copy", reason=reason, original=original))
    return found
