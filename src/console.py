"""What appears on the terminal: errors and signals, logs, progress, text, and tables that fit.

Both scripts and all tasks print through ``console``. Nobody watches a terminal in CI or in a job of
a sweep: there, lines from time to time take the place of bars. Errors of the input are one message
without a traceback.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from rich.box import HEAVY_HEAD, Box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
    track,
)
from rich.table import Column, Table
from rich.text import Text

from gardenpath.data.sentence import Sentence
from gardenpath.errors import GardenpathError, StoppedError, TrainingStoppedError, in_one_line
from gardenpath.util import NO_BREAK, is_parallel_job, unbroken

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
        stopped = stop if isinstance(stop, StoppedError) else StoppedError()
        print(stopped.in_words, file=sys.stderr)
        raise SystemExit(128 + stopped.number) from None


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


def say(text: str) -> None:
    """Print text as it is: no markup, no colours, and no line ends of its own."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def say_wrapped(sentence: str) -> None:
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
        say(line.replace(NO_BREAK, " "))


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
    pace = _Pace(
        lambda done, rate: f"{title}: {done:,} of {total:,} words, {rate:,.0f} words/s",
        is_silent=not _is_unattended(),
    )
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
            pace.add(words)
            bar.update(task, completed=pace.done, rate=f"{pace.rate:,.0f} words/s")

        yield advance


@contextmanager
def show_counting(title: str) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of sentences just read; shows sentences per second.

    If nobody watches a terminal, a line is printed from time to time, for log files.
    """

    def described(done: int, rate: float) -> str:
        return f"{title}: {done:,} sentences, {rate:,.0f} per second"

    pace = _Pace(described, is_silent=not _is_unattended())
    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=_is_unattended()) as bar:
        task = bar.add_task(title, total=None)

        def advance(sentences: int) -> None:
            pace.add(sentences)
            bar.update(task, description=described(pace.done, pace.rate))

        yield advance


@contextmanager
def count_in_lines(title: str) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of sentences just completed; prints some lines.

    It leaves the terminal to those who show a bar of their own meanwhile.
    """
    yield _Pace(lambda done, rate: f"{title}: {done:,} sentences, {rate:,.1f} per second").add


class _Pace:
    """Counts what is done, and prints a line about it from time to time unless ``is_silent``."""

    def __init__(self, line: Callable[[int, float], str], *, is_silent: bool = False) -> None:
        self._line, self._is_silent = line, is_silent
        self._begin = self._last = time.monotonic()
        self.done, self.rate = 0, 0.0

    def add(self, count: int) -> None:
        """Count; ``rate`` is the mean number per second."""
        now = time.monotonic()
        self.done += count
        self.rate = self.done / max(now - self._begin, 1e-9)
        if not self._is_silent and now - self._last > _SECONDS_BETWEEN_LINES:
            self._last = now
            say(self._line(self.done, self.rate))


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


# ----------------------------------------------------------------------------
# Tables for the terminal that fit its width without breaking inside words.


# Where a line may end: at blanks, after the slashes and underscores of names, after hyphens between
# letters, and between Chinese characters.
_BREAKS = re.compile(
    r"(?<=\s)(?=\S)|(?<=\w[/_])(?=\w)|(?<=[^\W\d_]{2}-)(?=[^\W\d_]{2})"
    r"|(?<=[\u3000-\u9fff])(?=[\u4e00-\u9fff])"
)


