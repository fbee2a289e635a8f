"""task=suites: list the test suites, and export their sentences in other formats."""

from __future__ import annotations

from pathlib import Path

from gardenpath.console import console, track_runs
from gardenpath.eval.suites.library.catalogue import export, suite_entries, suite_table
from gardenpath.eval.suites.library.collection import load_suites, suite_names
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import SuitesTask


def run(settings: EvaluateSettings, task: SuitesTask) -> None:
    """List suites, with an example of each, and export them if requested."""
    asked = settings.suite
    suites = (
        load_suites(asked.suites, pairs=asked.pairs, leave_out=asked.leave_out)
        if asked
        else load_suites(suite_names())
    )
    console.print(suite_table(suite_entries(suites), examples=task.examples))
    if task.export is not None:
        folder = Path(settings.output) / "suites"
        for suite in track_runs(suites, "exporting"):
            export(suite, folder, task.export)
        console.print(f"{len(suites)} suites written to {folder}")
