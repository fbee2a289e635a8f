"""task=suites: which test suites there are, and their sentences in other formats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gardenpath.console import console, track_runs
from gardenpath.eval.suites.library.catalogue import export, suite_entries, suite_table
from gardenpath.eval.suites.library.collection import load_suites, suite_names


def run(settings: Mapping[str, Any]) -> None:
    """List suites, with an example of each, and export them where that is asked for."""
    chosen = settings["suite"]["suites"] if settings["suite"] else suite_names()
    suites = load_suites(chosen)
    console.print(suite_table(suite_entries(suites), examples=settings["task"]["examples"]))
    if form := settings["task"]["export"]:
        folder = Path(settings["output"]) / "suites"
        for suite in track_runs(suites, "exporting"):
            export(suite, folder, form)
        console.print(f"{len(suites)} suites written to {folder}")
