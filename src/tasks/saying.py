"""Sentences on the terminal."""

from __future__ import annotations

import textwrap

from gardenpath.console import console
from gardenpath.eval.report.page.markup import NO_BREAK, unbroken


def say(sentence: str) -> None:
    """Print a sentence, indented; numbers stay with their names, as in the report."""
    # Unlike the console, textwrap knows that some blanks are not to be broken at.
    lines = textwrap.wrap(
        unbroken(sentence), console.width, initial_indent="  ", subsequent_indent="    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    for line in lines:
        text = line.replace(NO_BREAK, " ")
        console.print(text, markup=False, highlight=False, soft_wrap=True)
