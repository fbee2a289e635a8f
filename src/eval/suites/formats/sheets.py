"""Tables of items: text (CSV, TSV) or a sheet of an Excel file, with the same content.

Excel files need the package openpyxl. They are archives of XML, so their unpacked size is limited
before they are read, and XML with definitions of its own is refused.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gardenpath.errors import InputError
from gardenpath.eval.suites.formats.csv_tables import CsvTable, read_csv_table, table_of

EXCEL_SUFFIX = ".xlsx"
# Suffixes of tables, and those of other programs that are refused with a remedy.
TABLE_SUFFIXES = (".csv", ".tsv", EXCEL_SUFFIX)
_OTHER_SHEETS = (".xls", ".xlsm", ".xlsb", ".ods", ".numbers")

_MOST_UNPACKED = 200 * 2**20
_MOST_ROWS = 1_000_000
_MOST_COLUMNS = 1_000
_DEFINITIONS = (b"<!DOCTYPE", b"<!ENTITY")
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
    openpyxl = _library(path)
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


def _library(path: Path) -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise InputError(
            "is an Excel file, which needs the package openpyxl",
            path=path,
            remedy=f"pip install 'gardenpath[excel]' (or openpyxl), or {_SAVE_AS_CSV}",
        ) from error
    return openpyxl


def _require_small(path: Path) -> None:
    """Refuse files that are no archives, unpack to too much, or define entities of XML."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > _MOST_UNPACKED:
                limit = f"{_MOST_UNPACKED // 2**20} MB"
                raise InputError(f"unpacks to more than {limit}", path=path, remedy=_SAVE_AS_CSV)
            for member in members:
                if any(one in archive.read(member) for one in _DEFINITIONS):
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
