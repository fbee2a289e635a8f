"""The tasks about the suites themselves: suites (list, show, export) and new_suite.

``tasks.run_task`` calls the functions ``run_…``. Nothing here scores, so nothing here may import
what scoring needs: these commands answer at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gardenpath.console import console, say, say_wrapped, track_runs
from gardenpath.errors import InputError
from gardenpath.eval.suites.library import (
    class_table,
    described_suite,
    export,
    load_suites,
    suite_names,
    suite_table,
)
from gardenpath.eval.suites.suite import Suite, SuiteError
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import nearest
from gardenpath.settings.tasks import NewSuiteTask, SuitesTask
from gardenpath.store.files import write_text
from gardenpath.util import file_stem


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
    suites = chosen_set.load(chosen_set.pairs)
    if task.show is None:
        return suites
    chosen = [suite for suite in suites if f"{suite.name}/".startswith(f"{task.show}/")]
    if not chosen:
        names = [suite.name for suite in suites]
        raise SuiteError(f"no suite {task.show!r} in suite=; {nearest(task.show, names)}")
    return chosen


def _show(suites: Sequence[Suite], task: SuitesTask, *, every: bool) -> None:
    """Print a line per class or, of suites that were asked for, per suite; one suite in full."""
    if task.show is not None and len(suites) == 1:
        for line in described_suite(suites[0]):
            say_wrapped(line)
    elif every or task.examples:
        console.print(suite_table(suites, examples=task.examples))
    else:
        console.print(class_table(suites))


# task=new_suite

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
    say(f"  {command}")
