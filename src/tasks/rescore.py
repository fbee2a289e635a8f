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
from gardenpath.eval.report.order import in_order
from gardenpath.eval.report.study import Study
from gardenpath.eval.report.study_builder import (
    CHANCE,
    PACKAGES,
    as_shown,
    heading,
    listed,
    modifier_orders,
    write_analyses,
)
from gardenpath.eval.report.write import write_report
from gardenpath.eval.statistics.questions.analysis import AnalysisResult
from gardenpath.eval.suites.library.collection import load_suites
from gardenpath.store.versions import versions
from gardenpath.tasks.publish import publish

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
        console.print(f"Report: {write_report(_study(results, analyses, settings), folder)}")
    publish(folder, settings)


def _study(results: Rescored, analyses: Sequence[AnalysisResult], settings: Settings) -> Study:
    """What the report shows."""
    items = results.items
    models, orders = in_order(items["model"]), modifier_orders()
    counted = items.drop_duplicates(["suite", "item"])
    name, whose = (
        heading(settings["suite"]["name"]),
        "published" if settings["materials"] else "given",
    )
    return Study(
        title=f"{name}: {whose} surprisals of {len(models)} model{'s' * (len(models) != 1)}",
        facts={
            "surprisals": str(settings["surprisals"]),
            "materials": str(settings["materials"] or "suites of Gardenpath"),
            "models": listed(models),
            "seeds": listed(sorted(items["seed"].dropna().unique())),
            "suites": f"{counted['suite'].nunique()} with {len(counted)} items",
            "versions": versions(*PACKAGES),
        },
        notes=results.notes,
        items=items,
        summary=results.summary,
        surprisals=results.surprisals,
        critical=results.critical,
        analyses=[as_shown(result, orders) for result in analyses],
        chance=CHANCE,
        modifier_orders=orders,
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
