"""Print statistical analyses."""

from __future__ import annotations

from collections.abc import Iterable

from rich.markup import escape

from gardenpath.console import console, say
from gardenpath.eval.report.study import Shown
from gardenpath.runs.known_words import UnknownWords
from gardenpath.runs.results import Results

_MOST_SENTENCES = 6


def print_unusable(results: Results) -> None:
    """Print how many items of each model are not usable: accuracies rest on the others."""
    for one in results.unusable:
        style = "[bold red]" if one.is_large else "[yellow]"
        console.print(f"{style}{escape(str(one))}[/]", soft_wrap=True)


def print_unknown(found: Iterable[UnknownWords]) -> None:
    """Print the share of unknown words of each run that has any."""
    for one in found:
        if one.unknown:
            style = "[bold red]" if one.is_large else "[dim]"
            console.print(f"{style}{escape(str(one))}[/]", soft_wrap=True)


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
