"""Print statistical analyses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.markup import escape

from gardenpath.console import console, say
from gardenpath.data.sentence import Sentence
from gardenpath.eval.report.study import Shown
from gardenpath.eval.usable import TOO_FEW
from gardenpath.runs.known_words import MANY_UNKNOWN, require_known, unknown_words
from gardenpath.runs.results import Results
from gardenpath.runs.run import Run
from gardenpath.settings.task_settings import ParseTask, SurprisalTask
from gardenpath.text import enumeration, plural

_MOST_SENTENCES = 6
_MOST_REASONS = 2


def print_unusable(results: Results) -> None:
    """Print how many items of each model are not usable: accuracies rest on the others."""
    for one in results.unusable:
        style = "[bold red]" if one.is_large else "[yellow]"
        console.print(f"{style}{escape(str(one))}[/]", soft_wrap=True)


def require_known_input(
    runs: Sequence[Run], inputs: Sequence[Sequence[Sentence]], task: SurprisalTask | ParseTask
) -> None:
    """Refuse input of mostly unknown words; print the share and the words of each run."""
    found = [
        unknown_words(run, [sentence.words for sentence in sentences])
        for run, sentences in zip(runs, inputs, strict=True)
    ]
    require_known(found, allow_unknown=task.allow_unknown)
    for one in found:
        if one.unknown:
            loud = f"WARNING: more than {MANY_UNKNOWN:.0%} unknown words. " if one.is_many else ""
            style = "[bold red]" if one.is_many else "[dim]"
            console.print(f"{style}{loud}{escape(one.said())}[/]", soft_wrap=True)
    if all_known := [one.run for one in found if not one.unknown]:
        whose = all_known[0] if len(all_known) == 1 else f"{len(all_known)} runs"
        console.print(f"[dim]{escape(whose)}: no unknown words[/]", soft_wrap=True)


def print_too_few(results: Results) -> None:
    """Say how many analyses, or parts of them, have too few usable items, and how few."""
    reasons = [reason for one in results.analyses for reason in one.skipped if TOO_FEW in reason]
    if reasons:
        shown = enumeration(reasons[:_MOST_REASONS], last="; ")
        more = "; …" if len(reasons) > _MOST_REASONS else ""
        say(f"{plural(len(reasons), 'test')} left out: {shown}{more}")


def print_analyses(analyses: Iterable[Shown]) -> None:
    """Print each question, how often the answer is yes, and the first answers.

    Significant answers come first. Of questions that were not asked, only the number is printed.
    """
    for analysis in analyses:
        if not analysis.sentences:
            if analysis.skipped and not analysis.tables:
                say(f"{analysis.title}: {len(analysis.skipped)}, with reasons in the report")
            continue
        console.print(f"[bold]{analysis.title}[/bold]")
        if analysis.count:
            say(analysis.count)
        first, others = analysis.told()
        sentences = [*first, *others]
        for sentence in sentences[:_MOST_SENTENCES]:
            say(sentence)
        if (more := len(sentences) - _MOST_SENTENCES) > 0:
            say(f"… {more} more in the report")
