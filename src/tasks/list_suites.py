"""task=suites: list the test suites, and export their sentences in other formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gardenpath.console import console, say, track_runs
from gardenpath.eval.suites.design.suite import Suite, SuiteError
from gardenpath.eval.suites.library.catalogue import (
    class_table,
    described_suite,
    export,
    suite_entries,
    suite_table,
)
from gardenpath.eval.suites.library.collection import load_suites, suite_names
from gardenpath.settings.check import nearest
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import SuitesTask


def run_list_suites(settings: EvaluateSettings, task: SuitesTask) -> None:
    """List suites or show one, and export them if requested."""
    suites = _asked_suites(settings, task)
    _show(suites, task, every=settings.suite is not None or task.show is not None)
    if task.export is not None:
        folder = Path(settings.output) / "suites"
        for suite in track_runs(suites, "exporting"):
            export(suite, folder, task.export)
        console.print(f"{len(suites)} suites written to {folder}")


def _asked_suites(settings: EvaluateSettings, task: SuitesTask) -> list[Suite]:
    asked = settings.suite
    if asked is None:
        return load_suites(task.show or suite_names())
    found = load_suites(
        asked.suites, pairs=asked.pairs, leave_out=asked.leave_out, criteria=asked.criteria
    )
    if task.show is None:
        return found
    chosen = [one for one in found if one.name == task.show or one.name.startswith(f"{task.show}/")]
    if not chosen:
        names = [one.name for one in found]
        raise SuiteError(f"no suite {task.show!r} in suite=; {nearest(task.show, names)}")
    return chosen


def _show(suites: Sequence[Suite], task: SuitesTask, *, every: bool) -> None:
    """Print a line per class or, of suites that were asked for, per suite; one suite in full."""
    entries = suite_entries(suites)
    if task.show is not None and len(entries) == 1:
        for line in described_suite(entries[0]):
            say(line)
    elif every or task.examples:
        console.print(suite_table(entries, examples=task.examples))
    else:
        console.print(class_table(entries))
