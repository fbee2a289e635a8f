"""task=suite: evaluate all matching runs on test suites; write tables, statistics and a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.markup import escape

from gardenpath.console import console, say
from gardenpath.eval.perplexity.comparison import PerplexityRow
from gardenpath.eval.report.cautions import outcome_cautions
from gardenpath.eval.suites.library.collection import load_suites
from gardenpath.runs.evaluation import evaluate, pairs_for
from gardenpath.runs.exchange.result_forms import check_result_forms
from gardenpath.runs.results import Results
from gardenpath.runs.run import Run
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import SuiteTask
from gardenpath.store.status.run_status import RunStatus
from gardenpath.tasks.asked import asked_runs, conclude
from gardenpath.tasks.perplexity import printed_perplexities
from gardenpath.tasks.printing import print_search, print_unusable
from gardenpath.tasks.publish import write_results


def run_suites(settings: EvaluateSettings, task: SuiteTask) -> None:
    """Score, print and write."""
    chosen = settings.suites
    runs = asked_runs(settings)
    pairs = pairs_for(runs, chosen.pairs)
    suites = load_suites(
        chosen.suites, pairs=pairs, leave_out=chosen.leave_out, criteria=chosen.criteria
    )
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
    about = {**results.about, "settings": plain(settings)}
    results = replace(
        results,
        about=about,
        correction=task.correction,
        weights=task.weights,
        also=task.also,
        formula=task.formula or "",
    )
    skipped = list(results.skipped)
    if task.perplexity:
        scored = {name.run for name in results.names}
        rows = _perplexity(runs, scored, settings, task, skipped)
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


def suites_folder(settings: EvaluateSettings) -> Path:
    """Return the folder of the results."""
    return Path(settings.output) / settings.suites.label


def _print_unknown(results: Results) -> None:
    unknown = results.items[results.items["unknown"] > 0]
    if unknown.empty:
        return
    words = sorted({w for text in unknown["unknown_words"] for w in text.split()})
    shown = " ".join(words[:12]) + (" …" if len(words) > 12 else "")
    are = "critical word is" if len(words) == 1 else "critical words are"
    say(
        f"{len(words)} {are} out-of-vocabulary for some model: {shown}; "
        "suite.in_vocabulary=true excludes items with such words"
    )


def _perplexity(
    runs: list[Run],
    scored: set[str],
    settings: EvaluateSettings,
    task: SuiteTask,
    skipped: list[RunStatus],
) -> list[PerplexityRow]:
    members = [run for run in runs if run.name.run in scored]
    return printed_perplexities(
        members, settings, split=task.split, limit=task.perplexity_sentences, skipped=skipped
    )
