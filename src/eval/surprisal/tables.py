"""The table of surprisals: one row per run, sentence and word, in bits; and its files.

The task ``surprisal`` writes tables here, and ``adopted`` and the studies read them. Surprisals are
computed by ``runs``; nothing here knows a model. Numbers are written in full precision.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TextIO, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gardenpath.data.arrays import Floats
from gardenpath.data.readers.base import TableForm
from gardenpath.data.sentence import Sentence
from gardenpath.data.words.pieces import Boundary, Subwords
from gardenpath.data.words.vocabulary import END, UNKNOWN, Vocabulary
from gardenpath.errors import InputError
from gardenpath.eval.published.files import TOKEN_COLUMNS, read_cells, read_lines, read_tabs
from gardenpath.safe_text import parse_json
from gardenpath.store.manifest import read_side_car, side_car, whole_table
from gardenpath.store.tables import (
    PLL_BITS,
    SEARCH_COLUMN_NAMES,
    SEARCH_COLUMNS,
    SURPRISAL_BITS,
    WORD_SURPRISALS,
    flag_text,
)
from gardenpath.util import bits, json_number

Setting = str | int | float | bool | None

# Whether the end of a sentence has a row of its own or none.
EndPolicy = Literal["row", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurprisalRow:
    """The surprisal of one word, −log₂ p(word | preceding words); NaN if it is undefined.

    ``sentence_id`` and ``word_id`` count from 1. ``seen_as`` is the model's input: the word, its
    class if it is out of vocabulary, or its pieces separated by spaces. ``columns`` are what a
    search knows about the word (``SEARCH_COLUMNS`` of :mod:`gardenpath.store.tables`), by name: NaN
    if undefined, empty if the run needs no search. ``given`` are further columns of the input, such
    as item and condition.
    """

    run: str
    sentence_id: int
    word_id: int
    word: str
    seen_as: str
    surprisal_bits: float
    columns: Mapping[str, float] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def seen(self) -> bool:
        """Whether the word, or every piece of it, is in the model's vocabulary."""
        return is_seen(self.seen_as)


def is_seen(view: str) -> bool:
    """Whether what a model sees for a word is in its vocabulary, with every piece of it."""
    return not any(part == UNKNOWN or part.startswith("<unk-") for part in view.split(" "))


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceFailure:
    """A sentence whose surprisals are undefined from a word onwards, and the setting to change.

    ``word_id`` is the number of words plus one if only the end is undefined. ``remedy`` is empty
    if the model itself assigns zero probability to the preceding words.
    """

    sentence_id: int
    place: str
    word_id: int
    remedy: str = ""

    def __str__(self) -> str:
        problem = f"{self.place}: no surprisal from word {self.word_id} on"
        return f"{problem} ({self.remedy})" if self.remedy else problem


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """How the surprisals of one run were computed.

    ``model`` is the family, ``vocabulary`` the hash of the vocabulary. ``search`` is ``none`` for
    models that need no search; ``settings`` are the settings of the search, such as beam widths.
    ``boundary`` says how words are made of pieces (:mod:`gardenpath.data.words.pieces`); None
    if the units of the model are words.
    """

    run: str
    model: str
    vocabulary: str
    search: str = "none"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    failures: tuple[SentenceFailure, ...] = ()
    boundary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHeader:
    """Header of a table: its runs, its unit, and whether ends of sentences have rows.

    ``skipped`` are the run folders that were left out, each with the reason. ``measure`` is
    ``pll`` for pseudo-log-likelihoods, whose column has another name.
    """

    runs: tuple[RunHeader, ...]
    end_of_sentence: EndPolicy = "row"
    unit: Literal["bits"] = "bits"
    skipped: tuple[str, ...] = ()
    measure: Literal["surprisal", "pll"] = "surprisal"


