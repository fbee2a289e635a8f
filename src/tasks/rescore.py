"""task=rescore: score surprisals produced by other models, without running a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gardenpath.console import console
from gardenpath.errors import ConfigError
from gardenpath.eval.published.rescoring import (
    Rescored,
    rescore_mandarin,
    rescore_reflexives,
    rescore_suites,
)
from gardenpath.eval.report.order import models_in_order
from gardenpath.eval.report.shown_analyses import run_analyses, shown_results, write_analyses
from gardenpath.eval.report.study import Shown, Study
from gardenpath.eval.report.study_builder import REPORT_PACKAGES
from gardenpath.eval.report.write import write_report
from gardenpath.eval.suites.library.collection import load_suites
from gardenpath.runs.results import how_made
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import EvaluateSettings, RescoreTask, SuiteSettings
from gardenpath.store.results_folder import results_folder
from gardenpath.tasks.printing import print_analyses
from gardenpath.tasks.publish import publish
from gardenpath.text import enumeration, heading, plural
from gardenpath.versions import versions

_PUBLISHED = {"mandarin": rescore_mandarin, "reflexives": rescore_reflexives}


def run(settings: EvaluateSettings, task: RescoreTask) -> None:
    """Score, print and write."""
    suite = settings.suites
    results = _rescored(suite, task)
    for table in results.tables(title=f"{suite.label}: accuracy"):
        console.print(table)
    folder = Path(settings.output) / f"{suite.label}_rescored"
    with results_folder(folder, about=how_made(settings=plain(settings))) as temporary:
        results.write(temporary)
        if task.report:
            found = run_analyses(results.items)
            write_analyses(temporary / "statistics", found)
            analyses = shown_results(found)
            print_analyses(analyses)
            write_report(_study(results, analyses, suite, task), temporary)
    console.print(f"Tables: {folder}")
    if task.report:
        console.print(f"Report: {folder / 'report.html'}")
    publish(folder, settings)


def _study(
    results: Rescored, analyses: Sequence[Shown], suite: SuiteSettings, task: RescoreTask
) -> Study:
    """Return the content of the report."""
    items = results.items
    models = models_in_order(items["model"])
    counted = items.drop_duplicates(["suite", "item"])
    whose = "published" if task.materials else "given"
    return Study(
        title=f"{heading(suite.label)}: {whose} surprisals of {plural(len(models), 'model')}",
        facts={
            "surprisals": task.surprisals,
            "materials": task.materials or "suites of Gardenpath",
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


def _rescored(suite: SuiteSettings, task: RescoreTask) -> Rescored:
    surprisals = Path(task.surprisals)
    if task.materials is None:
        suites = load_suites(suite.suites)
        return rescore_suites(suites, surprisals, ties=task.ties, seed=task.tie_seed)
    if suite.label not in _PUBLISHED:
        layouts = " and ".join(_PUBLISHED)
        raise ConfigError([f"suite={suite.label}: materials= is for the published {layouts}"])
    rescore = _PUBLISHED[suite.label]
    return rescore(Path(task.materials), surprisals, ties=task.ties, seed=task.tie_seed)
