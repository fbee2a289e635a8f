"""Errors, logs and progress on the terminal, for both scripts."""

from __future__ import annotations

import logging
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    track,
)

from gardenpath.data.sentence import Sentence
from gardenpath.errors import GardenpathError
from gardenpath.text import NO_BREAK, unbroken

_Item = TypeVar("_Item")

console = Console()


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Print errors caused by the input as one message, and exit with code 2."""
    try:
        yield
    except GardenpathError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def say(sentence: str) -> None:
    """Print an indented sentence; numbers stay with their names, as in the report."""
    # Unlike the console, textwrap does not break lines at no-break spaces.
    lines = textwrap.wrap(
        unbroken(sentence),
        console.width,
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        text = line.replace(NO_BREAK, " ")
        console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def log_to(path: Path) -> Iterator[None]:
    """Send the log of the project to a file and to the terminal, and silence libraries."""
    path.parent.mkdir(parents=True, exist_ok=True)
    project = logging.getLogger("gardenpath")
    project.setLevel(logging.INFO)
    to_file = logging.FileHandler(path, encoding="utf-8")
    to_file.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    to_terminal = logging.StreamHandler()
    to_terminal.setFormatter(logging.Formatter("  %(message)s"))
    project.addHandler(to_file)
    project.addHandler(to_terminal)
    with warnings.catch_warnings():
        # Advice that does not apply here, such as to use more worker processes.
        warnings.filterwarnings("ignore", module="pytorch_lightning")
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        warnings.filterwarnings("ignore", message=".*srun.*command is available.*")
        try:
            yield
        finally:
            project.removeHandler(to_file)
            project.removeHandler(to_terminal)
            to_file.close()


def track_runs(runs: Iterable[_Item], title: str) -> Iterable[_Item]:
    """Show the number of completed runs on the terminal."""
    return track(
        list(runs), description=title, console=console, transient=True, disable=_is_unattended()
    )


@contextmanager
def words_progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of words just completed; shows words per second."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=_is_unattended()) as bar:
        task = bar.add_task(title, total=total, rate="")

        def advance(words: int) -> None:
            bar.advance(task, words)
            speed = bar.tasks[0].speed
            bar.update(task, rate="" if speed is None else f"{speed:.0f} words/s")

        yield advance


def _is_unattended() -> bool:
    return not console.is_terminal or "CI" in os.environ


def show_progress(sentences: Iterable[Sentence], title: str) -> Iterable[Sentence]:
    """Count sentences on the terminal while a corpus is read."""
    return track(
        sentences,
        description=f"reading {title}",
        total=None,
        console=console,
        transient=True,
        disable=_is_unattended(),
    )
