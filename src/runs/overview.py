"""What is known of a run from its files, while it may be training elsewhere."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.text import Text

from gardenpath.console import FittedTable
from gardenpath.errors import GardenpathError, RunError
from gardenpath.eval.display import models_in_order
from gardenpath.safe_text import parse_json
from gardenpath.settings.schema import flat_settings, short_names
from gardenpath.store.manifest import MANIFEST_FILE
from gardenpath.store.run_folder import (
    RESULT_FILE,
    RunFolder,
    RunState,
    RunStatus,
    epoch_rows,
    find_statuses,
    run_status,
)
from gardenpath.store.tables import RUNS
from gardenpath.util import enumeration, plural

if TYPE_CHECKING:
    import pandas as pd

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


def summary_of(status: RunStatus) -> RunSummary:
    """Return what is known of a run."""
    folder = status.folder
    epochs, perplexity, seconds = _metrics(folder)
    result = _read_json(folder / RESULT_FILE) if status.state in ("done", "copy") else {}
    return RunSummary(
        path=folder.path,
        status=status.state,
        reason=status.reason,
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
        perplexities = [
            float(row[name])
            for row in rows
            for name in (f"valid/{key}" for key in _PERPLEXITIES)
            if row.get(name)
        ]
    except (ValueError, KeyError, TypeError):
        return None, None, None
    return (len(rows), min(perplexities, default=None), seconds) if rows else (None, None, None)


def _perplexity(result: Mapping[str, Any], split: str) -> float | None:
    metrics = result.get(split)
    values = [metrics.get(name) for name in _PERPLEXITIES] if isinstance(metrics, dict) else []
    return next((float(value) for value in values if isinstance(value, int | float)), None)


def _wall_clock(folder: RunFolder) -> float | None:
    """Return the time from the beginning of a finished run without epochs to its end."""
    manifest = _read_json(folder / MANIFEST_FILE)
    try:
        begun = datetime.fromisoformat(str(manifest["about"]["begun"])).timestamp()
        return max(0.0, (folder / RESULT_FILE).stat().st_mtime - begun)
    except (OSError, ValueError, KeyError, TypeError):
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


# ----------------------------------------------------------------------------
# A table of runs: state, settings that differ between them, results, duration and size.


_STYLES: dict[RunState, str] = {
    "done": "green",
    "running": "cyan",
    "unfinished": "yellow",
    "failed": "red",
    "damaged": "red",
    "copy": "dim",
    "stray": "dim",
}
# Settings with columns of their own, and settings that say nothing about a model.
_SHOWN_ELSEWHERE = ("format", "data.name", "model.name", "seed", "run_dir", "paths", "logger",
                    "trainer.progress", "trainer.checkpoint_steps", "existing", "resume",
                    "overwrite")  # fmt: skip
# Most columns of settings in the terminal; the CSV file has all.
_MOST_SETTINGS = 6


def states_of(folders: Sequence[str | Path]) -> list[RunSummary]:
    """Return the states of all runs at or below some folders; each exists."""
    for folder in folders:
        if not Path(folder).is_dir():
            raise RunError(
                f"{folder} is not a folder; name a run folder, or one that contains runs"
            )
    return _in_order([summary_of(status) for status in find_statuses(*map(Path, folders))])


def states_of_jobs(targets: Sequence[str], failures: Mapping[str, str]) -> list[RunSummary]:
    """Return the states of the runs of a sweep, with the reasons for which jobs failed."""
    summaries = []
    for target in targets:
        state = summary_of(run_status(RunFolder(Path(target))))
        if target in failures:
            state = replace(state, status="failed", reason=failures[target])
        summaries.append(state)
    return _in_order(summaries)


def _in_order(states: Sequence[RunSummary]) -> list[RunSummary]:
    """Sort runs by corpus and, as in all tables, by model; others keep their order."""
    names = [(state.setting("data.name"), str(state.setting("model.name"))) for state in states]
    corpora = list(dict.fromkeys(corpus for corpus, _ in names))
    models = models_in_order(model for _, model in names)
    places = [(corpora.index(corpus), models.index(model)) for corpus, model in names]
    return [states[number] for number in sorted(range(len(states)), key=places.__getitem__)]


def different_settings(states: Sequence[RunSummary]) -> dict[str, str]:
    """Return the settings that differ between runs of the same model, with their short names.

    Settings that only some models have are compared among these.
    """
    flat = [flat_settings(state.config) for state in states if state.config]
    names = list(dict.fromkeys(name for settings in flat for name in settings))
    different = [name for name in names if _differs(name, flat)]
    return short_names(different)


def overview_frame(states: Sequence[RunSummary]) -> pd.DataFrame:
    """Return the table of runs as a frame with the columns of ``runs.csv``."""
    import pandas as pd

    settings = different_settings(states)
    return pd.DataFrame([_row(state, settings) for state in states])


def overview_table(states: Sequence[RunSummary], *, title: str = "") -> FittedTable:
    """Return the table of runs for the terminal."""
    settings = dict(list(different_settings(states).items())[:_MOST_SETTINGS])
    above, names = _common_folder([str(state.path) for state in states])
    table = FittedTable(title or above, summary(states), box=SIMPLE_HEAD, elsewhere=RUNS.file)
    table.column("run")
    table.column("status")
    for name in settings.values():
        table.column(name, needed=False)
    for name in ("seed", "epochs", "valid ppl", "test ppl", "time", "size"):
        table.column(name, right=True, needed=name not in ("epochs", "time", "size"))
    for name, state in zip(names, states, strict=True):
        table.add_row(
            name,
            Text(state.status, style=_STYLES[state.status]),
            *(_shown(state.setting(name)) for name in settings),
            _shown(state.setting("seed")),
            _shown(state.epochs),
            _number(state.valid_perplexity),
            _number(state.test_perplexity),
            _duration(state.seconds),
            _size_text(state.bytes_on_disk),
        )
    return table


def summary(states: Sequence[RunSummary]) -> str:
    """Count the runs in each state: ``3 runs: 2 done, 1 failed``."""
    counts = Counter(state.status for state in states)
    parts = [f"{counts[status]} {status}" for status in _STYLES if counts[status]]
    return f"{plural(len(states), 'run')}: {enumeration(parts)}" if parts else "no runs"


def reasons(states: Sequence[RunSummary]) -> list[str]:
    """Return one line for each run that is not done, with the reason."""
    return [
        f"{state.status}: {_with_path(state)}"
        for state in states
        if state.status != "done" and state.reason
    ]


def _with_path(state: RunSummary) -> str:
    path = str(state.path)
    return state.reason if path in state.reason else f"{path}: {state.reason}"


def _common_folder(paths: Sequence[str]) -> tuple[str, list[str]]:
    """Return the folder that contains all runs, and the paths of the runs within it."""
    above = os.path.commonpath([Path(place).parent for place in paths]) if paths else ""
    return above, [os.path.relpath(path, above or ".") for path in paths]


def _row(state: RunSummary, settings: Mapping[str, str]) -> dict[str, Any]:
    return {
        "run": str(state.path),
        "model": state.setting("model.name"),
        "corpus": state.setting("data.name"),
        "seed": state.setting("seed"),
        "status": state.status,
        "reason": state.reason,
        "epochs": state.epochs,
        "valid_perplexity": state.valid_perplexity,
        "test_perplexity": state.test_perplexity,
        "seconds": None if state.seconds is None else round(state.seconds, 2),
        "megabytes": round(state.bytes_on_disk / 1e6, 3),
        **{name: state.setting(name) for name in settings},
    }


def _differs(name: str, flat: Sequence[Mapping[str, Any]]) -> bool:
    """Whether runs of one model on one corpus have different values."""
    if any(name == one or name.startswith(f"{one}.") for one in _SHOWN_ELSEWHERE):
        return False
    first: dict[tuple[Any, Any], str] = {}
    for one in flat:
        group = (one.get("data.name"), one.get("model.name"))
        if name in one and first.setdefault(group, str(one[name])) != str(one[name]):
            return True
    return False


def _shown(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    if hours:
        return f"{hours}h{minutes % 60:02d}"
    return f"{minutes} min" if minutes else f"{seconds:.0f} s"


def _size_text(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
