"""Errors, logs and progress on the terminal, for both scripts."""

from __future__ import annotations

import logging
import os
import signal
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
    track,
)

from gardenpath.data.sentence import Sentence
from gardenpath.errors import GardenpathError, StoppedError, TrainingStoppedError, in_one_line
from gardenpath.python_process import is_parallel_job
from gardenpath.text import NO_BREAK, unbroken

_Item = TypeVar("_Item")

console = Console()

# Between lines about progress in log files.
_SECONDS_BETWEEN_LINES = 30.0


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Print errors of the input and of the system as one message, and exit with code 2.

    A process that was stopped exits with 128 plus the number of the signal.
    """
    try:
        yield
    except BrokenPipeError:  # the reader of the output, such as head, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(128 + signal.SIGPIPE) from None
    except (GardenpathError, OSError) as error:
        print(f"error: {in_one_line(error)}", file=sys.stderr)
        raise SystemExit(2) from None
    except TrainingStoppedError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt as stop:
        found = stop if isinstance(stop, StoppedError) else StoppedError()
        print(found.in_words, file=sys.stderr)
        raise SystemExit(128 + found.number) from None


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Within the block, SIGINT and SIGTERM raise a :class:`StoppedError`.

    A signal that the process was told to ignore, as in the background, remains ignored.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        raise StoppedError(number)

    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for known, handler in before.items():
            signal.signal(known, handler)


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
    with quiet_libraries():
        try:
            yield
        finally:
            project.removeHandler(to_file)
            project.removeHandler(to_terminal)
            to_file.close()


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Hide advice that does not apply here, such as to use more worker processes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="pytorch_lightning")
        warnings.filterwarnings("ignore", module="lightning_fabric")
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        yield


def track_runs(runs: Iterable[_Item], title: str) -> Iterable[_Item]:
    """Show the number of completed runs on the terminal."""
    return track(
        list(runs), description=title, console=console, transient=True, disable=_is_unattended()
    )


@contextmanager
def words_progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of words just completed; shows words per second.

    If nobody watches a terminal, a line is printed from time to time, for log files.
    """
    begin = last = time.monotonic()
    done = 0
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
            nonlocal done, last
            done += words
            now = time.monotonic()
            rate = f"{done / max(now - begin, 1e-9):,.0f} words/s"
            bar.update(task, completed=done, rate=rate)
            if _is_unattended() and now - last > _SECONDS_BETWEEN_LINES:
                last = now
                _print_line(f"{title}: {done:,} of {total:,} words, {rate}")

        yield advance


@contextmanager
def show_counting(title: str) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of sentences just read; shows sentences per second.

    If nobody watches a terminal, a line is printed from time to time, for log files.
    """
    begin = last = time.monotonic()
    total = 0
    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=_is_unattended()) as bar:
        task = bar.add_task(title, total=None)

        def advance(sentences: int) -> None:
            nonlocal last, total
            total += sentences
            now = time.monotonic()
            rate = total / max(now - begin, 1e-9)
            text = f"{title}: {total:,} sentences, {rate:,.0f} per second"
            bar.update(task, description=text)
            if _is_unattended() and now - last > _SECONDS_BETWEEN_LINES:
                last = now
                _print_line(text)

        yield advance


@contextmanager
def count_in_lines(title: str) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of sentences just completed; prints some lines.

    It leaves the terminal to those who show a bar of their own meanwhile.
    """
    begin = last = time.monotonic()
    total = 0

    def advance(sentences: int) -> None:
        nonlocal last, total
        total += sentences
        now = time.monotonic()
        if now - last > _SECONDS_BETWEEN_LINES:
            last = now
            rate = total / max(now - begin, 1e-9)
            text = f"{title}: {total:,} sentences, {rate:,.1f} per second"
            _print_line(text)

    yield advance


def _print_line(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _is_unattended() -> bool:
    return not console.is_terminal or "CI" in os.environ or is_parallel_job()


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
