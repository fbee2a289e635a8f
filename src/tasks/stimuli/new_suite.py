"""task=new_suite: write a commented starting point for a suite of one's own."""

from __future__ import annotations

from pathlib import Path

from gardenpath.console import console
from gardenpath.errors import InputError
from gardenpath.settings.task_settings import NewSuiteTask
from gardenpath.store.files import write_text
from gardenpath.text import file_stem

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


def run_new_suite(task: NewSuiteTask) -> None:
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
