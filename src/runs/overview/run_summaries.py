"""What is known of a run from its files, while it may be training elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from gardenpath.errors import GardenpathError
from gardenpath.safe_text import parse_json
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.status.run_metrics import epoch_rows
from gardenpath.store.status.run_status import RunState, RunStatus

# The perplexities of a run, in order of preference: those of syntactic models are joint ones.
_PERPLEXITIES = ("perplexity", "joint_perplexity")


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """What is known of a run, finished or not; ``config`` is empty before the run has begun."""

    path: Path
    status: RunState
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


def summary_of(found: RunStatus) -> RunSummary:
    """Return what is known of a run."""
    folder = found.folder
    epochs, perplexity, seconds = _metrics(folder)
    result = _read_json(folder.result_path) if found.state in ("done", "copy") else {}
    return RunSummary(
        path=folder.path,
        status=found.state,
        reason=found.reason,
        config=_config(folder),
        epochs=epochs,
        valid_perplexity=_perplexity(result, "valid") or perplexity,
        test_perplexity=_perplexity(result, "test"),
        seconds=seconds if seconds is not None else _wall_clock(folder),
        bytes_on_disk=_bytes_below(folder.path),
    )


def _config(folder: RunFolder) -> dict[str, Any]:
    """Return the configuration; empty if there is none, or if it is damaged."""
    try:
        return folder.config() if folder.is_begun else {}
    except GardenpathError:
        return {}


def _metrics(folder: RunFolder) -> tuple[int | None, float | None, float | None]:
    """Return the number of epochs, the lowest validation perplexity and the duration so far."""
    rows = epoch_rows(folder)
    try:
        seconds = sum(float(row["seconds"]) for row in rows)
        found = [
            float(row[name])
            for row in rows
            for name in (f"valid/{one}" for one in _PERPLEXITIES)
            if row.get(name)
        ]
    except (ValueError, KeyError, TypeError):
        return None, None, None
    return (len(rows), min(found, default=None), seconds) if rows else (None, None, None)


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


def _bytes_below(path: Path) -> int:
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
        content = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
