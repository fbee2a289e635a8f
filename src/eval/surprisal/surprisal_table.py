"""Tables of surprisals as files: TSV, CSV, JSON Lines and Parquet, chosen by extension.

All have the same columns; those of a search follow the surprisal, if a run has any, and are empty
for runs that have not. A TSV file starts with the header as comments; for the other formats, the
header is a separate file, such as ``table.parquet.meta.json``
(:mod:`gardenpath.eval.published.headers.side_cars`). A TSV file may also be written as LM Zoo does,
with the columns ``sentence_id token_id token surprisal`` and a separate header.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gardenpath.data.surprisal_forms import TableForm
from gardenpath.errors import InputError
from gardenpath.eval.published.headers.side_cars import read_side_car, side_car, whole_table
from gardenpath.eval.published.surprisal_files import (
    TOKEN_COLUMNS,
    read_cells,
    read_lines,
    read_tabs,
)
from gardenpath.eval.surprisal.surprisal_rows import SurprisalRow, TableHeader
from gardenpath.eval.surprisal.table_headers import (
    content_of_comments,
    header_items,
    header_of,
    scalar_text,
)
from gardenpath.safe_text import parse_json
from gardenpath.store.files import whole_file
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


def check_extension(path: Path) -> str:
    """Return the extension of a table; raise an error if it is not supported.

    Call this before a long job.
    """
    extension = path.suffix.lower()
    if extension not in _WRITERS:
        raise InputError(
            f"tables cannot be written as {path.suffix or 'a file without extension'}",
            path=path,
            remedy=f"choose one of {', '.join(_WRITERS)}",
        )
    return extension


def check_form(path: Path, form: TableForm, *, runs: int = 1) -> None:
    """Raise an error if a table cannot be written in this form; call this before a long job."""
    is_tsv = check_extension(path) == ".tsv"
    if form == "lm_zoo" and not (is_tsv and runs == 1):
        problem = f"have one run, not {runs}" if is_tsv else f"cannot be written as {path.suffix}"
        remedy = "choose one run" if is_tsv else "choose the extension .tsv"
        raise InputError(
            f"LM Zoo's tables {problem}", path=path, remedy=f"{remedy}, or set task.form=own"
        )


def write_surprisals(
    path: Path, rows: _Rows, header: TableHeader, *, form: TableForm = "own"
) -> None:
    """Write a table atomically, in the format of its extension."""
    check_form(path, form, runs=max(1, len({row.run for row in rows})))
    if form == "lm_zoo" and header.measure != "surprisal":
        raise InputError(
            "LM Zoo's tables contain surprisals, not pseudo-log-likelihoods", path=path,
            remedy="set task.form=own",
        )  # fmt: skip
    write = _write_lm_zoo if form == "lm_zoo" else _WRITERS[check_extension(path)]
    write(path, rows, header)


def read_surprisals(path: Path) -> tuple[list[SurprisalRow], TableHeader]:
    """Read a table that :func:`write_surprisals` wrote."""
    return _READERS[check_extension(path)](path)


def _names(rows: _Rows) -> tuple[str, ...]:
    """Return the columns of a table, in order: those of a search if some row has them."""
    found = {name for row in rows for name in row.columns}
    return *_COLUMNS, *(name for name in SEARCH_COLUMN_NAMES if name in found)


def _titles(names: Sequence[str], header: TableHeader) -> list[str]:
    """Return the names of columns in a file; pseudo-log-likelihoods are never called surprisals."""
    own = {} if header.measure == "surprisal" else {SURPRISAL_BITS: PLL_BITS}
    return [own.get(name, name) for name in names]


def _record(row: SurprisalRow) -> dict[str, Any]:
    return {**{column: getattr(row, column) for column in _COLUMNS}, **row.columns}


def _row(record: Mapping[str, Any]) -> SurprisalRow:
    """Return a row from its columns; ``seen`` is derived from ``seen_as``.

    A column of a search that is empty is one that the run has not.
    """
    return SurprisalRow(
        run=str(record["run"]),
        sentence_id=int(record["sentence_id"]),
        word_id=int(record["word_id"]),
        word=str(record["word"]),
        seen_as=str(record["seen_as"]),
        surprisal_bits=float(record["surprisal_bits"]),
        columns={
            name: float(record[name])
            for name in SEARCH_COLUMN_NAMES
            if record.get(name) not in (None, "")
        },
    )


def _located_row(record: Mapping[str, Any], path: Path, line: int) -> SurprisalRow:
    try:
        return _row(record)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"is not a row of surprisals: {error}", path=path, line=line) from error


def _write_tsv(path: Path, rows: _Rows, header: TableHeader) -> None:
    comments = [f"# {key}: {scalar_text(value)}\n" for key, value in header_items(header)]
    names = _names(rows)
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.writelines([*comments, "\t".join(_titles(names, header)) + "\n"])
        for row in rows:
            file.write(_tsv_line(_fields(row, names), row, path))


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
    record = _record(row) | {"seen": int(row.seen)}
    record |= {name: _number_text(record[name]) for name in _NUMBERS & record.keys()}
    return [str(record.get(name, "")) for name in names]


def _number_text(value: float) -> str:
    # Spellings that R, Python and pandas can all read.
    return {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}.get(repr(value), repr(value))


def _write_lm_zoo(path: Path, rows: _Rows, header: TableHeader) -> None:
    with (
        whole_table(path, asdict(header)) as temporary,
        temporary.open("w", encoding="utf-8") as file,
    ):
        file.write("\t".join(TOKEN_COLUMNS) + "\n")
        for row in rows:
            number = _number_text(row.surprisal_bits)
            fields = [str(row.sentence_id), str(row.word_id), row.word, number]
            file.write(_tsv_line(fields, row, path))


def _write_csv(path: Path, rows: _Rows, header: TableHeader) -> None:
    with (
        whole_table(path, asdict(header)) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        names = _names(rows)
        writer.writerow(_titles(names, header))
        for row in rows:
            # Readers take line breaks within cells for one another.
            fields = _fields(row, names)
            _require_one_line("".join(fields), row, path)
            writer.writerow(fields)


def _read_csv(path: Path) -> tuple[list[SurprisalRow], TableHeader]:
    lines = read_cells(path)
    names = tuple(next(lines, (1, ()))[1])
    further = names[len(_COLUMNS) :]
    if names[: len(_COLUMNS)] != _COLUMNS or not set(further) <= {*SEARCH_COLUMN_NAMES}:
        problem = f"the header is not {','.join(_COLUMNS)}, and columns of a search"
        raise InputError(problem, path=path, line=1)
    rows = []
    for line, cells in lines:
        if len(cells) != len(names):
            problem = f"{len(cells)} columns, but the header has {len(names)}"
            raise InputError(problem, path=path, line=line)
        rows.append(_located_row(dict(zip(names, cells, strict=True)), path, line))
    return rows, _header_beside(path)


def _read_tsv(path: Path) -> tuple[list[SurprisalRow], TableHeader]:
    comments = itertools.takewhile(_is_comment, read_lines(path))
    rows = [_located_row(fields, path, line) for line, fields in read_tabs(path, _COLUMNS)]
    return rows, header_of(content_of_comments(comments), path)


def _is_comment(text: str) -> bool:
    return text.startswith("#") or not text.strip()


def _write_jsonl(path: Path, rows: _Rows, header: TableHeader) -> None:
    with (
        whole_table(path, asdict(header)) as temporary,
        temporary.open("w", encoding="utf-8") as file,
    ):
        for row in rows:
            values = _record(row)
            values |= {name: _json_number(values[name]) for name in _NUMBERS & values.keys()}
            record = dict(zip(_titles([*values], header), values.values(), strict=True))
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")


def _read_jsonl(path: Path) -> tuple[list[SurprisalRow], TableHeader]:
    rows = []
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip():
            continue
        try:
            record = parse_json(text)
            _ = record[SURPRISAL_BITS]
            record |= {name: math.nan for name in _NUMBERS & record.keys() if record[name] is None}
        except (ValueError, KeyError, TypeError) as error:
            problem = f"is not a JSON object with the columns {', '.join(_COLUMNS)}: {error}"
            raise InputError(problem, path=path, line=line) from error
        rows.append(_located_row(record, path, line))
    return rows, _header_beside(path)


def _json_number(value: float) -> float | str | None:
    """Return a number as JSON; NaN becomes null and infinities text, as JSON has neither."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


