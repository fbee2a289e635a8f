"""Tables with a header, separated by tabs, commas or semicolons."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gardenpath.errors import InputError
from gardenpath.store.files import read_text

# Usual names of columns, by what they hold.
COLUMN_ROLES: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "item_number", "item_id"),
    "condition": ("condition", "condition_name", "cond"),
    "variant": ("variant",),
    "region": ("region", "region_name"),
    "word": ("word", "token"),
    "content": ("content",),
    "sentence": ("sentence",),
    "sentence_id": ("sentence_id", "sent_id"),
    "suite": ("suite", "suite_name", "test_suite"),
}

_TOO_WIDE = (
    "put quotation marks around a cell that contains the separator; if the first column has the "
    "names of rows, give it a name"
)
_TOO_NARROW = "separate all rows like the header, and fill them up with empty cells"
_OF_QUOTES = {
    "unexpected end of data": "a quotation mark is not closed",
    "expected after": "a quotation mark within a cell",
}
_CLOSE_QUOTES = (
    'close all quotation marks; a cell with quotation marks of its own is "a ""quoted"" word"'
)
_SEPARATORS_ARE = "separate columns by commas, semicolons or tabs"


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvTable:
    """The header, in line ``line``, and the rows of a table, each with its line."""

    path: Path
    header: tuple[str, ...]
    line: int
    rows: tuple[tuple[int, Mapping[str, str]], ...]

    def column(self, names: Sequence[str]) -> str | None:
        """Return the first column with one of these names, whatever its case and separators."""
        known = {_plain(name): name for name in reversed(self.header)}
        return next((known[name] for name in map(_plain, names) if name in known), None)


def read_csv_table(path: Path) -> CsvTable:
    """Read a table; lines before the header that start with # are skipped.

    The separator is that of the header: a tab, comma or semicolon, else spaces. Quotation marks are
    ordinary characters in tab-separated tables, because they may be words, unless the header has
    them too.
    """
    text = read_text(path).removeprefix("\N{BYTE ORDER MARK}")
    skipped = 0
    while text.startswith(("#", "\n", "\r\n")):
        _, _, text = text.partition("\n")
        skipped += 1
    first = text.partition("\n")[0]
    separator = separator_of(first)
    if separator not in first and first.count("|") > 1:
        problem = "the columns are separated by |"
        raise InputError(problem, path=path, line=skipped + 1, remedy=_SEPARATORS_ARE)
    lines = io.StringIO(text, newline="")
    reader: Iterator[tuple[int, list[str]]]
    if separator not in first and len(first.split()) > 1:
        reader = ((n, line.split()) for n, line in enumerate(lines, start=1))
    elif separator == "\t" and '"' not in first:
        without_quotes = csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
        reader = csv_rows(without_quotes, path)
    else:
        reader = csv_rows(csv.reader(lines, delimiter=separator, strict=True), path)
    return table_of(reader, path, skipped=skipped)


def table_of(
    reader: Iterator[tuple[int, Sequence[str]]], path: Path, *, skipped: int = 0
) -> CsvTable:
    """Return the table of rows, each with its line; the first is the header.

    ``skipped`` is the number of lines before them.
    """
    header = tuple(cell.strip() for cell in next(reader, (1, ()))[1])
    if not any(header):
        remedy = "write a line with the names of the columns, and a row per sentence or region"
        raise InputError("the table is empty", path=path, remedy=remedy)
    if twice := [name for name, count in Counter(header).items() if name and count > 1]:
        remedy = "rename one of them"
        raise InputError(
            f"has two columns {twice[0]!r}", path=path, line=skipped + 1, remedy=remedy
        )
    rows = []
    for number, cells in reader:
        line = skipped + number
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            problem = f"{len(cells)} columns, but the header has {len(header)}"
            remedy = _TOO_WIDE if len(cells) > len(header) else _TOO_NARROW
            raise InputError(problem, path=path, line=line, remedy=remedy)
        rows.append((line, dict(zip(header, cells, strict=True))))
    return CsvTable(path=path, header=header, line=skipped + 1, rows=tuple(rows))


def csv_rows(reader: Any, path: str | Path) -> Iterator[tuple[int, Any]]:
    """Yield the rows of a reader of the module csv, each with its line."""
    while True:
        line = reader.line_num + 1  # a row with an open quotation mark ends at the end of the file
        try:
            cells = next(reader, None)
        except csv.Error as error:  # for example a cell of more than 131,072 characters
            problem = next(
                (said for of, said in _OF_QUOTES.items() if of in str(error)), str(error)
            )
            raise InputError(problem, path=path, line=line, remedy=_CLOSE_QUOTES) from error
        if cells is None:
            return
        yield reader.line_num, cells


def csv_columns(reader: csv.DictReader[str], path: str | Path) -> Sequence[str]:
    """Return the names in the header of a table."""
    try:
        return reader.fieldnames or ()
    except csv.Error as error:
        raise InputError(str(error), path=path, line=1) from error


def _plain(name: str) -> str:
    return re.sub(r"[\s.-]+", "_", name.strip()).lower()


def separator_of(header: str) -> str:
    """Return the separator of a header: a tab, or the more frequent of semicolon and comma."""
    if "\t" in header:
        return "\t"
    return ";" if header.count(";") > header.count(",") else ","