def seen_as(
    words: Sequence[str], vocabulary: Vocabulary, subwords: Subwords | None = None
) -> tuple[str, ...]:
    """Return the model's input for each word of a sentence (see :class:`SurprisalRow`)."""
    if subwords is None:
        return tuple(
            vocabulary.seen_as(word, is_first=place == 0) for place, word in enumerate(words)
        )
    return tuple(
        " ".join(piece if piece in vocabulary.ids else UNKNOWN for piece in subwords.split(word))
        for word in words
    )


def rows_of(
    run_name: str,
    sentences: Sequence[Sequence[str]],
    log_probs_nats: Sequence[Floats],
    seen: Sequence[Sequence[str]],
    *,
    columns: Sequence[Mapping[str, Sequence[float]]] | None = None,
    given: Sequence[Sequence[Mapping[str, str]]] = (),
    end: bool = True,
) -> list[SurprisalRow]:
    """Return the rows of one run, in the order of the sentences.

    ``log_probs_nats`` contains, for each sentence, the log probability of each word, then its end;
    ``seen`` the model's input for each word (:func:`seen_as`), and ``columns`` further numbers of
    the words and the end, by name; ``given`` further columns of the input, for each word and the
    end. With ``end``, the end of each sentence is a row with the word
    ``</s>``.
    """
    rows: list[SurprisalRow] = []
    further = [{}] * len(sentences) if columns is None else columns
    parts = zip(sentences, log_probs_nats, seen, further, strict=True)
    for sentence_id, (words, log_probs, views, numbers) in enumerate(parts, start=1):
        carried = given[sentence_id - 1] if given else ()
        known = [(name, numbers[name]) for name in SEARCH_COLUMN_NAMES if name in numbers]
        surprisals = bits(np.asarray(log_probs, dtype=np.float64))
        triples = zip((*words, END), (*views, END), surprisals.tolist(), strict=True)
        rows.extend(
            SurprisalRow(
                run=run_name,
                sentence_id=sentence_id,
                word_id=word_id,
                word=word,
                seen_as=view,
                surprisal_bits=surprisal,
                columns={name: values[word_id - 1] for name, values in known},
                given=carried[word_id - 1] if carried else {},
            )
            for word_id, (word, view, surprisal) in enumerate(triples, start=1)
            if end or word_id <= len(words)
        )
    return rows


def failures_of(
    sentences: Sequence[Sentence], log_probs_nats: Sequence[Floats], remedies: Mapping[int, str]
) -> tuple[SentenceFailure, ...]:
    """Return the sentences with undefined surprisals; ``remedies`` maps indices to remedies."""
    return tuple(
        SentenceFailure(
            sentence_id=number + 1,
            place=str(sentence.source),
            word_id=int(np.isnan(log_probs).argmax()) + 1,
            remedy=remedies.get(number, ""),
        )
        for number, (sentence, log_probs) in enumerate(zip(sentences, log_probs_nats, strict=True))
        if np.isnan(log_probs).any()
    )


# Tables as files: TSV, CSV, JSON Lines and Parquet, chosen by extension.
#
# All have the same columns; those of a search follow the surprisal, if a run has any, and are
# empty for runs that have not. Further columns of the input come last. Numbers have full precision,
# in spellings that R, Python and pandas can all read; truth values are ``TRUE`` and ``FALSE``, as R
# writes them. The header is a separate file, such as ``table.csv.meta.json``. A TSV file may also
# be written as LM Zoo does, with the columns ``sentence_id token_id token surprisal``.


def header_of(content: Mapping[str, Any], path: Path) -> TableHeader:
    """Return a header from its ``asdict`` form."""
    try:
        if content["unit"] != "bits" or content["end_of_sentence"] not in ("row", "none"):
            raise ValueError("unknown unit or end_of_sentence")
        runs = [
            RunHeader(**{**run, "failures": tuple(SentenceFailure(**f) for f in run["failures"])})
            for run in content["runs"]
        ]
        if unknown := [run for run in runs if run.boundary not in (None, *get_args(Boundary))]:
            raise ValueError(f"unknown boundary {unknown[0].boundary!r}")
        return TableHeader(
            runs=tuple(runs),
            end_of_sentence=content["end_of_sentence"],
            skipped=tuple(map(str, content.get("skipped", ()))),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"has no valid header of a surprisal table: {error}", path=path) from error


