"""Tables of surprisals as files: TSV, CSV, JSON Lines and Parquet, chosen by extension.

All have the same columns; those of a search follow the surprisal, if a run has any, and are empty
for runs that have not. Further columns of the input come last. The header is a separate file, such
as ``table.csv.meta.json`` (:mod:`gardenpath.store.headers.side_cars`); older TSV files have it as
comments at their start. A TSV file may also be written as LM Zoo does, with the columns
``sentence_id token_id token surprisal``.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gardenpath.data.surprisal_forms import TableForm
from gardenpath.errors import InputError
from gardenpath.eval.published.surprisal_files import read_cells, read_lines, read_tabs
from gardenpath.eval.surprisal.surprisal_rows import SurprisalRow, TableHeader
from gardenpath.eval.surprisal.table_headers import content_of_comments, header_of
from gardenpath.eval.surprisal.table_writers import (
    EXTENSIONS,
    TEXT_WRITERS,
    arrow_schema,
    put_lm_zoo,
    put_parquet,
)
from gardenpath.safe_text import parse_json
from gardenpath.store.headers.side_cars import read_side_car, side_car, whole_table
from gardenpath.store.tables import SEARCH_COLUMN_NAMES, SURPRISAL_BITS, WORD_SURPRISALS

_COLUMNS = WORD_SURPRISALS.names
_OWN = frozenset({*_COLUMNS, *SEARCH_COLUMN_NAMES})
_NUMBERS = {SURPRISAL_BITS, *SEARCH_COLUMN_NAMES}

_Rows = Sequence[SurprisalRow]


def check_extension(path: Path) -> str:
    """Return the extension of a table; raise an error if it is not supported.

    Call this before a long job.
    """
    extension = path.suffix.lower()
    if extension not in EXTENSIONS:
        raise InputError(
            f"tables cannot be written as {path.suffix or 'a file without extension'}",
            path=path,
            remedy=f"choose one of {', '.join(EXTENSIONS)}",
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
    if form == "own" and check_extension(path) == ".parquet":
        with whole_table(path, asdict(header)) as temporary:
            put_parquet(temporary, rows, header)
        return
    put = put_lm_zoo if form == "lm_zoo" else TEXT_WRITERS[check_extension(path)]
    with (
        whole_table(path, asdict(header)) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        put(file, rows, header, path)


def print_surprisals(
    extension: str, rows: _Rows, header: TableHeader, *, form: TableForm = "own"
) -> None:
    """Write a table to standard output, in one of the formats of text."""
    put = put_lm_zoo if form == "lm_zoo" else TEXT_WRITERS[extension]
    put(sys.stdout, rows, header, Path("<stdout>"))
    sys.stdout.flush()


def read_surprisals(path: Path) -> tuple[list[SurprisalRow], TableHeader]:
    """Read a table that :func:`write_surprisals` wrote."""
    return _READERS[check_extension(path)](path)


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
        given={name: str(value) for name, value in record.items() if name not in _OWN},
    )


def _located_row(record: Mapping[str, Any], path: Path, line: int) -> SurprisalRow:
    try:
        return _row(record)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"is not a row of surprisals: {error}", path=path, line=line) from error


def _read_csv(path: Path) -> tuple[list[SurprisalRow], TableHeader]:
    lines = read_cells(path)
    names = tuple(next(lines, (1, ()))[1])
    if names[: len(_COLUMNS)] != _COLUMNS or len(set(names)) < len(names):
        problem = f"the header is not {','.join(_COLUMNS)}, and other columns"
        raise InputError(problem, path=path, line=1)
    rows = []
    for line, cells in lines:
        if len(cells) != len(names):
            problem = f"{len(cells)} columns, but the header has {len(names)}"
            raise InputError(problem, path=path, line=line)
        rows.append(_located_row(dict(zip(names, cells, strict=True)), path, line))
    return rows, _header_beside(path)


def _read_tsv(path: Path) -> tuple[list[SurprisalRow], TableHeader]:
    rows = [_located_row(fields, path, line) for line, fields in read_tabs(path, _COLUMNS)]
    if side_car(path).is_file():
        return rows, _header_beside(path)
    comments = itertools.takewhile(_is_comment, read_lines(path))
    return rows, header_of(content_of_comments(comments), path)


def _is_comment(text: str) -> bool:
    return text.startswith("#") or not text.strip()


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


def _read_parquet(path: Path) -> tuple[list[SurprisalRow], TableHeader]:
    try:
        with pq.ParquetFile(str(path)) as file:
            table = file.read()
            known = (*_COLUMNS, *SEARCH_COLUMN_NAMES)
            searched = [name for name in SEARCH_COLUMN_NAMES if name in table.column_names]
            given = [name for name in table.column_names if name not in known]
            names = [*_COLUMNS, *searched, *given]
            records = table.select(names).cast(arrow_schema(names)).to_pylist()
    except (OSError, KeyError, ValueError, MemoryError, pa.ArrowException) as error:
        raise InputError(f"is not a Parquet table of surprisals: {error}", path=path) from error
    rows = [_located_row(record, path, n) for n, record in enumerate(records, start=1)]
    return rows, _header_beside(path)


def _header_beside(path: Path) -> TableHeader:
    return header_of(read_side_car(path), side_car(path))


_READERS: dict[str, Callable[[Path], tuple[list[SurprisalRow], TableHeader]]] = {
    ".tsv": _read_tsv,
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
}
