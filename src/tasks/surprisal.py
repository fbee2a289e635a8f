"""task=surprisal: write a table of the surprisal of every word, from every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gardenpath.console import console, words_progress
from gardenpath.eval.display import models_in_order
from gardenpath.eval.surprisal.inputs import check_alignment
from gardenpath.eval.surprisal.stimuli import Stimulus, read_input
from gardenpath.eval.surprisal.surprisal_rows import (
    EndPolicy,
    RunHeader,
    SurprisalRow,
    TableHeader,
)
from gardenpath.eval.surprisal.surprisal_table import (
    check_form,
)
from gardenpath.runs.adoption.how_scored import require_one_measure, scoring_notes
from gardenpath.runs.finding.whole_runs import each_whole
from gardenpath.runs.input.writing import read_as
from gardenpath.runs.processes.jobs import ScoringJob
from gardenpath.runs.processes.spreading import spread_jobs
from gardenpath.runs.run import Run
from gardenpath.runs.surprisals import rows_and_header, unconverged_notes
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import SurprisalTask
from gardenpath.store.files import require_writable
from gardenpath.store.locks import only_writer
from gardenpath.store.status.run_status import RunStatus
from gardenpath.tasks.asked import asked_runs, conclude
from gardenpath.tasks.printing import print_search, require_known_input
from gardenpath.tasks.stimuli.surprisal_cells import ScoredRun, print_cells
from gardenpath.tasks.stimuli.surprisal_output import (
    messages_to_standard_error,
    on_standard_output,
    surprisal_file,
    write_output,
)
from gardenpath.text import plural


def run_surprisal(settings: EvaluateSettings, task: SurprisalTask) -> None:
    """Score the input with every run, and write one long table.

    With ``output=-``, standard output has the table alone; all else goes to standard error.
    """
    path = surprisal_file(settings, task)
    if path is None:
        with messages_to_standard_error():
            _run(settings, task, None)
    else:
        require_writable(path.parent)  # before hours of work
        with only_writer(path):
            _run(settings, task, path)


def _run(settings: EvaluateSettings, task: SurprisalTask, path: Path | None) -> None:
    runs = asked_runs(settings)
    check_form(path or on_standard_output(task), task.form, runs=len(runs))
    require_one_measure(runs)
    skipped = list(runs.skipped)
    read = _inputs(task, runs)
    require_known_input(runs, [[one.sentence for one in given] for given in read], task)
    words = [[stimulus.sentence.words for stimulus in given] for given in read]
    spread_jobs([ScoringJob(*one, chunk=task.chunk) for one in zip(runs, words, strict=True)])
    inputs = dict(zip(map(id, runs), read, strict=True))
    scored = each_whole(runs, lambda one: _scored(one, inputs[id(one)], task), skipped)
    rows = [row for _, (found, _, _) in scored for row in found]
    headers = [header for _, (_, header, _) in scored]
    policy: EndPolicy = "row" if task.end else "none"
    table = replace(_header(headers, policy, skipped), measure=runs[0].measure)
    order = models_in_order(one.name.model for one, _ in scored)
    ranked = sorted(scored, key=lambda each: order.index(each[0].name.model))
    shown = [ScoredRun(one.name.run, inputs[id(one)], found) for one, (found, _, _) in ranked]
    if shown and len(read[0]) <= task.shown and path is not None:
        print_cells(shown, measure=table.measure)
    write_output(path, rows, table, task)
    print_search(runs)
    unconverged = [note for _, (_, _, notes) in scored for note in notes]
    for note in (*scoring_notes(runs), *unconverged):
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    for header in headers:
        for failure in header.failures:
            problem = f"{failure.place}: no hypothesis survived; {failure.remedy}"
            console.print(problem, soft_wrap=True)
    count = plural(len(read[0]), "sentence")
    where = "" if path is None else f": {path}"
    console.print(f"{count} from {plural(len(headers), 'run')}{where}", soft_wrap=True)
    conclude(skipped, runs.skipped)


def _header(
    headers: Sequence[RunHeader], policy: EndPolicy, skipped: Sequence[RunStatus]
) -> TableHeader:
    return TableHeader(
        runs=tuple(headers), end_of_sentence=policy, skipped=tuple(one.reason for one in skipped)
    )


def _inputs(task: SurprisalTask, runs: Sequence[Run]) -> list[list[Stimulus]]:
    """Return, for each run, the input cleaned and divided into words like its corpus."""
    given = read_input(task.input, task.column)
    inputs = [
        read_as(run, given, tokenised=task.tokenised, segmenter=task.segmenter) for run in runs
    ]
    named = zip(runs, inputs, strict=True)
    check_alignment({str(run.path): [one.sentence for one in found] for run, found in named})
    return inputs


def _scored(
    run: Run, stimuli: Sequence[Stimulus], task: SurprisalTask
) -> tuple[list[SurprisalRow], RunHeader, list[str]]:
    """Return the rows of a run, how they were computed, and notes for the reader."""
    sentences = [one.sentence for one in stimuli]
    words = [one.words for one in sentences]
    with words_progress(str(run.path), sum(map(len, words))) as on_words:
        scored = run.scored(words, on_words=on_words, chunk=task.chunk)
    given = [one.carried for one in stimuli]
    rows, header = rows_and_header(
        run, sentences, scored, end=task.end, columns=task.columns, given=given
    )
    return rows, header, unconverged_notes(run, words, scored)
