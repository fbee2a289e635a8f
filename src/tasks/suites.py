"""The tasks that score test suites: suite (with runs) and rescore (with surprisals of others).

``tasks.run_task`` calls the functions ``run_…``. They print and write what ``runs.evaluation`` and
``eval.suites`` compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from rich.markup import escape

from gardenpath.console import console, say_wrapped
from gardenpath.errors import ConfigError, InputError
from gardenpath.eval.published.importing import Imported
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.report.content import outcome_cautions
from gardenpath.registry import LAYOUTS, Registered
from gardenpath.runs.evaluation import evaluate, pairs_for
from gardenpath.runs.results import Results, check_result_forms
from gardenpath.settings.evaluate import EvaluateSettings, SuiteSettings
from gardenpath.settings.schema import plain
from gardenpath.settings.tasks import (
    RescoreTask,
    SuiteTask,
    material_paths,
    shown_paths,
    surprisal_sets,
)
from gardenpath.tasks import sole_writer_of
from gardenpath.tasks.output import (
    asked_runs,
    conclude,
    print_search,
    print_unusable,
    printed_perplexities,
    write_results,
)


def suites_folder(settings: EvaluateSettings) -> Path:
    """Return the folder of the results."""
    return Path(settings.output) / settings.suites.label


@sole_writer_of(suites_folder)
def run_suites(settings: EvaluateSettings, task: SuiteTask) -> None:
    """Score, print and write."""
    chosen = settings.suites
    runs = asked_runs(settings)
    suites = chosen.load(pairs_for(runs, chosen.pairs))
    check_result_forms(task.also, suites)
    results = evaluate(
        runs,
        suites,
        title=chosen.label,
        in_vocabulary=chosen.in_vocabulary,
        items=chosen.items,
        ties=task.tie_rule,
        parsed_items=task.parsed_items,
        min_items=task.min_items,
        allow_unknown=task.allow_unknown,
    )
    results = replace(
        results,
        about={**results.about, "settings": plain(settings)},
        correction=task.correction,
        weights=task.weights,
        also=task.also,
        formula=task.formula or "",
    )
    skipped = list(results.skipped)
    if task.perplexity:
        scored = {name.run for name in results.names}
        rows = printed_perplexities(
            [run for run in runs if run.name.run in scored],
            settings,
            split=task.split,
            limit=task.perplexity_sentences,
            skipped=skipped,
        )
        results = replace(results, perplexity=rows)
    # The answer comes last, where it is read.
    print_unusable(results)
    if not any(row.search for row in results.perplexity):  # named below that table otherwise
        print_search(runs)
    for table in (*results.effect_tables(), *results.accuracy_tables()):
        console.print(table)
    _print_unknown(results)
    for caution in outcome_cautions(results.items):
        console.print(f"[yellow]{escape(caution)}[/]")
    write_results(results, suites_folder(settings), settings, report=task.report)
    conclude(skipped, runs.skipped)


def _print_unknown(results: Results) -> None:
    unknown = results.items[results.items["unknown"] > 0]
    if unknown.empty:
        return
    words = sorted({w for text in unknown["unknown_words"] for w in text.split()})
    shown = " ".join(words[:12]) + (" …" if len(words) > 12 else "")
    are = "critical word is" if len(words) == 1 else "critical words are"
    say_wrapped(
        f"{len(words)} {are} out-of-vocabulary for some model: {shown}; "
        "suite.in_vocabulary=true excludes items with such words"
    )


# ----------------------------------------------------------------------------
# task=rescore: score surprisals produced by other models, without running a model.


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
    results = replace(
        results,
        about={"settings": plain(settings)},
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
        suites = suite.load(suite.pairs)
        if not any(candidate.predictions for candidate in suites):
            raise InputError(
                "has no predictions, so nothing can be scored",
                path=", ".join(map(str, suite.suites)),
                remedy="write a YAML file with 'table:' and predictions (docs/suites.md)",
            )
        return import_tables(suites, sets, task.pairing, columns=task.columns, form=task.form)
    materials = material_paths(task.materials)
    published: Mapping[str, Callable[..., Imported]] = Registered(LAYOUTS)
    if "import" not in published:
        raise ConfigError("materials= needs the package gardenpath.studies")
    return published["import"](
        suite.label, materials, sets, task.pairing, conditions=task.conditions
    )
