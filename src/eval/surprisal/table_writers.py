"""Write rows of surprisals as text (TSV, CSV, JSON Lines) or Parquet.

Numbers have full precision, in spellings that R, Python and pandas can all read; truth values are
``TRUE`` and ``FALSE``, as R writes them.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from gardenpath.errors import InputError
from gardenpath.eval.published.surprisal_files import TOKEN_COLUMNS
from gardenpath.eval.surprisal.surprisal_rows import SurprisalRow, TableHeader
from gardenpath.store.schema import flag_text
from gardenpath.store.tables import (
    PLL_BITS,
    SEARCH_COLUMN_NAMES,
    SEARCH_COLUMNS,
    SURPRISAL_BITS,
    WORD_SURPRISALS,
)

_COLUMNS = WORD_SURPRISALS.names
_ARROW = {"text": pa.string(), "integer": pa.int64(), "flag": pa.bool_(), "number": pa.float64()}
_NUMBERS = {SURPRISAL_BITS, *SEARCH_COLUMN_NAMES}

_Rows = Sequence[SurprisalRow]
# Writes a table to an open file; the path is for messages.
_Writer = Callable[[TextIO, _Rows, TableHeader, Path], None]


def column_names(rows: _Rows) -> tuple[str, ...]:
    """Return the columns of a table, in order: those of a search and of the input if rows have any.

    Columns of the input come last.
    """
    found = {name for row in rows for name in row.columns}
    given = dict.fromkeys(name for row in rows for name in row.given)
    return *_COLUMNS, *(name for name in SEARCH_COLUMN_NAMES if name in found), *given


def column_titles(names: Sequence[str], header: TableHeader) -> list[str]:
    """Return the names of columns in a file; pseudo-log-likelihoods are never called surprisals."""
    own = {} if header.measure == "surprisal" else {SURPRISAL_BITS: PLL_BITS}
    return [own.get(name, name) for name in names]


def arrow_schema(names: Iterable[str]) -> pa.Schema:
    """Return the types of columns; those of the input are text."""
    known = {one.name: one.type for one in (*WORD_SURPRISALS.columns, *SEARCH_COLUMNS)}
    return pa.schema([(name, _ARROW[known.get(name, "text")]) for name in names])


def _put_tsv(file: TextIO, rows: _Rows, header: TableHeader, path: Path) -> None:
    names = column_names(rows)
    file.write("\t".join(column_titles(names, header)) + "\n")
    for row in rows:
        file.write(_tsv_line(_fields(row, names), row, path))


def put_lm_zoo(file: TextIO, rows: _Rows, _header: TableHeader, path: Path) -> None:
    """Write a table with the columns of LM Zoo."""
    file.write("\t".join(TOKEN_COLUMNS) + "\n")
    for row in rows:
        number = _number_text(row.surprisal_bits)
        fields = [str(row.sentence_id), str(row.word_id), row.word, number]
        file.write(_tsv_line(fields, row, path))


def _put_csv(file: TextIO, rows: _Rows, header: TableHeader, path: Path) -> None:
    writer = csv.writer(file, lineterminator="\n")
    names = column_names(rows)
    writer.writerow(column_titles(names, header))
    for row in rows:
        # Readers take line breaks within cells for one another.
        fields = _fields(row, names)
        _require_one_line("".join(fields), row, path)
        writer.writerow(fields)


def _put_jsonl(file: TextIO, rows: _Rows, header: TableHeader, _path: Path) -> None:
    for row in rows:
        values = _record(row)
        values |= {name: _json_number(values[name]) for name in _NUMBERS & values.keys()}
        record = dict(zip(column_titles([*values], header), values.values(), strict=True))
        file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")


def put_parquet(path: Path, rows: _Rows, header: TableHeader) -> None:
    """Write a Parquet file."""
    names = column_names(rows)
    records = [_record(row) for row in rows]
    columns = [[record.get(name) for record in records] for name in names]
    table = pa.table(columns, schema=arrow_schema(names))
    pq.write_table(table.rename_columns(column_titles(names, header)), str(path))


def _record(row: SurprisalRow) -> dict[str, Any]:
    own = {column: getattr(row, column) for column in _COLUMNS}
    return {**own, **row.columns, **row.given}


def _tsv_line(fields: Sequence[str], row: SurprisalRow, path: Path) -> str:
    line = "\t".join(fields)
    _require_one_line(line, row, path, is_broken=line.count("\t") != len(fields) - 1)
    return line + "\n"


def _require_one_line(line: str, row: SurprisalRow, path: Path, *, is_broken: bool = False) -> None:
    if "\n" in line or "\r" in line or is_broken:
        raise InputError(
            f"sentence {row.sentence_id}, word {row.word_id}: {row.word!r} of run "
            f"{row.run!r} contains a tab or a line break",
            path=path,
            remedy="write the table as .jsonl or .parquet",
        )


def _fields(row: SurprisalRow, names: Sequence[str]) -> list[str]:
    record = _record(row) | {"seen": flag_text(row.seen)}
    record |= {name: _number_text(record[name]) for name in _NUMBERS & record.keys()}
    return [str(record.get(name, "")) for name in names]


def _number_text(value: float) -> str:
    return {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}.get(repr(value), repr(value))


def _json_number(value: float) -> float | str | None:
    """Return a number as JSON; NaN becomes null and infinities text, as JSON has neither."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


TEXT_WRITERS: dict[str, _Writer] = {".tsv": _put_tsv, ".csv": _put_csv, ".jsonl": _put_jsonl}
EXTENSIONS = (*TEXT_WRITERS, ".parquet")
