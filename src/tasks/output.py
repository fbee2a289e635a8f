"""Print statistical analyses."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.markup import escape

from gardenpath.console import console, say, track_runs
from gardenpath.data.sentence import Sentence
from gardenpath.errors import SkippedRunsError
from gardenpath.eval.report.content import ReportedAnalysis
from gardenpath.eval.search.settings import search_in_words
from gardenpath.eval.suites.outcomes import TOO_FEW
from gardenpath.models.training.settings import WandbSettings, begun_at_wandb, end_at_wandb
from gardenpath.runs.find import (
    Runs,
    damaged_among,
    find,
    name_variants,
    require_named,
    skip_counts,
    skip_notes,
    whole_runs,
)
from gardenpath.runs.results import Results
from gardenpath.runs.run import Run
from gardenpath.runs.text import MANY_UNKNOWN, require_known, unknown_words
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import plain
from gardenpath.settings.tasks import ParseTask, SurprisalTask
from gardenpath.store.run_folder import RunStatus
from gardenpath.util import enumeration, plural

# Lines about statistics on the terminal.
_MOST_LINES = 10
_MOST_REASONS = 2


def print_unusable(results: Results) -> None:
    """Print how many items of each model are not usable: accuracies rest on the others."""
    for suite in results.unusable:
        style = "[bold red]" if suite.is_large else "[yellow]"
        console.print(f"{style}{escape(str(suite))}[/]", soft_wrap=True)


def require_known_input(
    runs: Sequence[Run], inputs: Sequence[Sequence[Sentence]], task: SurprisalTask | ParseTask
) -> None:
    """Refuse input of mostly unknown words; print the share and the words of each run."""
    unknown = [
        unknown_words(run, [sentence.words for sentence in sentences])
        for run, sentences in zip(runs, inputs, strict=True)
    ]
    require_known(unknown, allow_unknown=task.allow_unknown)
    for counts in unknown:
        if counts.unknown:
            loud = (
                f"WARNING: more than {MANY_UNKNOWN:.0%} unknown words. " if counts.is_many else ""
            )
            style = "[bold red]" if counts.is_many else "[dim]"
            console.print(f"{style}{loud}{escape(counts.said())}[/]", soft_wrap=True)
    if all_known := [counts.run for counts in unknown if not counts.unknown]:
        whose = all_known[0] if len(all_known) == 1 else f"{len(all_known)} runs"
        console.print(f"[dim]{escape(whose)}: no unknown words[/]", soft_wrap=True)


def print_search(runs: Iterable[Run]) -> None:
    """Name the search of syntactic models, with its settings: numbers depend on it."""
    searches = (search_in_words(plain(run.search)) for run in runs if run.is_syntactic)
    for search in dict.fromkeys(searches):
        console.print(f"[dim]search: {escape(search)}[/]", highlight=False)


def print_too_few(results: Results) -> None:
    """Say how many analyses, or parts of them, have too few usable items, and how few."""
    reasons = [
        reason for analysis in results.analyses for reason in analysis.skipped if TOO_FEW in reason
    ]
    if reasons:
        shown = enumeration(reasons[:_MOST_REASONS], last="; ")
        more = "; …" if len(reasons) > _MOST_REASONS else ""
        say(f"{plural(len(reasons), 'test')} left out: {shown}{more}")


def print_analyses(analyses: Iterable[ReportedAnalysis]) -> None:
    """Print how often the answer to each question is yes, a line each, in ten lines at most.

    Questions with significant answers come first.
    """
    with_answers = [analysis for analysis in analyses if analysis.sentences]
    with_answers.sort(key=lambda reported: not any(reported.significant))
    if not with_answers:
        return
    console.print("[bold]Statistics[/bold] (answers: statistics/ and the report)")
    shown = with_answers if len(with_answers) < _MOST_LINES else with_answers[: _MOST_LINES - 2]
    for reported in shown:
        console.print(_in_a_line(reported), markup=False, highlight=False, soft_wrap=True)
    if more := len(with_answers) - len(shown):
        say(f"… {plural(more, 'more question')}")


def _in_a_line(reported: ReportedAnalysis) -> str:
    """Return a question and its answer, cut at the end of a word so that it fits a line."""
    total = len(reported.significant)
    answer = f"  {sum(reported.significant)}/{total} significant" if total else ""
    room = console.width - len(answer) - 4
    words = reported.title.split()
    while len(words) > 1 and len(" ".join(words)) > room:
        words.pop()
    is_cut = len(words) < len(reported.title.split())
    return f"  {' '.join(words)}{' …' if is_cut else ''}{answer}"


# ----------------------------------------------------------------------------
# Write the results of an evaluation, and publish them to Weights & Biases.


def write_results(
    results: Results, folder: Path, settings: EvaluateSettings, *, report: bool
) -> None:
    """Write results and print where they are."""
    if report:
        print_analyses(results.shown_analyses())
        print_too_few(results)
        path = results.report(folder)
        console.print(f"Tables: {folder}")
        console.print(f"Report: {path}")
    else:
        console.print(f"Tables: {results.write(folder)}")
    publish(folder, settings)


def publish(folder: Path, settings: EvaluateSettings) -> None:
    """Send the files of a results folder to Weights & Biases if ``logger=wandb`` is set."""
    logger = settings.logger
    if not isinstance(logger, WandbSettings):
        return
    import pandas as pd

    os.environ.setdefault("WANDB_SILENT", "true")
    import wandb

    run = begun_at_wandb(
        lambda: wandb.init(
            project=logger.project,
            group=logger.group,
            name=f"evaluate/{folder.name}",
            job_type="evaluation",
            dir=folder.parent,
            # None leaves the choice to the environment variable WANDB_MODE.
            mode="offline" if logger.offline else None,
            config=plain(settings),
        )
    )
    for path in sorted(folder.glob("*.csv")):
        run.log({path.stem: wandb.Table(dataframe=pd.read_csv(path))})
    for path in sorted((folder / "figures").glob("*.png")):
        run.log({f"figures/{path.stem}": wandb.Image(str(path))})
    report = folder / "report.html"
    if report.is_file():
        run.log({"report": wandb.Html(report.read_text(encoding="utf-8"), inject=False)})
    sent = f"Sent to Weights & Biases: project {logger.project}, {run.name}"
    console.print(end_at_wandb(run) or sent, highlight=False, soft_wrap=True)


# ----------------------------------------------------------------------------
# The runs requested by the settings of an evaluation, and those that were skipped.


def asked_runs(settings: EvaluateSettings) -> Runs:
    """Return all usable runs at or below the folders in the settings; at least one in each.

    The others are named. All files are compared with their checksums before the first is scored.
    """
    runs = find(
        *settings.run_folders,
        device=settings.device,
        search=settings.search,
        cache=settings.paths.surprisals,
        unfinished=settings.unfinished == "include",
        boundary=settings.boundary,
        processes=getattr(settings.task, "processes", None),
    )
    whole = whole_runs(track_runs(runs, "verifying runs"), runs.skipped)
    require_named(settings.run_folders, runs.skipped)
    print_skipped(runs.skipped)
    name_variants(whole)  # a setting in which only skipped runs differ is no part of names
    return Runs(whole, skipped=runs.skipped)


def print_skipped(skipped: Sequence[RunStatus]) -> None:
    """Name run folders that are skipped, with the reasons."""
    for note in skip_notes(skipped):
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def conclude(skipped: Sequence[RunStatus], named: Sequence[RunStatus] = ()) -> None:
    """Count the skipped run folders after the results are written; damaged ones are an error.

    ``named`` are those that are on the terminal already.
    """
    if not skipped:
        return
    print_skipped([status for status in skipped if status not in named])
    console.print(skip_counts(skipped), markup=False, highlight=False, soft_wrap=True)
    if damaged := damaged_among(skipped):
        listed = "".join(f"\n  - {status.reason}" for status in damaged)
        raise SkippedRunsError(
            f"the results do not contain all runs; those of the others are written:{listed}"
        )
