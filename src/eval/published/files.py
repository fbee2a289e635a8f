"""Readers of files of tokens and their surprisals, sentence by sentence.

The forms that need no further information: SyntaxGym's table, with identifiers from 1::

    sentence_id	token_id	token	surprisal

and two columns without a header, ``token surprisal``, in which ``<eos>`` ends a sentence. Tables
with other columns are read by ``token_tables``.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from gardenpath.data.readers.base import Unit
from gardenpath.errors import InputError
from gardenpath.eval.suites.nodes import csv_rows
from gardenpath.eval.suites.regions import is_edge
from gardenpath.safe_text import parse_json
from gardenpath.settings.schema import NonNegativeInt, Share
from gardenpath.store.files import read_text, sha256_of, write_json
from gardenpath.store.manifest import read_side_car, side_car
from gardenpath.util import versions

_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?|nan", re.I
)

TOKEN_COLUMNS = ("sentence_id", "token_id", "token", "surprisal")


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """The tokens of a sentence and their values; ``line`` is that of its first token.

    Values are in the unit of the file until ``value_checks.in_bits`` converts them.
    """

    tokens: tuple[str, ...]
    values: tuple[float, ...]
    line: int


def read_token_table(path: Path) -> list[ScoredSentence]:
    """Read SyntaxGym's table; sentences and tokens must be numbered from 1, without gaps."""
    sentences: list[ScoredSentence] = []
    tokens: list[str] = []
    values: list[float] = []
    first = 0
    for line, (sentence, token_id, token, value) in _token_rows(path):
        if token_id == "1":
            if tokens:
                sentences.append(ScoredSentence(tuple(tokens), tuple(values), first))
            tokens, values, first = [], [], line
        if sentence != str(len(sentences) + 1) or token_id != str(len(tokens) + 1):
            raise InputError(
                f"sentence {sentence}, token {token_id} where sentence {len(sentences) + 1}, token "
                f"{len(tokens) + 1} is expected",
                path=path,
                line=line,
                remedy="sentence_id and token_id count from 1, without gaps",
            )
        tokens.append(token)
        values.append(number_of(value, path, line))
    if tokens:
        sentences.append(ScoredSentence(tuple(tokens), tuple(values), first))
    return sentences


def _token_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a table with exactly the columns of SyntaxGym, else as ``read_tabs``."""
    lines = read_lines(path)
    if lines[0].split("\t") == list(TOKEN_COLUMNS):
        for line, text in enumerate(lines[1:], start=2):
            fields = text.split("\t")
            if len(fields) == len(TOKEN_COLUMNS):
                yield line, fields
            elif text.strip():
                problem = f"{len(fields)} columns, but the header has {len(TOKEN_COLUMNS)}"
                raise InputError(problem, path=path, line=line)
        return
    for line, row in read_tabs(path, TOKEN_COLUMNS):
        yield line, [row[column] for column in TOKEN_COLUMNS]


def read_two_columns(path: Path, lengths: Sequence[int]) -> list[ScoredSentence]:
    """Read ``token surprisal`` lines.

    One or more edge tokens end a sentence. In a file without any, sentences have the ``lengths``
    (in words) of the materials.
    """
    rows = _pairs(path)
    spans = sentence_spans([token for _, token, _ in rows], lengths, path)
    return [_sentence(rows[start:end]) for start, end in spans]


def sentence_spans(
    tokens: Sequence[str], lengths: Sequence[int], path: Path
) -> list[tuple[int, int]]:
    """Divide the tokens of a file into sentences; return where each starts and ends.

    One or more edge tokens end a sentence. Without any, sentences have these ``lengths``, in words.
    """
    if any(map(is_edge, tokens)):
        runs = itertools.groupby(range(len(tokens)), key=lambda place: is_edge(tokens[place]))
        parts = [list(run) for is_mark, run in runs if not is_mark]
        return [(part[0], part[-1] + 1) for part in parts]
    if len(tokens) != sum(lengths):
        raise InputError(
            f"has {len(tokens)} words, but the materials have {sum(lengths)}",
            path=path,
            remedy="mark the ends of sentences by <eos>, or add a column sentence_id",
        )
    ends = itertools.accumulate(lengths)
    return [(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def _pairs(path: Path) -> list[tuple[int, str, float]]:
    rows = []
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip():
            continue
        fields = text.split()
        if len(fields) != 2:
            raise InputError(f"{text!r} is not a token and its surprisal", path=path, line=line)
        rows.append((line, fields[0], number_of(fields[1], path, line)))
    return rows


def _sentence(rows: Sequence[tuple[int, str, float]]) -> ScoredSentence:
    return ScoredSentence(
        tuple(token for _, token, _ in rows), tuple(value for _, _, value in rows), rows[0][0]
    )


def read_tabs(path: Path, columns: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the columns of each row of a tab-separated table.

    Quotation marks are ordinary characters because they may be words.
    """
    header: list[str] = []
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip() or (not header and text.startswith("#")):
            continue
        fields = text.split("\t")
        if not header:
            header = fields
            if missing := [column for column in columns if column not in header]:
                raise InputError(
                    f"the header has no column {', '.join(missing)}", path=path, line=line
                )
            continue
        if len(fields) != len(header):
            raise InputError(
                f"{len(fields)} columns, but the header has {len(header)}", path=path, line=line
            )
        yield line, dict(zip(header, fields, strict=True))
    if not header:
        raise InputError("the table is empty", path=path)


