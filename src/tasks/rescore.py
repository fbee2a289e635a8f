"""task=rescore: surprisals that somebody else's models produced, scored with no model at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gardenpath.console import console
from gardenpath.errors import ConfigError
from gardenpath.eval.published.rescoring import (
    Rescored,
    rescore_mandarin,
    rescore_reflexives,
    rescore_suites,
)
from gardenpath.eval.report.order import models_in_order
from gardenpath.eval.report.shown_analyses import as_shown, run_analyses, write_analyses
from gardenpath.eval.report.study import Shown, Study
from gardenpath.eval.report.study_builder import REPORT_PACKAGES
from gardenpath.eval.report.write import write_report
from gardenpath.eval.suites.library.collection import load_suites
from gardenpath.store.versions import versions
from gardenpath.tasks.printing import print_analyses
from gardenpath.tasks.publish import publish
from gardenpath.text import enumeration, heading, plural

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
        found = run_analyses(results.items)
        write_analyses(folder / "statistics", found)
        analyses = [as_shown(result) for result in found]
        print_analyses(analyses)
        console.print(f"Report: {write_report(_study(results, analyses, settings), folder)}")
    publish(folder, settings)


def _study(results: Rescored, analyses: Sequence[Shown], settings: Settings) -> Study:
    """What the report shows."""
    items = results.items
    models = models_in_order(items["model"])
    counted = items.drop_duplicates(["suite", "item"])
    name, whose = (
        heading(settings["suite"]["name"]),
        "published" if settings["materials"] else "given",
    )
    return Study(
        title=f"{name}: {whose} surprisals of {plural(len(models), 'model')}",
        facts={
            "surprisals": str(settings["surprisals"]),
            "materials": str(settings["materials"] or "suites of Gardenpath"),
            "models": enumeration(models),
            "seeds": enumeration(sorted(items["seed"].dropna().unique())),
            "suites": f"{counted['suite'].nunique()} with {len(counted)} items",
            "versions": versions(*REPORT_PACKAGES),
        },
        notes=results.notes,
        items=items,
        summary=results.summary,
        surprisals=results.surprisals,
        critical=results.critical,
        analyses=analyses,
        chance=results.chance,
    )


def _rescored(settings: Settings) -> Rescored:
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
