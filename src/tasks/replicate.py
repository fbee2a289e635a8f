"""study=: the tables, figures and claims of a published study, from files and from runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.table import Table

from gardenpath.console import console, say
from gardenpath.eval.published.released.layouts import import_layout, published_suites
from gardenpath.eval.published.table_import import import_tables
from gardenpath.eval.studies.all_studies import study_spec
from gardenpath.eval.studies.compared import compared_parts
from gardenpath.eval.studies.study_parts import OWN, RELEASED, StudyResult
from gardenpath.eval.studies.study_report import write_study
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.library.collection import load_suites
from gardenpath.runs.evaluation import evaluate
from gardenpath.runs.results import Results, how_made
from gardenpath.runs.run import Runs
from gardenpath.runs.study_sources import corpus_tables, study_evidence
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import EvaluateSettings, StudySettings, StudyTask
from gardenpath.settings.suite_sets import suites_of_set
from gardenpath.settings.surprisal_sources import material_paths, shown_paths, surprisal_sets
from gardenpath.store.results_folder import results_folder
from gardenpath.tasks.asked import asked_runs
from gardenpath.tasks.publish import publish
from gardenpath.text import enumeration, key, plural
from gardenpath.versions import versions

_STYLES = {"reproduced": "green", "not reproduced": "red", "depends": "yellow", "not tested": "dim"}


def run(settings: EvaluateSettings, task: StudyTask) -> None:
    """Compute, print and write."""
    assert settings.study is not None, "the settings are checked"
    study = settings.study
    runs = asked_runs(settings) if settings.run_folders else Runs()
    sources: dict[str, Results] = {}
    if task.surprisals is not None:
        sources[RELEASED] = _released(study, task)
    if runs:
        sources[OWN] = _own(study, task, runs)
    corpora = corpus_tables(
        runs,
        settings.named_corpora,
        cache=Path(settings.paths.cache),
        marginal=task.marginal_sentences,
    )
    last = list(sources)[-1]
    evidence = [
        study_evidence(
            study.name,
            source,
            results,
            corpora=corpora if source == last else None,
            correction=task.correction,
        )
        for source, results in sources.items()
    ]
    result = _with_facts(study_spec(study.name, items=task.items).result(evidence), sources, task)
    _print(result)
    folder = Path(settings.output) / f"{study.name}_study"
    with results_folder(folder, about=how_made(settings=plain(settings))) as temporary:
        report = write_study(result, temporary)
        for source, results in sources.items():
            results.write_tables(temporary / "data" / key(source))
    console.print(f"Tables: {folder}")
    console.print(f"Report: {folder / report.name}")
    publish(folder, settings)


def _released(study: StudySettings, task: StudyTask) -> Results:
    """Import surprisals in the published layout, or tables for the suites of Gardenpath."""
    assert task.surprisals is not None
    sets = surprisal_sets(task.surprisals)
    if task.materials is None:
        imported = import_tables(_suites(study, task), sets, task.pairing)
    else:
        materials = material_paths(task.materials)
        conditions = task.conditions
        imported = import_layout(study.name, materials, sets, task.pairing, conditions=conditions)
    return Results.of_imported(imported, title=study.name, origin="published")


def _own(study: StudySettings, task: StudyTask, runs: Runs) -> Results:
    return evaluate(
        runs,
        _suites(study, task),
        title=study.name,
        in_vocabulary=study.in_vocabulary,
        items=study.items,
    )


def _suites(study: StudySettings, task: StudyTask) -> list[Suite]:
    """Return the published suites, if materials are given, else our own."""
    if task.materials is not None:
        return published_suites(study.name, material_paths(task.materials), task.conditions)
    names = [name for given in study.suites for name in suites_of_set(given)]
    return load_suites(names)


def _with_facts(result: StudyResult, sources: dict[str, Results], task: StudyTask) -> StudyResult:
    """Add what the report says about the sources."""
    facts = {
        source: f"{enumeration([name.model for name in one.names])} "
        f"({plural(len(one.names), 'run')}, {plural(len(one.suites), 'suite')})"
        for source, one in sources.items()
    }
    if task.surprisals is not None:
        facts["surprisals"] = shown_paths(task.surprisals)
    if task.materials is not None:
        facts["materials"] = shown_paths(task.materials)
    facts["versions"] = versions("numpy", "scipy", "pandas")
    notes = [f"{source}: {note}" for source, one in sources.items() for note in one.notes]
    return replace(result, facts=facts, notes=notes)


def _print(result: StudyResult) -> None:
    """Print how many cells agree with the paper, and the verdicts on its claims."""
    table = Table(title=f"{result.title} ({result.reference}): cells as published")
    table.add_column("part", no_wrap=True)
    table.add_column("title")
    compared = compared_parts(result)
    sources = list(dict.fromkeys(claim.source for claim in result.claims))
    for source in sources:
        table.add_column(source, justify="right")
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
