"""Minimal pairs in CSV files: one row per sentence and two rows per pair, or one row per pair.

In CLiMP, the columns are phenomenon, paradigm, sentence and label (1 for good), but one of the
files has no header and a different order. The sentence is therefore the column of that name, else
the last column with Chinese characters in every row; the label is a column of ones and zeros.
Without labels, the good sentence of each pair comes first. Files with one row per pair have the
columns ``sentence_good`` and ``sentence_bad``. Separators may be commas, semicolons or tabs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gardenpath.data.segmenting.chinese_text import has_han
from gardenpath.errors import InputError
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.formats.csv_tables import csv_rows, separator_of
from gardenpath.eval.suites.formats.minimal_pairs import Pair, pair_suite
from gardenpath.store.files import read_text

_NAMES = ("phenomenon", "paradigm")
_GOOD_SENTENCE, _BAD_SENTENCE = "sentence_good", "sentence_bad"


@dataclass(frozen=True, slots=True)
class _Columns:
    sentence: int
    label: int | None
    names: Mapping[str, int]


def load_climp(path: str | Path, *, name: str = "") -> Suite:
    """Read a file of pairs; the suite is named after the file unless ``name`` is given."""
    pairs = climp_pairs(read_text(path), path)
    phenomena = {pair.labels.get("phenomenon", "") for pair in pairs}
    kind = phenomena.pop() if len(phenomena) == 1 else ""
    called = name or Path(path).stem
    return pair_suite(pairs, path=path, name=called, kind=kind)


def climp_pairs(text: str, path: str | Path) -> list[Pair]:
    """Return the pairs of a file; errors name ``path``."""
    rows = _rows(text, path)
    headed = [cell.strip().lower() for cell in rows[0][1]]
    has_header = not any(has_han(cell) for cell in rows[0][1])
    if has_header:
        rows.pop(0)
    if not rows:
        raise InputError("contains no sentences", path=path)
    # The header of the published files only numbers the columns.
    is_named = has_header and any(cell and not cell.isdecimal() for cell in headed)
    return _pairs(rows, headed if is_named else [], path)


def _pairs(
    rows: Sequence[tuple[int, list[str]]], header: Sequence[str], path: str | Path
) -> list[Pair]:
    if {_GOOD_SENTENCE, _BAD_SENTENCE} <= set(header):
        good, bad = header.index(_GOOD_SENTENCE), header.index(_BAD_SENTENCE)
        labels = {name: header.index(name) for name in _NAMES if name in header}
        return [
            Pair(row[good], row[bad], line, {name: row[n].strip() for name, n in labels.items()})
            for line, row in rows
        ]
    columns = _columns([row for _, row in rows], header, path)
    if len(rows) % 2:
        raise InputError("the last sentence has no partner", path=path, line=rows[-1][0])
    return [
        _climp_pair(first, second, columns, path)
        for first, second in zip(rows[::2], rows[1::2], strict=True)
    ]


def _rows(content: str, path: str | Path) -> list[tuple[int, list[str]]]:
    text = content.removeprefix("\N{BYTE ORDER MARK}")
    separator = separator_of(text.partition("\n")[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    found = csv_rows(reader, path)
    rows = [(line, row) for line, row in found if any(cell.strip() for cell in row)]
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
    headed = {name: place for place, name in enumerate(header)}
    chinese = [place for place in places if all(has_han(row[place]) for row in rows)]
    sentence = headed.get("sentence", chinese[-1] if chinese else None)
    if sentence is None:
        raise InputError(
            "no column is named sentence or contains a Chinese sentence in every row",
            path=path,
            line=1,
            remedy=f"pairs have the columns sentence and label (1, 0), or {_GOOD_SENTENCE} and {_BAD_SENTENCE}; "
            "tables of items need a YAML file (docs/suites.md)",
        )
    labels = [place for place in places if {row[place].strip() for row in rows} == {"0", "1"}]
    texts = [
        place
        for place in places
        if place != sentence and not all(row[place].strip().isdecimal() for row in rows)
    ]
    named = {each: headed[each] for each in _NAMES if each in headed}
    return _Columns(
        sentence=sentence,
        label=labels[-1] if labels else None,
        names=named or ({} if header else dict(zip(_NAMES, texts, strict=False))),
    )


def _climp_pair(
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