_COLUMNS = WORD_SURPRISALS.names
_ARROW = {"text": pa.string(), "integer": pa.int64(), "flag": pa.bool_(), "number": pa.float64()}
_NUMBERS = {SURPRISAL_BITS, *SEARCH_COLUMN_NAMES}

_OWN = frozenset({*_COLUMNS, *SEARCH_COLUMN_NAMES})
EXTENSIONS = (".tsv", ".csv", ".jsonl", ".parquet")

_Rows = Sequence[SurprisalRow]


def column_names(rows: _Rows) -> tuple[str, ...]:
    """Return the columns of a table, in order: those of a search and of the input if rows have any.

    Columns of the input come last.
    """
    searched = {name for row in rows for name in row.columns}
    given = dict.fromkeys(name for row in rows for name in row.given)
    return *_COLUMNS, *(name for name in SEARCH_COLUMN_NAMES if name in searched), *given


def _titles(names: Sequence[str], header: TableHeader) -> list[str]:
    """Return the names of columns in a file; pseudo-log-likelihoods are never called surprisals."""
    own = {} if header.measure == "surprisal" else {SURPRISAL_BITS: PLL_BITS}
    return [own.get(name, name) for name in names]


def _schema(names: Iterable[str]) -> pa.Schema:
    known = {column.name: column.type for column in (*WORD_SURPRISALS.columns, *SEARCH_COLUMNS)}
    return pa.schema([(name, _ARROW[known.get(name, "text")]) for name in names])


def _put_text(file: TextIO, rows: _Rows, header: TableHeader, path: Path, form: str) -> None:
    if form == ".jsonl":
        for row in rows:
            values = _record(row)
            values |= {name: json_number(values[name]) for name in _NUMBERS & values.keys()}
            record = dict(zip(_titles([*values], header), values.values(), strict=True))
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        return
    names, titles = column_names(rows), _titles(column_names(rows), header)
    if form == "lm_zoo":
        names, titles = ("sentence_id", "word_id", "word", SURPRISAL_BITS), [*TOKEN_COLUMNS]
    writer = csv.writer(file, lineterminator="\n")
    # Quotation marks are ordinary characters in tab-separated tables.
    put = writer.writerow if form == ".csv" else lambda cells: file.write("\t".join(cells) + "\n")
    put(titles)
    for row in rows:
        record = _record(row) | {"seen": flag_text(row.seen)}
        record |= {name: _number_text(record[name]) for name in _NUMBERS & record.keys()}
        cells = [str(record.get(name, "")) for name in names]
        # Readers take line breaks within cells for one another.
        if {"\n", "\r", *([] if form == ".csv" else ["\t"])} & set("".join(cells)):
            problem = f"sentence {row.sentence_id}, word {row.word_id}: {row.word!r} of run"
            raise InputError(
                f"{problem} {row.run!r} contains a tab or a line break",
                path=path,
                remedy="write the table as .jsonl or .parquet",
            )
        put(cells)


def _put_parquet(path: Path, rows: _Rows, header: TableHeader) -> None:
    names = column_names(rows)
    records = [_record(row) for row in rows]
    columns = [[record.get(name) for record in records] for name in names]
    table = pa.table(columns, schema=_schema(names))
    pq.write_table(table.rename_columns(_titles(names, header)), str(path))


def _record(row: SurprisalRow) -> dict[str, Any]:
    own = {column: getattr(row, column) for column in _COLUMNS}
    return {**own, **row.columns, **row.given}


def _number_text(value: float) -> str:
    return {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}.get(repr(value), repr(value))


