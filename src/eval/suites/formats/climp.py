"""Minimal pairs in the CSV format of CLiMP: one row per sentence, two rows per pair.

The columns are phenomenon, paradigm, sentence and label (1 for good), but one of the files has no
header and a different order. The sentence is therefore the last column with Chinese characters in
every row, and the label is a column of ones and zeros. Without labels, the good sentence of each
pair comes first.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.formats.minimal_pairs import Pair, has_han, pair_suite
from gardenpath.store.files import read_text

_NAMES = ("phenomenon", "paradigm")


@dataclass(frozen=True, slots=True)
class _Columns:
    sentence: int
    label: int | None
    names: Mapping[str, int]


def load_climp(path: str | Path, *, name: str = "") -> Suite:
    """Read a file of pairs; the suite is named after the file unless ``name`` is given."""
    rows = _rows(path)
    header = None if any(has_han(cell) for cell in rows[0][1]) else rows.pop(0)[1]
    if not rows:
        raise InputError("contains no Chinese sentences", path=path)
    columns = _columns([row for _, row in rows], header or [], path)
    if len(rows) % 2:
        raise InputError("the last sentence has no partner", path=path, line=rows[-1][0])
    pairs = [
        _pair(first, second, columns, path)
        for first, second in zip(rows[::2], rows[1::2], strict=True)
    ]
    phenomena = {pair.labels.get("phenomenon", "") for pair in pairs}
    kind = phenomena.pop() if len(phenomena) == 1 else ""
    called = name or Path(path).stem
    return pair_suite(pairs, path=path, name=called, language="zh", kind=kind)


def _rows(path: str | Path) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(read_text(path), newline=""))
    rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    if not rows:
        raise InputError("is empty", path=path)
    widest = max(len(row) for _, row in rows)
    for line, row in rows:
        if len(row) != widest:
            problem = f"{len(row)} columns, but other lines have {widest}"
            raise InputError(problem, path=path, line=line)
    return rows


def _columns(rows: Sequence[Sequence[str]], header: Sequence[str], path: str | Path) -> _Columns:
    places = range(len(rows[0]))
    chinese = [place for place in places if all(has_han(row[place]) for row in rows)]
    if not chinese:
        raise InputError("no column contains a Chinese sentence in every row", path=path)
    labels = [place for place in places if {row[place].strip() for row in rows} == {"0", "1"}]
    headed = {cell.strip().lower(): place for place, cell in enumerate(header)}
    texts = [
        place
        for place in places
        if place != chinese[-1] and not all(row[place].strip().isdecimal() for row in rows)
    ]
    named = {each: headed[each] for each in _NAMES if each in headed}
    return _Columns(
        sentence=chinese[-1],
        label=labels[-1] if labels else None,
        names=named or dict(zip(_NAMES, texts, strict=False)),
    )


def _pair(
    first: tuple[int, list[str]],
    second: tuple[int, list[str]],
    columns: _Columns,
    path: str | Path,
) -> Pair:
    (line, good), (_, bad) = first, second
    if columns.label is not None:
        found = good[columns.label].strip(), bad[columns.label].strip()
        if found == ("0", "1"):
            good, bad = bad, good
        elif found != ("1", "0"):
            problem = f"a pair needs one good and one bad sentence, not two labelled {found[0]}"
            raise InputError(problem, path=path, line=line)
    labels = {name: good[place].strip() for name, place in columns.names.items()}
    return Pair(good[columns.sentence], bad[columns.sentence], line, labels)
