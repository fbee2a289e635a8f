"""task=suite: evaluate all matching runs on test suites; write tables, statistics and a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.markup import escape

from gardenpath.console import console, say, track_runs
from gardenpath.errors import ConfigError, InputError
from gardenpath.eval.perplexity import PerplexityRow
from gardenpath.eval.published.importing import Imported
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.report.content import outcome_cautions
from gardenpath.eval.suites.library import (
    class_table,
    described_suite,
    export,
    load_suites,
    suite_names,
    suite_table,
)
from gardenpath.eval.suites.suite import Suite, SuiteError
from gardenpath.registry import LAYOUTS, Registered
from gardenpath.runs.evaluation import evaluate, pairs_for
from gardenpath.runs.results import Results, check_result_forms
from gardenpath.runs.run import Run
from gardenpath.settings.evaluate import EvaluateSettings, SuiteSettings
from gardenpath.settings.schema import nearest, plain
from gardenpath.settings.tasks import (
    NewSuiteTask,
    RescoreTask,
    SuitesTask,
    SuiteTask,
    material_paths,
    shown_paths,
    surprisal_sets,
)
from gardenpath.store.files import write_text
from gardenpath.store.run_folder import RunStatus
from gardenpath.tasks import sole_writer_of
from gardenpath.tasks.output import (
    asked_runs,
    conclude,
    print_search,
    print_unusable,
    write_results,
)
from gardenpath.tasks.score import printed_perplexities
from gardenpath.util import file_stem


def suites_folder(settings: EvaluateSettings) -> Path:
    """Return the folder of the results."""
    return Path(settings.output) / settings.suites.label


@sole_writer_of(suites_folder)
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


# ----------------------------------------------------------------------------
# task=suites: list the test suites, and export their sentences in other formats.


def run_list_suites(settings: EvaluateSettings, task: SuitesTask) -> None:
    """List suites or show one, and export them if requested."""
    suites = _asked_suites(settings, task)
    _show(suites, task, every=settings.suite is not None or task.show is not None)
    if task.export is not None:
        folder = Path(settings.output) / "suites"
        for suite in track_runs(suites, "exporting"):
            export(suite, folder, task.export)
        console.print(f"{len(suites)} suites written to {folder}")


def _asked_suites(settings: EvaluateSettings, task: SuitesTask) -> list[Suite]:
    chosen_set = settings.suite
    if chosen_set is None:
        return load_suites(task.show or suite_names())
    suites = load_suites(
        chosen_set.suites,
        pairs=chosen_set.pairs,
        leave_out=chosen_set.leave_out,
        criteria=chosen_set.criteria,
    )
    if task.show is None:
        return suites
    chosen = [
        suite
        for suite in suites
        if suite.name == task.show or suite.name.startswith(f"{task.show}/")
    ]
    if not chosen:
        names = [suite.name for suite in suites]
        raise SuiteError(f"no suite {task.show!r} in suite=; {nearest(task.show, names)}")
    return chosen


def _show(suites: Sequence[Suite], task: SuitesTask, *, every: bool) -> None:
    """Print a line per class or, of suites that were asked for, per suite; one suite in full."""
    if task.show is not None and len(suites) == 1:
        for line in described_suite(suites[0]):
            say(line)
    elif every or task.examples:
        console.print(suite_table(suites, examples=task.examples))
    else:
        console.print(class_table(suites))


# ----------------------------------------------------------------------------
# task=new_suite: write a commented starting point for a suite of one's own.


_TABLE = """\
item,condition,subject,verb,rest
1,match,the boys,know,the man .
1,mismatch,the boys,knows,the man .
2,match,the senators,see,the king .
2,mismatch,the senators,sees,the king .
"""
_YAML = """\
# A suite of your own. Run it with:
#   python evaluate.py suite=file 'suite.suites=[{name}.yaml]' run=runs
# The results are in results/{name}. Everything is explained in docs/suites.md.
name: {name}
language: en                  # en or zh: runs on corpora of this language are evaluated
table: {name}.csv             # the items, beside this file; an Excel sheet (.xlsx) works as well
# sheet: Sheet1               # of an Excel file; the first by default
regions: [subject, verb, rest]   # the columns of the table that hold the regions, in order
critical: [verb]              # regions of interest

# What a model of the grammar does: true or false for each item.
predictions:
  agreement: (verb;%mismatch%) > (verb;%match%)

# Quantities in bits, with intervals. The interaction of a 2 x 2 design is
#   [(verb;%a1%) - (verb;%a2%)] - [(verb;%b1%) - (verb;%b2%)]
effects:
  mismatch_effect: (verb;%mismatch%) - (verb;%match%)

# Factors of the conditions, which become columns of sentences.csv for statistics.
factors:
  match: {{agreement: "yes"}}
  mismatch: {{agreement: "no"}}
"""


def run_new_suite(settings: EvaluateSettings, task: NewSuiteTask) -> None:
    """Write a description and a table of items; files that exist are never overwritten."""
    name = file_stem(task.source)
    paths = {Path(f"{name}.yaml"): _YAML.format(name=name), Path(f"{name}.csv"): _TABLE}
    for path in paths:
        if path.exists():
            remedy = "choose another name, as in name=mine2; nothing was written"
            raise InputError("exists already", path=path, remedy=remedy)
    for path, content in paths.items():
        write_text(path, content)
    console.print(f"{' and '.join(map(str, paths))}: change them, then run")
    command = f"python evaluate.py suite=file 'suite.suites=[{name}.yaml]' run=runs"
    console.print(f"  {command}", markup=False, highlight=False, soft_wrap=True)
