"""Print statistical analyses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.markup import escape

from gardenpath.console import console, say
from gardenpath.data.sentence import Sentence
from gardenpath.eval.report.study import Shown
from gardenpath.eval.search.search_words import search_in_words
from gardenpath.eval.usable import TOO_FEW
from gardenpath.runs.known_words import MANY_UNKNOWN, require_known, unknown_words
from gardenpath.runs.results import Results
from gardenpath.runs.run import Run
from gardenpath.settings.check import plain
from gardenpath.settings.task_settings import ParseTask, SurprisalTask
from gardenpath.text import enumeration, plural

# Lines about statistics on the terminal.
_MOST_LINES = 10
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


def print_search(runs: Iterable[Run]) -> None:
    """Name the search of syntactic models, with its settings: numbers depend on it."""
    found = (search_in_words(plain(run.search)) for run in runs if run.is_syntactic)
    for search in dict.fromkeys(found):
        console.print(f"[dim]search: {escape(search)}[/]", highlight=False)


def print_too_few(results: Results) -> None:
    """Say how many analyses, or parts of them, have too few usable items, and how few."""
    reasons = [reason for one in results.analyses for reason in one.skipped if TOO_FEW in reason]
    if reasons:
        shown = enumeration(reasons[:_MOST_REASONS], last="; ")
        more = "; …" if len(reasons) > _MOST_REASONS else ""
        say(f"{plural(len(reasons), 'test')} left out: {shown}{more}")


def print_analyses(analyses: Iterable[Shown]) -> None:
    """Print how often the answer to each question is yes, a line each, in ten lines at most.

    Questions with significant answers come first.
    """
    asked = [one for one in analyses if one.sentences]
    asked.sort(key=lambda one: not any(one.found))
    if not asked:
        return
    console.print("[bold]Statistics[/bold] (answers: statistics/ and the report)")
    shown = asked if len(asked) < _MOST_LINES else asked[: _MOST_LINES - 2]
    for one in shown:
        console.print(_in_a_line(one), markup=False, highlight=False, soft_wrap=True)
    if more := len(asked) - len(shown):
        say(f"… {plural(more, 'more question')}")


def _in_a_line(one: Shown) -> str:
    """Return a question and its answer, cut at the end of a word so that it fits a line."""
    total = len(one.found)
    answer = f"  {sum(one.found)}/{total} significant" if total else ""
    room = console.width - len(answer) - 4
    words = one.title.split()
    while len(words) > 1 and len(" ".join(words)) > room:
        words.pop()
    is_cut = len(words) < len(one.title.split())
    return f"  {' '.join(words)}{' …' if is_cut else ''}{answer}"
