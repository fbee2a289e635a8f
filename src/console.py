"""What the root scripts share: errors, logs and progress on the terminal."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import track

from src.data.sentence import Sentence
from src.errors import GardenpathError

Item = TypeVar("Item")

console = Console()


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Print errors that are the input's fault as one message, and exit with code 2."""
    try:
        yield
    except GardenpathError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


@contextmanager
def log_to(path: Path) -> Iterator[None]:
    """Send the log of the project to a file and to the terminal, and keep libraries quiet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    project = logging.getLogger("src")
    project.setLevel(logging.INFO)
    to_file = logging.FileHandler(path, encoding="utf-8")
    to_file.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    to_terminal = logging.StreamHandler()
    to_terminal.setFormatter(logging.Formatter("  %(message)s"))
    project.addHandler(to_file)
    project.addHandler(to_terminal)
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    with warnings.catch_warnings():
        # Advice for other situations than ours, such as more worker processes.
        warnings.filterwarnings("ignore", module="pytorch_lightning")
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        try:
            yield
        finally:
            project.removeHandler(to_file)
            project.removeHandler(to_terminal)
            to_file.close()


def track_runs(runs: Iterable[Item], title: str) -> Iterable[Item]:
    """Show on the terminal how many runs are done."""
    return track(
        list(runs), description=title, console=console, transient=True, disable=_is_unattended()
    )


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
