"""What the readers of suites share: YAML with line numbers, and tables of text and Excel.

The readers beside this module, published tables and the readers of stimuli call it. Every error
names the file and, where there is one, the line. Nothing here knows what a suite is.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gardenpath.errors import InputError
from gardenpath.safe_text import MalformedTextError, parse_json, plain_data, yaml_tree
from gardenpath.settings.schema import nearest
from gardenpath.store.files import read_text

_QUOTES = (
    "put quotation marks around text that starts with a character such as [ or |, or contains ': '"
)

# YAML as nodes. Scalars are read as text, without conversion: ``no`` is a word, not false.


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """A key of a mapping and its value."""

    key: yaml.Node
    value: yaml.Node


@dataclass(frozen=True, slots=True)
class YamlNodes:
    """The nodes of one file, or of the text ``content``, of which messages name no lines."""

    path: str
    content: str | None = None

    def root(self) -> yaml.Node:
        """Return the whole file as one node. The safe loader constructs only plain data."""
        text = read_text(self.path) if self.content is None else self.content
        try:
            node = yaml_tree(text)
        except MalformedTextError as error:
            line, remedy = error.line, error.remedy or (_QUOTES if error.line else "")
            raise InputError(error.problem, path=self.path, line=line, remedy=remedy) from error
        if node is None:
            raise InputError("is empty", path=self.path)
        return node

    def error(self, problem: str, node: yaml.Node, remedy: str = "") -> InputError:
        """Return an error with the line of a node."""
        line = node.start_mark.line + 1 if self.content is None else None
        return InputError(problem, path=self.path, line=line, remedy=remedy)

    def mapping(self, node: yaml.Node, what: str) -> dict[str, YamlEntry]:
        """Return keys and values; raise an error if a key occurs twice."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(f"{what} must be lines of the form 'key: value'", node)
        entries: dict[str, YamlEntry] = {}
        for key, value in node.value:
            name = self.text(key, f"a key of {what}")
            if name in entries:
                first = entries[name].key.start_mark.line + 1
                raise self.error(f"{name!r} occurs twice in {what}", key, f"first in line {first}")
            entries[name] = YamlEntry(key, value)
        return entries

    def entries(
        self, node: yaml.Node, what: str, *, known: Sequence[str], required: Sequence[str]
    ) -> dict[str, YamlEntry]:
        """Return keys and values; each must be ``known``, and all ``required`` ones are there."""
        entries = self.mapping(node, what)
        for name, entry in entries.items():
            if name not in known:
                raise self.error(f"unknown entry {name!r}", entry.key, nearest(name, known))
        if missing := [name for name in required if name not in entries]:
            raise self.error(f"missing: {', '.join(missing)}", node)
        return entries

    def require_known(self, name: str, valid: Sequence[str], what: str, node: yaml.Node) -> None:
        """Raise an error if a name is not one of the valid ones."""
        if name not in valid:
            raise self.error(f"{what} {name!r} is unknown", node, nearest(name, valid))

    def text(self, node: yaml.Node, what: str) -> str:
        """Return a scalar as text."""
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(f"{what} must be text", node, _QUOTES)
        return str(node.value)

    def texts(self, node: yaml.Node, what: str) -> dict[str, str]:
        """Return a mapping of texts, without blanks around them."""
        entries = self.mapping(node, what)
        return {
            name: self.text(entry.value, f"{what}: {name}").strip()
            for name, entry in entries.items()
        }

    def items(self, node: yaml.Node) -> list[yaml.Node]:
        """Return the elements of a list; any other node becomes a list of one."""
        return list(node.value) if isinstance(node, yaml.SequenceNode) else [node]

    def choice(self, node: yaml.Node, what: str, choices: tuple[str, ...]) -> str:
        """Return a scalar that must be one of ``choices``."""
        chosen = self.text(node, what)
        if chosen not in choices:
            raise self.error(f"{what}: unknown value {chosen!r}", node, nearest(chosen, choices))
        return chosen

    def plain(self, node: yaml.Node, what: str) -> Any:
        """Return a nested value with the types of YAML; values that JSON lacks are errors."""
        try:
            return parse_json(json.dumps(plain_data(node)))
        except (TypeError, ValueError) as error:
            remedy = "put dates and the like in quotation marks"
            raise self.error(f"{what} must be text, numbers or lists", node, remedy) from error


