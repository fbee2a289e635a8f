"""study=: the tables, figures and claims of a published study, from files and from runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gardenpath.console import console, say
from gardenpath.eval.studies.compared import compared_parts
from gardenpath.eval.studies.study_parts import StudyResult
from gardenpath.fitted_table import FittedTable
from gardenpath.runs.finding.loading import Runs
from gardenpath.runs.finding.whole_runs import skip_facts
from gardenpath.runs.studies.replication import study
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import StudyTask
from gardenpath.tasks.asked import asked_runs, conclude
from gardenpath.tasks.printing import print_unusable
from gardenpath.tasks.publish import publish

# Notes on the terminal; the report has all.
_MOST_NOTES = 6
_STYLES = {"reproduced": "green", "not reproduced": "red", "depends": "yellow", "not tested": "dim"}


def run_study(settings: EvaluateSettings, task: StudyTask) -> None:
    """Compute, print and write."""
    assert settings.study is not None, "the settings are checked"
    asked = settings.study
    runs = asked_runs(settings) if settings.run_folders else Runs()
    replication = study(
        asked.name,
        surprisals=task.surprisals,
        materials=task.materials,
        runs=runs,
        corpora=settings.named_corpora,
        suites=asked.suites,
        in_vocabulary=asked.in_vocabulary,
        items=asked.items,
        released_items=task.items,
        conditions=task.conditions,
        pairing=task.pairing,
        correction=task.correction,
        weights=task.weights,
        ties=task.tie_rule,
        min_items=task.min_items,
        allow_unknown=task.allow_unknown,
        marginal_sentences=task.marginal_sentences,
        cache=settings.paths.cache,
    )
    for results in replication.sources.values():
        print_unusable(results)
    for note in replication.result.notes[:_MOST_NOTES]:
        say(note)
    _print(replication.result)
    folder = study_folder(settings)
    about = {"settings": plain(settings), **skip_facts(replication.skipped)}
    report = replace(replication, about=about).write(folder)
    console.print(f"Tables: {folder}")
    console.print(f"Report: {report}")
    publish(folder, settings)
    conclude(replication.skipped, runs.skipped)


def study_folder(settings: EvaluateSettings) -> Path:
    """Return the folder of the study."""
    assert settings.study is not None, "the settings are checked"
    return Path(settings.output) / f"{settings.study.name}_study"


def _print(result: StudyResult) -> None:
    """Print how many cells agree with the paper, and the verdicts on its claims."""
    table = FittedTable(f"{result.title} ({result.reference}): cells as published", keys=2)
    table.column("part")
    table.column("title")
    compared = compared_parts(result)
    sources = list(dict.fromkeys(claim.source for claim in result.claims))
    for source in sources:
        table.column(source, right=True)
    for one in compared:
        counts = [one.counts(source) for source in sources]
        shown = [f"{agree} of {known}" if known else "" for agree, known in counts]
        table.add_row(one.part.number, one.part.title, *shown)
    console.print(table)
    for claim in result.claims:
        verdict = f"[{_STYLES[claim.verdict]}]{claim.verdict}[/]"
        whose = f" ({claim.source})" if len(sources) > 1 else ""
        console.print(f"{verdict}{whose}: {claim.text} [dim]{claim.place}[/dim]")
        say(claim.reason)
