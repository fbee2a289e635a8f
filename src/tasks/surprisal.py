"""task=surprisal: write a table of the surprisal of every word, from every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gardenpath.console import console, words_progress
from gardenpath.data.sentence import Sentence
from gardenpath.eval.surprisal.inputs import check_alignment, read_given
from gardenpath.eval.surprisal.surprisal_rows import (
    EndPolicy,
    RunHeader,
    SurprisalRow,
    TableHeader,
)
from gardenpath.eval.surprisal.surprisal_table import check_form, write_surprisals
from gardenpath.runs.adoption.how_scored import require_one_measure, scoring_notes
from gardenpath.runs.finding.whole_runs import each_whole
from gardenpath.runs.processes.jobs import ScoringJob
from gardenpath.runs.processes.spreading import spread_jobs
from gardenpath.runs.run import Run
from gardenpath.runs.surprisals import rows_and_header
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import SurprisalTask
from gardenpath.store.status.run_status import RunStatus
from gardenpath.tasks.asked import asked_runs, conclude
from gardenpath.tasks.printing import require_known_input
from gardenpath.text import plural


def run(settings: EvaluateSettings, task: SurprisalTask) -> None:
    """Score the input with every run, and write one long table."""
    path = surprisal_file(settings, task)
    runs = asked_runs(settings)
    check_form(path, task.form, runs=len(runs))
    require_one_measure(runs)
    skipped = list(runs.skipped)
    read = _inputs(task, runs)
    require_known_input(runs, read, task)
    words = [[sentence.words for sentence in sentences] for sentences in read]
    spread_jobs([ScoringJob(*one, chunk=task.chunk) for one in zip(runs, words, strict=True)])
    inputs = dict(zip(map(id, runs), read, strict=True))
    scored = each_whole(runs, lambda one: _scored(one, inputs[id(one)], task), skipped)
    rows = [row for _, (found, _) in scored for row in found]
    headers = [header for _, (_, header) in scored]
    policy: EndPolicy = "row" if task.end else "none"
    table = replace(_header(headers, policy, skipped), measure=runs[0].measure)
    write_surprisals(path, rows, table, form=task.form)
    for note in scoring_notes(runs):
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    for header in headers:
        for failure in header.failures:
            problem = f"{failure.place}: no hypothesis survived; {failure.remedy}"
            console.print(problem, soft_wrap=True)
    count = plural(len(inputs[id(runs[0])]), "sentence")
    console.print(f"{count} from {plural(len(headers), 'run')}: {path}")
    conclude(skipped, runs.skipped)


def _header(
    headers: Sequence[RunHeader], policy: EndPolicy, skipped: Sequence[RunStatus]
) -> TableHeader:
    return TableHeader(
        runs=tuple(headers), end_of_sentence=policy, skipped=tuple(one.reason for one in skipped)
    )


def surprisal_file(settings: EvaluateSettings, task: SurprisalTask) -> Path:
    """Return the file of the table; its extension must be that of a known format."""
    path = Path(task.file or Path(settings.output) / "surprisal.tsv")
    check_form(path, task.form)
    return path


def _inputs(task: SurprisalTask, runs: Sequence[Run]) -> list[list[Sentence]]:
    """Return, for each run, the input cleaned like its corpus."""
    given = read_given(Path(task.input))
    cleanings = [run.settings.data.cleaning for run in runs]
    by_cleaning = {cleaning: given.cleaned(cleaning) for cleaning in dict.fromkeys(cleanings)}
    inputs = [by_cleaning[cleaning] for cleaning in cleanings]
    check_alignment({str(run.path): found for run, found in zip(runs, inputs, strict=True)})
    return inputs


def _scored(
    run: Run, sentences: Sequence[Sentence], task: SurprisalTask
) -> tuple[list[SurprisalRow], RunHeader]:
    words = [sentence.words for sentence in sentences]
    with words_progress(str(run.path), sum(map(len, words))) as on_words:
        scored = run.scored(words, on_words=on_words, chunk=task.chunk)
    return rows_and_header(run, sentences, scored, end=task.end, columns=task.columns)
