"""task=rescore: score surprisals produced by other models, without running a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gardenpath.console import console
from gardenpath.errors import InputError
from gardenpath.eval.published.imported import Imported
from gardenpath.eval.published.released.layouts import import_layout
from gardenpath.eval.published.table_import import import_tables
from gardenpath.eval.suites.library.collection import load_suites
from gardenpath.runs.results import Results
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import EvaluateSettings, SuiteSettings
from gardenpath.settings.surprisal_sources import material_paths, shown_paths, surprisal_sets
from gardenpath.settings.task_settings import RescoreTask
from gardenpath.tasks.printing import print_unusable
from gardenpath.tasks.publish import write_results


def run_rescore(settings: EvaluateSettings, task: RescoreTask) -> None:
    """Score, print and write."""
    suite = settings.suites
    whose = "published" if task.materials else "given"
    results = Results.of_imported(
        _imported(suite, task),
        title=suite.label,
        origin=whose,
        sources={
            "surprisals": shown_paths(task.surprisals),
            "materials": shown_paths(task.materials) if task.materials else "suites of Gardenpath",
        },
        ties=task.tie_rule,
    )
    about = {"settings": plain(settings)}
    results = replace(
        results,
        about=about,
        correction=task.correction,
        min_items=task.min_items,
        also=task.also,
        formula=task.formula or "",
    )
    print_unusable(results)
    for table in (*results.effect_tables(), *results.accuracy_tables()):
        console.print(table)
    folder = Path(settings.output) / f"{suite.label}_rescored"
    write_results(results, folder, settings, report=task.report)


def _imported(suite: SuiteSettings, task: RescoreTask) -> Imported:
    sets = surprisal_sets(task.surprisals)
    if task.materials is None:
        suites = load_suites(
            suite.suites, pairs=suite.pairs, leave_out=suite.leave_out, criteria=suite.criteria
        )
        if not any(one.predictions for one in suites):
            raise InputError(
                "has no predictions, so nothing can be scored",
                path=", ".join(map(str, suite.suites)),
                remedy="write a YAML file with 'table:' and predictions (docs/suites.md)",
            )
        return import_tables(suites, sets, task.pairing, columns=task.columns, form=task.form)
    materials = material_paths(task.materials)
    return import_layout(suite.label, materials, sets, task.pairing, conditions=task.conditions)