def check_extension(path: Path) -> str:
    """Return the extension of a table; raise an error if it is not supported.

    Call this before a long job.
    """
    extension = path.suffix.lower()
    if extension not in EXTENSIONS:
        problem = f"tables cannot be written as {path.suffix or 'a file without extension'}"
        raise InputError(problem, path=path, remedy=f"choose one of {', '.join(EXTENSIONS)}")
    return extension


def check_form(path: Path, form: TableForm, *, runs: int = 1) -> None:
    """Raise an error if a table cannot be written in this form; call this before a long job."""
    is_tsv = check_extension(path) == ".tsv"
    if form == "lm_zoo" and not (is_tsv and runs == 1):
        problem = f"have one run, not {runs}" if is_tsv else f"cannot be written as {path.suffix}"
        remedy = "choose one run" if is_tsv else "choose the extension .tsv"
        remedy = f"{remedy}, or set task.form=own"
        raise InputError(f"LM Zoo's tables {problem}", path=path, remedy=remedy)


def write_surprisals(
    path: Path, rows: _Rows, header: TableHeader, *, form: TableForm = "own"
) -> None:
    """Write a table atomically, in the format of its extension."""
    check_form(path, form, runs=max(1, len({row.run for row in rows})))
    if form == "lm_zoo" and header.measure != "surprisal":
        problem = "LM Zoo's tables contain surprisals, not pseudo-log-likelihoods"
        raise InputError(problem, path=path, remedy="set task.form=own")
    with whole_table(path, asdict(header)) as temporary:
        if check_extension(path) == ".parquet":
            _put_parquet(temporary, rows, header)
            return
        form_or_extension = form if form == "lm_zoo" else check_extension(path)
        with temporary.open("w", encoding="utf-8", newline="") as file:
            _put_text(file, rows, header, path, form_or_extension)


def print_surprisals(
    extension: str, rows: _Rows, header: TableHeader, *, form: TableForm = "own"
) -> None:
    """Write a table to standard output, in one of the formats of text."""
    written = form if form == "lm_zoo" else extension
    _put_text(sys.stdout, rows, header, Path("<stdout>"), written)
    sys.stdout.flush()


def read_surprisals(path: Path) -> tuple[list[SurprisalRow], TableHeader]:
    """Read a table that :func:`write_surprisals` wrote."""
    rows = []
    for line, record in _READERS[check_extension(path)](path):
        try:
            rows.append(_row(record))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            problem = f"is not a row of surprisals: {error}"
            raise InputError(problem, path=path, line=line) from error
    return rows, header_of(read_side_car(path), side_car(path))


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


# A row, and its line or number.
_Record = tuple[int, Mapping[str, Any]]


def _read_csv(path: Path) -> Iterator[_Record]:
    lines = read_cells(path)
    names = tuple(next(lines, (1, ()))[1])
    if names[: len(_COLUMNS)] != _COLUMNS or len(set(names)) < len(names):
        problem = f"the header is not {','.join(_COLUMNS)}, and other columns"
        raise InputError(problem, path=path, line=1)
    for line, cells in lines:
        if len(cells) != len(names):
            problem = f"{len(cells)} columns, but the header has {len(names)}"
            raise InputError(problem, path=path, line=line)
        yield line, dict(zip(names, cells, strict=True))


def _read_jsonl(path: Path) -> Iterator[_Record]:
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
        yield line, record


def _read_parquet(path: Path) -> Iterator[_Record]:
    try:
        with pq.ParquetFile(str(path)) as file:
            table = file.read()
            searched = [name for name in SEARCH_COLUMN_NAMES if name in table.column_names]
            given = [name for name in table.column_names if name not in _OWN]
            names = [*_COLUMNS, *searched, *given]
            records = table.select(names).cast(_schema(names)).to_pylist()
    except (OSError, KeyError, ValueError, MemoryError, pa.ArrowException) as error:
        raise InputError(f"is not a Parquet table of surprisals: {error}", path=path) from error
    return enumerate(records, start=1)


_READERS: dict[str, Callable[[Path], Iterator[_Record]]] = {
    ".tsv": lambda path: read_tabs(path, _COLUMNS),
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
}
