"""task=runs: a table of all runs, whatever their state; task.watch= refreshes it."""

from __future__ import annotations

import time
from pathlib import Path

from gardenpath.console import console
from gardenpath.runs.overview.run_overview import (
    overview_frame,
    overview_table,
    reasons,
    states_of,
)
from gardenpath.runs.overview.run_summaries import RunSummary
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import RunsTask
from gardenpath.store.tables import RUNS, write_table


def run_list_runs(settings: EvaluateSettings, task: RunsTask) -> None:
    """Print the runs, and write them to a table; with ``watch``, again and again."""
    path = Path(settings.output) / RUNS.file
    if task.watch is None:
        _show(states_of(settings.run_folders), path)
        console.print(f"Written to {path}", highlight=False, soft_wrap=True)
        return
    try:
        while True:
            states = states_of(settings.run_folders)
            if console.is_terminal:
                console.clear()
            _show(states, path)
            time.sleep(task.watch)
    except KeyboardInterrupt:
        return


def _show(states: list[RunSummary], path: Path) -> None:
    print_states(states)
    write_table(path, overview_frame(states))


def print_states(states: list[RunSummary]) -> None:
    """Print a table of runs, and why runs are not done."""
    console.print(overview_table(states))
    for line in reasons(states):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
