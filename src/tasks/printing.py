"""Print statistical analyses."""

from __future__ import annotations

from collections.abc import Iterable

from gardenpath.console import console, say
from gardenpath.eval.report.study import Shown

_MOST_SENTENCES = 6


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