def _write_parquet(path: Path, rows: _Rows, header: TableHeader) -> None:
    names = _names(rows)
    records = [_record(row) for row in rows]
    columns = [[record.get(name) for record in records] for name in names]
    with whole_table(path, asdict(header)) as temporary:
        table = pa.table(columns, schema=_schema(names)).rename_columns(_titles(names, header))
        pq.write_table(table, str(temporary))


def _schema(names: Iterable[str]) -> pa.Schema:
    known = {one.name: one for one in (*WORD_SURPRISALS.columns, *SEARCH_COLUMNS)}
    return pa.schema([(name, _ARROW[known[name].type]) for name in names])


def _read_parquet(path: Path) -> tuple[list[SurprisalRow], TableHeader]:
    try:
        with pq.ParquetFile(str(path)) as file:
            table = file.read()
            further = [name for name in SEARCH_COLUMN_NAMES if name in table.column_names]
            names = [*_COLUMNS, *further]
            records = table.select(names).cast(_schema(names)).to_pylist()
    except (OSError, KeyError, ValueError, MemoryError, pa.ArrowException) as error:
        raise InputError(f"is not a Parquet table of surprisals: {error}", path=path) from error
    rows = [_located_row(record, path, n) for n, record in enumerate(records, start=1)]
    return rows, _header_beside(path)


def _header_beside(path: Path) -> TableHeader:
    return header_of(read_side_car(path), side_car(path))


_WRITERS: dict[str, Callable[[Path, _Rows, TableHeader], None]] = {
    ".tsv": _write_tsv,
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}
_READERS: dict[str, Callable[[Path], tuple[list[SurprisalRow], TableHeader]]] = {
    ".tsv": _read_tsv,
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
}