def read_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each row of a table separated by commas."""
    yield from csv_rows(csv.reader(io.StringIO(read_text(path), newline="")), path)


def check_folders(paths: Iterable[Path]) -> None:
    """Refuse paths that are not folders."""
    for path in paths:
        if not path.is_dir():
            raise InputError("is not a folder", path=path)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file without line endings."""
    text = read_text(path)
    # Not splitlines, which also splits at other characters that may occur in words.
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def is_number(text: str) -> bool:
    """Whether a text is a number as programs write it; Python accepts more, such as ``1_0``."""
    return _NUMBER.fullmatch(text.strip()) is not None


def number_of(text: str, path: Path, line: int) -> float:
    """Return a surprisal as a number; an error names the line."""
    if is_number(text):
        return float(text.strip())
    remedy = "write decimal points, not commas" if is_number(text.replace(",", ".", 1)) else ""
    raise InputError(f"surprisal {text!r} is not a number", path=path, line=line, remedy=remedy)


def without_edges(sentence: ScoredSentence) -> ScoredSentence:
    """Return the sentence without the tokens that mark its start and its end."""
    if not any(is_edge(token) for token in sentence.tokens):
        return sentence
    kept = [number for number, token in enumerate(sentence.tokens) if not is_edge(token)]
    return ScoredSentence(
        tuple(sentence.tokens[number] for number in kept),
        tuple(sentence.values[number] for number in kept),
        sentence.line,
    )


# ----------------------------------------------------------------------------
# What an import is told: where surprisals are, in which unit, and how strictly they are paired.


# Where the conditions of the published reflexive stimuli come from.
ConditionSource = Literal["sentences", "labels"]


@dataclass(frozen=True, slots=True)
class SurprisalSet:
    """One folder or file of surprisals.

    ``corpus`` is the training corpus of its models; if empty, the layout of the folder decides.
    """

    path: Path
    corpus: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRules:
    """How strictly the sentences of a file of surprisals must equal those of the materials."""

    reworded: Share = 0.0
    """Largest share of sentences of a file in which one word outside the critical regions may
    differ from the materials."""
    misplaced: NonNegativeInt = 0
    """Largest number of sentences of a file that may equal another sentence of the same condition
    instead of their own."""
    prefixes: bool = True
    """Whether equal beginnings of sentences must have equal surprisals, as left-to-right models
    give; false for models with random search or with other sentences in their context."""
    words: bool = True
    """Whether files must contain the words; false accepts files of surprisals alone, which cannot
    be compared with the materials."""
    unit: Unit | None = None
    """Unit of the numbers, where neither the layout nor the header of a file says it."""


# ----------------------------------------------------------------------------
# The receipt of an import: which files were read, how they were paired, and what was left out.


RECEIPT_FILE = "receipt.json"

# Why a sentence that differs from the materials was accepted.
DifferenceKind = Literal["reworded", "misplaced", "known wording", "other stated wording"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A sentence of a file that is not that of the materials; lines are those of both files."""

    kind: DifferenceKind
    line: int
    materials_line: int
    expected: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SurprisalReceipt:
    """How one file of surprisals was read.

    ``equal``, ``respelt`` (case or ``<unk>``) and ``joined`` (other division into tokens) count
    sentences; ``not_scored`` counts words. ``is_masked``: whether a masked model scored one word of
    each sentence. ``boundary``: how words were made of pieces, if the file says it.
    """

    path: str
    sha256: str
    run: str
    suite: str
    materials: str
    pairing: str
    unit: str
    unit_from: str
    sentences: int
    equal: int
    respelt: int
    joined: int
    not_scored: int
    is_masked: bool = False
    accepted: tuple[Difference, ...] = ()
    boundary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterialsReceipt:
    """How one file of materials was read; ``contradicting`` counts its rows by label."""

    path: str
    sha256: str
    suites: tuple[str, ...]
    sentences: int
    conditions: str
    contradicting: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Everything that an import read and decided, and what it could not check (``unchecked``)."""

    layout: str
    rules: Mapping[str, Any]
    materials: tuple[MaterialsReceipt, ...]
    surprisals: tuple[SurprisalReceipt, ...]
    left_out: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the receipt in JSON types, with the versions of the software."""
        return {"versions": versions("numpy", "pandas"), **asdict(self)}

    def write(self, folder: Path) -> None:
        """Write ``receipt.json`` to a folder."""
        write_json(folder / RECEIPT_FILE, self.as_json())


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file; empty for suites that are not in a file."""
    return sha256_of(path) if path.is_file() else ""


# ----------------------------------------------------------------------------
# What the header of a table of ours says about the surprisals of each run.


_NOT_SEARCHED = ("none", None)


@dataclass(frozen=True, slots=True)
class StatedRun:
    """How words were made of pieces, and whether the surprisals come from a search."""

    boundary: str | None = None
    is_searched: bool = False


def stated_runs(path: Path) -> dict[str, StatedRun]:
    """Return what is stated of each run of a table; empty if the file has no header of ours."""
    if side_car(path).is_file():
        runs = read_side_car(path).get("runs", ())
        return {
            str(run["run"]): StatedRun(run.get("boundary"), run.get("search") not in _NOT_SEARCHED)
            for run in (runs if isinstance(runs, list) else ())
            if isinstance(run, Mapping) and "run" in run
        }
    found: dict[str, StatedRun] = {}
    last = ""
    for line in read_lines(path):
        if not line.startswith("#"):
            break
        key, _, text = line.removeprefix("#").strip().partition(": ")
        value = str(_scalar(text))
        if key == "run":
            last = value
            found[last] = StatedRun()
        elif key == "boundary" and last:
            found[last] = replace(found[last], boundary=value)
        elif key == "search" and last:
            found[last] = replace(found[last], is_searched=value not in _NOT_SEARCHED)
    return found


def _scalar(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text