class FittedTable(Table):
    """A table that fits the terminal; all cells are plain text, not markup.

    If the columns are too wide together, lines end between words, first in headings, then in cells.
    If that is not enough, columns that are not ``needed`` are left out from the right, and the
    caption names them and the file ``elsewhere`` that has them. The columns that still do not fit
    follow in another table, after the first ``keys`` columns again.
    """

    def __init__(
        self,
        title: str = "",
        caption: str = "",
        *,
        box: Box | None = HEAVY_HEAD,
        keys: int = 1,
        elsewhere: str = "",
    ) -> None:
        is_open = box is not None and not box.mid_left.strip()
        super().__init__(box=box, padding=(0, 1, 0, 0) if is_open else (0, 1), pad_edge=not is_open)
        self.heading, self.note = title, caption
        self.keys, self.elsewhere = keys, elsewhere
        self._dropped_first: list[int] = []

    def column(self, heading: str, *, right: bool = False, needed: bool = True) -> None:
        """Add a column; one that is not ``needed`` may be left out."""
        if not needed:
            self._dropped_first.insert(0, len(self.columns))
        self.add_column(heading, justify="right" if right else "left")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the title, as many tables as needed, and the caption."""
        width = options.max_width
        kept, dropped = self._kept(width)
        if self.heading:
            yield from _lines(self.heading, width, style="italic")
        for shown in self._parts(kept, width):
            made = self._made(shown, self._widths(shown, width))
            yield from Table.__rich_console__(made, console, options)
        notes = [line for line in self.note.split("\n") if line]
        if dropped:
            names = ", ".join(_plain(self.columns[place].header) for place in sorted(dropped))
            where = f"; {self.elsewhere} has all columns" if self.elsewhere else ""
            notes.append(f"not shown, for lack of width: {names}{where}")
        for note in notes:
            yield from _lines(note, width, style="dim")

    def _kept(self, width: int) -> tuple[list[int], list[int]]:
        """Return the columns to show, and those to leave out."""
        kept, dropped = list(range(len(self.columns))), []
        for place in self._dropped_first:
            if sum(map(self._least, kept)) + self._around(len(kept)) <= width:
                break
            kept.remove(place)
            dropped.append(place)
        return kept, dropped

    def _parts(self, kept: Sequence[int], width: int) -> Iterator[list[int]]:
        """Yield the columns of each table: the keys, and as many others as fit."""
        keys = list(kept[: self.keys])
        part = list(keys)
        for place in kept[self.keys :]:
            more = [*part, place]
            if part != keys and sum(map(self._least, more)) + self._around(len(more)) > width:
                yield part
                more = [*keys, place]
            part = more
        yield part

    def _widths(self, shown: Sequence[int], width: int) -> list[int]:
        """Return the widths of columns: wide if there is room, else narrower, the widest first."""
        room = width - self._around(len(shown))
        columns = [self.columns[place] for place in shown]
        widths = [max(_widest(column.header), _cells_width(column)) for column in columns]
        headings_wrapped = [max(_longest(each.header), _cells_width(each)) for each in columns]
        # The last bounds break words: they are reached if one word is wider than the terminal.
        for least in (headings_wrapped, [self._least(place) for place in shown], [1] * len(shown)):
            while sum(widths) > room:
                free = [i for i, bound in enumerate(least) if widths[i] > bound]
                if not free:
                    break
                widths[max(free, key=lambda i: widths[i])] -= 1
        return widths

    def _least(self, place: int) -> int:
        """Return the width of a column that has a line for every word."""
        column = self.columns[place]
        return max(_longest(column.header), *map(_longest, column.cells), 1)

    def _around(self, count: int) -> int:
        """Return the width of padding and borders."""
        _, right, _, left = self.padding
        edges = 0 if self.pad_edge else left + right
        return count * (left + right) - edges + (count + 1 if self.box else 0)

    def _made(self, shown: Sequence[int], widths: Sequence[int]) -> Table:
        """Return a table of these columns in which all lines have their final form."""
        made = Table(box=self.box, padding=self.padding, pad_edge=self.pad_edge)
        made.show_lines = self.show_lines
        for place, width in zip(shown, widths, strict=True):
            column = self.columns[place]
            header = _wrapped(column.header, width)
            made.add_column(header, justify=column.justify, width=width, overflow="fold")
        cells = [list(self.columns[place].cells) for place in shown]
        for number, row in enumerate(self.rows):
            wrapped = [_wrapped(c[number], w) for c, w in zip(cells, widths, strict=True)]
            made.add_row(*wrapped, style=row.style, end_section=row.end_section)
        return made


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def _widest(cell: object) -> int:
    return max(map(cell_len, _plain(cell).split("\n")))


def _cells_width(column: Column) -> int:
    return max(map(_widest, column.cells), default=1)


def _longest(cell: object) -> int:
    return max(cell_len(piece.rstrip()) for piece in _BREAKS.split(_plain(cell)))


def _wrapped(cell: object, width: int) -> Text:
    """Return a cell with line ends between its words."""
    lines = (line for part in _plain(cell).split("\n") for line in _filled(part, width))
    return Text("\n".join(lines), style=cell.style if isinstance(cell, Text) else "")


def _filled(text: str, width: int) -> Iterator[str]:
    line = ""
    for piece in _BREAKS.split(text):
        if line and cell_len(line) + cell_len(piece.rstrip()) > width:
            yield line.rstrip()
            line = ""
        line += piece
    yield line.rstrip()


def _lines(text: str, width: int, *, style: str) -> Iterator[Text]:
    for line in _filled(text, width):
        yield Text(line, style=style, overflow="fold")
