"""task=surprisal: write a table of the surprisal of every word, from every run."""

from __future__ import annotations

from collections.abc import Sequence
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
from gardenpath.eval.surprisal.surprisal_table import check_extension, write_surprisals
from gardenpath.runs.run import Run
from gardenpath.runs.surprisals import rows_and_header
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import SurprisalTask
from gardenpath.tasks.asked import asked_runs
from gardenpath.tasks.printing import require_known_input
from gardenpath.text import plural


def run(settings: EvaluateSettings, task: SurprisalTask) -> None:
    """Score the input with every run, and write one long table."""
    path = Path(task.file or Path(settings.output) / "surprisal.tsv")
    check_extension(path)
    runs = asked_runs(settings)
    inputs = _inputs(task, runs)
    require_known_input(runs, inputs, task)
    rows: list[SurprisalRow] = []
    headers = []
    for one, sentences in zip(runs, inputs, strict=True):
        found, header = _scored(one, sentences, task)
        rows += found
        headers.append(header)
    policy: EndPolicy = "row" if task.end else "none"
    write_surprisals(path, rows, TableHeader(runs=tuple(headers), end_of_sentence=policy))
    for header in headers:
        for failure in header.failures:
            console.print(f"{failure.place}: no hypothesis survived; {failure.remedy}")
    count = plural(len(inputs[0]), "sentence")
    console.print(f"{count} from {plural(len(runs), 'run')}: {path}")


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
    return rows_and_header(run, sentences, scored, end=task.end)
