"""task=rescore: surprisals that somebody else's models produced, scored with no model at all."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from src.console import console
from src.errors import ConfigError
from src.eval.report.report import write_report
from src.eval.report.study import Study
from src.eval.rescoring import rescore_mandarin, rescore_reflexives, rescore_suites
from src.eval.suites.collection import load_suites
from src.eval.suites.results import Results
from src.tasks.publish import publish
from src.tasks.study import CHANCE, as_shown, write_analyses

Settings = Mapping[str, Any]


def run(settings: Settings) -> None:
    """Score, print and write."""
    results = _rescored(settings)
    folder = Path(settings["output"])
    for table in results.tables(title=f"{settings['suite']['name']}: accuracy"):
        console.print(table)
    results.write(folder)
    console.print(f"Tables: {folder}")
    if settings["task"]["report"]:
        analyses = write_analyses(folder / "statistics", results.items, None)
        study = Study(
            title=f"{settings['suite']['name']}: published surprisals",
            facts={
                "surprisals": str(settings["surprisals"]),
                "models": ", ".join(dict.fromkeys(results.items["model"])),
                "versions": f"Python {platform.python_version()}",
            },
            notes=results.notes,
            items=results.items,
            summary=results.summary,
            analyses=[as_shown(result) for result in analyses],
            chance=CHANCE,
        )
        console.print(f"Report: {write_report(study, folder)}")
    publish(folder, settings)


def _rescored(settings: Settings) -> Results:
    surprisals = Path(settings["surprisals"])
    ties, seed = settings["task"]["ties"], settings["task"]["tie_seed"]
    if settings["materials"] is None:
        suites = load_suites(settings["suite"]["suites"])
        return rescore_suites(suites, surprisals, ties=ties, seed=seed)
    materials = Path(settings["materials"])
    published = {"mandarin": rescore_mandarin, "reflexives": rescore_reflexives}
    name = settings["suite"]["name"]
    if name not in published:
        raise ConfigError(
            [f"suite={name}: materials= is for the published {' and '.join(published)} layouts"]
        )
    return published[name](materials, surprisals, ties=ties, seed=seed)
