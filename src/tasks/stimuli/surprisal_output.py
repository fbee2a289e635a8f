"""Where task=surprisal writes its table: a file, or standard output."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gardenpath.console import console
from gardenpath.errors import InputError
from gardenpath.eval.surprisal.stimuli import looks_like_file
from gardenpath.eval.surprisal.surprisal_rows import SurprisalRow, TableHeader
from gardenpath.eval.surprisal.surprisal_table import (
    check_form,
    print_surprisals,
    write_surprisals,
)
from gardenpath.settings.evaluate_settings import STANDARD_OUTPUT, EvaluateSettings
from gardenpath.settings.task_settings import SurprisalTask
from gardenpath.store.files import require_writable
from gardenpath.store.tables import WORD_SURPRISALS


def surprisal_file(settings: EvaluateSettings, task: SurprisalTask) -> Path | None:
    """Return the file of the table, which can be written; None for standard output.

    ``output`` is a folder or, if it ends like a table, the file. A name that ends like another kind
    of file is an error.
    """
    if task.file is None and settings.output == STANDARD_OUTPUT:
        check_form(on_standard_output(task), task.form)
        return None
    output = Path(settings.output)
    is_file = looks_like_file(output.name) and not output.is_dir()
    in_folder = output / Path(WORD_SURPRISALS.file).with_suffix(f".{task.format or 'tsv'}")
    path = Path(task.file or (output if is_file else in_folder))
    check_form(path, task.form)
    if task.format and path.suffix.lower() != f".{task.format}":
        remedy = "leave out task.format=: the name of the file chooses the format"
        raise InputError(f"is no file of the format {task.format}", path=path, remedy=remedy)
    _require_no_input(path, task)
    if path.is_dir():
        raise InputError("is a folder, not a file", path=path, remedy="name a file in it")
    require_writable(path.parent)
    return path


def _require_no_input(path: Path, task: SurprisalTask) -> None:
    """Refuse to replace the sentences by their surprisals."""
    given = Path(task.input) if isinstance(task.input, str) else None
    with contextlib.suppress(OSError, ValueError):  # a sentence that is too long for a file name
        if given is not None and path.is_file() and path.samefile(given):
            remedy = "choose another output="
            raise InputError("is the input, which would be overwritten", path=path, remedy=remedy)


def on_standard_output(task: SurprisalTask) -> Path:
    """Return a name with the extension of the table on standard output, for checks."""
    return Path(f"<stdout>.{task.format or 'csv'}")


def write_output(
    path: Path | None, rows: Sequence[SurprisalRow], table: TableHeader, task: SurprisalTask
) -> None:
    """Write the table to its file, or to standard output if there is none."""
    if path is not None:
        write_surprisals(path, rows, table, form=task.form)
        return
    print_surprisals(f".{task.format or 'csv'}", rows, table, form=task.form)
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
