"""The state of a run folder, read from its files, while the run may be training elsewhere."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from gardenpath.errors import GardenpathError
from gardenpath.store.files import is_leftover
from gardenpath.store.locks import owner_of, owner_path
from gardenpath.store.run_folder import RunFolder

Status = Literal["done", "running", "stopped", "failed"]

FAILURE_FILE = "failure.json"

# The perplexities of a run, in order of preference: those of syntactic models are joint ones.
_PERPLEXITIES = ("perplexity", "joint_perplexity")


@dataclass(frozen=True, kw_only=True)
class RunState:
    """What is known of a run, finished or not; ``config`` is empty before the run has begun."""

    path: Path
    status: Status
    reason: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    epochs: int | None = None
    valid_perplexity: float | None = None
    test_perplexity: float | None = None
    seconds: float | None = None
    bytes_on_disk: int = 0

    def setting(self, name: str) -> Any:
        """Return a setting by its full name, such as ``model.name``; None if there is none."""
        value: Any = self.config
        for key in name.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


def run_states(root: Path) -> list[RunState]:
    """Return the states of all runs at or below a folder, sorted by path."""
    return [run_state(path) for path in sorted(_run_paths(root))]


def run_state(path: Path) -> RunState:
    """Return the state of one run folder."""
    folder = RunFolder(path)
    epochs, perplexity, seconds = _metrics(folder)
    status, reason = _status(folder)
    result = _read_json(folder.result_path) if status == "done" else {}
    config, problem = _config(folder)
    if problem and status != "running":
        status, reason = "failed", problem
    return RunState(
        path=path,
        status=status,
        reason=reason,
        config=config,
        epochs=epochs,
        valid_perplexity=_perplexity(result, "valid") or perplexity,
        test_perplexity=_perplexity(result, "test"),
        seconds=seconds if seconds is not None else _wall_clock(folder),
        bytes_on_disk=_size(path),
    )


def _run_paths(root: Path) -> Iterator[Path]:
    """Find run folders that are marked, or claimed by a training that has not begun yet."""
    seen: set[Path] = set()
    for name, below, _ in os.walk(root, followlinks=True):
        path = Path(name)
        if path.resolve() in seen:  # a link to a folder above
            below.clear()
            continue
        seen.add(path.resolve())
        below[:] = [one for one in below if not one.startswith(".") and not is_leftover(Path(one))]
        folder = RunFolder(path)
        if folder.is_marked or owner_path(folder.lock_path).is_file():
            yield path


def _status(folder: RunFolder) -> tuple[Status, str]:
    owner = owner_of(folder.lock_path)
    if owner is not None:
        return "running", str(owner)
    if folder.is_finished:
        return "done", ""
    failure = _read_json(folder.path / FAILURE_FILE)
    if not failure:
        return "stopped", ""
    message = " ".join(str(failure.get("message", "")).split())
    return ("stopped" if failure.get("kind") == "interrupted" else "failed"), message


def _config(folder: RunFolder) -> tuple[dict[str, Any], str]:
    """Return the configuration, and what is wrong with it."""
    if not folder.is_begun:
        return {}, ""
    try:
        return folder.config(), ""
    except GardenpathError as error:
        return {}, str(error)


def _metrics(folder: RunFolder) -> tuple[int | None, float | None, float | None]:
    """Return the number of epochs, the lowest validation perplexity and the duration so far."""
    try:
        with folder.metrics_path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        seconds = sum(float(row["seconds"]) for row in rows)
        found = [
            float(row[name])
            for row in rows
            for name in (f"valid/{one}" for one in _PERPLEXITIES)
            if row.get(name)
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return None, None, None
    return len(rows), min(found, default=None), seconds


def _perplexity(result: Mapping[str, Any], split: str) -> float | None:
    metrics = result.get(split)
    values = [metrics.get(name) for name in _PERPLEXITIES] if isinstance(metrics, dict) else []
    return next((float(one) for one in values if isinstance(one, int | float)), None)


def _wall_clock(folder: RunFolder) -> float | None:
    """Return the time from the beginning of a finished run without epochs to its end."""
    created = _read_json(folder.marker_path).get("created")
    try:
        begun = datetime.fromisoformat(str(created)).timestamp()
        return max(0.0, folder.result_path.stat().st_mtime - begun)
    except (OSError, ValueError):
        return None


def _size(path: Path) -> int:
    total = 0
    for root, _, names in os.walk(path):
        for name in names:
            try:
                total += (Path(root) / name).lstat().st_size
            except OSError:  # removed in the meantime
                continue
    return total


def _read_json(path: Path) -> dict[str, Any]:
    """Return the content of a file that another process may be writing; empty if unreadable."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
