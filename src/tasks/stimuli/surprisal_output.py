"""Where task=surprisal writes its table: a file, or standard output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gardenpath.console import console
from gardenpath.eval.surprisal.surprisal_rows import SurprisalRow, TableHeader
from gardenpath.eval.surprisal.surprisal_table import (
    check_form,
    print_surprisals,
    write_surprisals,
)
from gardenpath.eval.surprisal.table_writers import EXTENSIONS
from gardenpath.settings.evaluate_settings import STANDARD_OUTPUT, EvaluateSettings
from gardenpath.settings.task_settings import SurprisalTask
from gardenpath.store.tables import WORD_SURPRISALS


def surprisal_file(settings: EvaluateSettings, task: SurprisalTask) -> Path | None:
    """Return the file of the table, whose extension must be known; None for standard output.

    ``output`` is a folder or, if it ends like a table, the file.
    """
    if task.file is None and settings.output == STANDARD_OUTPUT:
        check_form(on_standard_output(task), task.form)
        return None
    output = Path(settings.output)
    is_file = output.suffix.lower() in EXTENSIONS and not output.is_dir()
    path = Path(task.file or (output if is_file else output / WORD_SURPRISALS.file))
    check_form(path, task.form)
    return path


def on_standard_output(task: SurprisalTask) -> Path:
    """Return a name with the extension of the table on standard output, for checks."""
    return Path(f"<stdout>.{task.format}")


def write_output(
    path: Path | None, rows: Sequence[SurprisalRow], table: TableHeader, task: SurprisalTask
) -> None:
    """Write the table to its file, or to standard output if there is none."""
    if path is not None:
        write_surprisals(path, rows, table, form=task.form)
        return
    print_surprisals(f".{task.format}", rows, table, form=task.form)
    for run in table.runs:
        console.print(f"{run.run}: {table.unit}, search {run.search}", highlight=False)


@contextmanager
def messages_to_standard_error() -> Iterator[None]:
    """Within the block, print everything but tables to standard error."""
    before = console.stderr
    console.stderr = True
    try:
        yield
    finally:
        console.stderr = before