# Tables with a header, separated by tabs, commas or semicolons.

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
        remedy = "separate columns by commas, semicolons or tabs"
        raise InputError(problem, path=path, line=skipped + 1, remedy=remedy)
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
        problem = f"has two columns {twice[0]!r}"
        raise InputError(problem, path=path, line=skipped + 1, remedy="rename one of them")
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
            problem = str(error)
            if "unexpected end of data" in problem:
                problem = "a quotation mark is not closed"
            elif "expected after" in problem:
                problem = "a quotation mark within a cell"
            remedy = 'close all quotation marks; a cell with some of its own is "a ""quoted"" word"'
            raise InputError(problem, path=path, line=line, remedy=remedy) from error
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


# Tables of items: text (CSV, TSV) or a sheet of an Excel file, with the same content.
#
# Excel files need the package openpyxl. They are archives of XML, so their unpacked size is
# limited before they are read, and XML with definitions of its own is refused.

EXCEL_SUFFIX = ".xlsx"
# Suffixes of tables, and those of other programs that are refused with a remedy.
TABLE_SUFFIXES = (".csv", ".tsv", EXCEL_SUFFIX)
_OTHER_SHEETS = (".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
_MOST_UNPACKED = 200 * 2**20
_MOST_ROWS = 1_000_000
_MOST_COLUMNS = 1_000
_SAVE_AS_CSV = "save the sheet as CSV (UTF-8) and name that file"


def read_items_table(path: Path, *, sheet: str | None = None) -> CsvTable:
    """Read a table; ``sheet`` is the name of a sheet of an Excel file, by default the first."""
    suffix = path.suffix.lower()
    if suffix in _OTHER_SHEETS:
        raise InputError(f"is a {suffix} sheet", path=path, remedy=f"{_SAVE_AS_CSV}, or as .xlsx")
    if suffix == EXCEL_SUFFIX:
        return _read_excel(path, sheet)
    if sheet is not None:
        remedy = "leave out sheet: in the description of the suite"
        raise InputError("has no sheets; only Excel files (.xlsx) have", path=path, remedy=remedy)
    return read_csv_table(path)


def _read_excel(path: Path, sheet: str | None) -> CsvTable:
    try:
        import openpyxl
    except ImportError as error:
        raise InputError(
            "is an Excel file, which needs the package openpyxl",
            path=path,
            remedy=f"pip install 'gardenpath[excel]' (or openpyxl), or {_SAVE_AS_CSV}",
        ) from error
    _require_small(path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # the library raises errors of many kinds on damaged files
        raise _no_excel(path, error) from error
    try:
        names = list(book.sheetnames)
        if sheet is not None and sheet not in names:
            known = f"its sheets: {', '.join(names)}"
            raise InputError(f"has no sheet {sheet!r}", path=path, remedy=known)
        chosen = book[sheet] if sheet is not None else book.worksheets[0]
        rows = chosen.iter_rows(values_only=True, max_col=_MOST_COLUMNS)
        return table_of(_rows(rows, path), path)
    except InputError:
        raise
    except Exception as error:  # sheets are parsed while they are read
        raise _no_excel(path, error) from error
    finally:
        book.close()


def _require_small(path: Path) -> None:
    """Refuse files that are no archives, unpack to too much, or define entities of XML."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > _MOST_UNPACKED:
                limit = f"{_MOST_UNPACKED // 2**20} MB"
                raise InputError(f"unpacks to more than {limit}", path=path, remedy=_SAVE_AS_CSV)
            for member in members:
                if any(text in archive.read(member) for text in (b"<!DOCTYPE", b"<!ENTITY")):
                    raise InputError("has definitions of XML", path=path, remedy=_SAVE_AS_CSV)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, EOFError) as error:
        raise _no_excel(path, error) from error


def _no_excel(path: Path, error: Exception) -> InputError:
    remedy = f"save it as .xlsx again, or {_SAVE_AS_CSV}"
    return InputError(f"is not an Excel file: {error}", path=path, remedy=remedy)


def _rows(rows: Iterable[tuple[Any, ...]], path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, all as wide as the header, with their numbers."""
    width = 0
    for number, values in enumerate(rows, start=1):
        if number > _MOST_ROWS:
            raise InputError(f"has more than {_MOST_ROWS:,} rows", path=path, remedy=_SAVE_AS_CSV)
        cells = [_cell(value) for value in values]
        if not any(cells):
            continue
        if not width:
            width = max(place for place, cell in enumerate(cells, start=1) if cell)
        if any(cells[width:]):
            raise InputError(
                f"row {number} has a cell beyond the last column of the header",
                path=path,
                line=number,
                remedy="give every column a name in the first row",
            )
        yield number, [*cells[:width], *[""] * (width - len(cells))]


def _cell(value: object) -> str:
    """Return a cell as text; whole numbers, which Excel keeps as 1.0, without a decimal point."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).strip()
