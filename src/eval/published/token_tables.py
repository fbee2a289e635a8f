"""Tables with one row per word, as other programs write them.

Tables are separated by tabs, commas or semicolons and have a header; ``columns`` maps what a column
holds (its role) to the name that it has, if this is not one of the usual names. Files without a
header have two columns, token and surprisal, or one column of surprisals.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.import_settings import PairingRules
from gardenpath.eval.published.surprisal_files import (
    ScoredSentence,
    is_number,
    number_of,
    read_lines,
    sentence_spans,
)
from gardenpath.eval.published.value_checks import StatedUnit, stated_unit
from gardenpath.eval.suites.formats.csv_tables import CsvTable, read_csv_table
from gardenpath.text import is_count

# Usual names of columns by what they hold, the most specific first.
ROLES: Mapping[str, tuple[str, ...]] = {
    "word": ("word", "token", "tok", "form"),
    "surprisal": (
        *("surprisal_bits", "surprisal_nats", "surprisal", "surp", "surprisals"),
        *("log_prob", "logprob", "log_probability", "logp"),
    ),
    "sentence": ("sentence_id", "sent_id", "sentence_number", "sentence_no", "sentid"),
    "word_id": (
        *("word_id", "token_id", "word_number", "token_number", "word_index", "token_index"),
        *("position", "word_pos"),
    ),
    "suite": ("suite", "suite_name", "test_suite"),
    "item": ("item", "item_number", "item_id"),
    "condition": ("condition", "condition_name", "cond"),
    "variant": ("variant",),
    "run": ("run",),
    "model": ("model", "model_name"),
    "corpus": ("corpus", "training_corpus"),
    "seed": ("seed",),
    "seen": ("seen",),
}

OWN_COLUMN = "surprisal_bits"

# How programs write that there is no number.
_MISSING = ("", "na", "n/a", "nan", "none", "null")

_SEEN = {"1": True, "0": False, "true": True, "false": False, "yes": True, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSentence:
    """A sentence of a table, with what the table says about it; empty if it does not.

    ``cells``: the columns by which suites select their rows.
    """

    scored: ScoredSentence
    suite: str = ""
    item: str = ""
    condition: str = ""
    unseen: frozenset[str] = frozenset()
    cells: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRun:
    """The sentences of one run of a table, in order; names are empty if the table has none."""

    run: str = ""
    model: str = ""
    corpus: str = ""
    seed: str = ""
    sentences: list[TableSentence] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTable:
    """A table of surprisals; ``words`` tells whether it contains the words."""

    path: Path
    unit: StatedUnit
    is_own: bool
    words: bool
    runs: tuple[TableRun, ...]


def read_words(
    path: Path,
    rules: PairingRules,
    columns: Mapping[str, str],
    usual: Mapping[str, str] | None = None,
    selecting: Sequence[str] = (),
) -> TokenTable:
    """Read a table of any of these forms; values are in its unit, edge tokens are kept.

    ``columns`` must be in the table; ``usual`` are further names, which need not be, nor need the
    columns ``selecting`` by which suites are told apart.
    """
    if unknown := [role for role in columns if role not in ROLES]:
        raise InputError(
            f"columns: {unknown[0]!r} is unknown", path=path, remedy=f"known: {', '.join(ROLES)}"
        )
    width = _width_without_header(path)
    if width and not columns:
        return _without_header(path, width, rules)
    table = read_csv_table(path)
    found = {role: name for role, name in (usual or {}).items() if name in table.header}
    given = {**{role: name for role, name in found.items() if role in ROLES}, **columns}
    named = {role: _column(role, table, given) for role in ROLES}
    if named["surprisal"] is None:
        raise _lacks(path, table, "surprisal")
    if named["word"] is None and rules.words:
        raise _lacks(path, table, "word")
    runs: dict[tuple[str, ...], TableRun] = {}
    # Materials may be selected by a column that names runs here, such as the rows of one model.
    runs_of = {named[role] for role in ("run", "model", "corpus", "seed")}
    kept = [name for name in selecting if name in table.header and name not in runs_of]
    for group in _grouped(table, named, kept):
        one = replace(
            _table_sentence(group, named, path), cells={name: group[0][1][name] for name in kept}
        )
        first = group[0][1]
        key = tuple(_cell(first, named[role]) for role in ("run", "model", "corpus", "seed"))
        run, model, corpus, seed = key
        new = TableRun(run=run, model=model, corpus=corpus, seed=seed)
        runs.setdefault(key, new).sentences.append(one)
    return TokenTable(
        path=path,
        unit=stated_unit(named["surprisal"], rules, path),
        is_own=named["surprisal"] == OWN_COLUMN and named["word"] == "word",
        words=named["word"] is not None,
        runs=tuple(runs.values()),
    )


def is_token_table(path: Path) -> bool:
    """Whether the header of a file has a column of surprisals, or the file needs none."""
    try:
        if _width_without_header(path):
            return True
        table = read_csv_table(path)
    except InputError:
        return False
    return table.column(ROLES["surprisal"]) is not None


_Rows = list[tuple[int, Mapping[str, str]]]


def _column(role: str, table: CsvTable, columns: Mapping[str, str]) -> str | None:
    if role in columns:
        if columns[role] not in table.header:
            raise InputError(
                f"has no column {columns[role]!r}",
                path=table.path,
                line=table.line,
                remedy=f"its columns: {', '.join(table.header)}",
            )
        return columns[role]
    return table.column(ROLES[role])


def _lacks(path: Path, table: CsvTable, role: str) -> InputError:
    usual = f"name it, as in 'columns={{{role}: NAME}}'; its columns: {', '.join(table.header)}"
    remedy = f"usual names are {', '.join(ROLES[role])}; {usual}"
    if role == "word":
        remedy += "; words=false accepts tables without words"
    problem = f"the header has no column for the {role}"
    return InputError(problem, path=path, line=table.line, remedy=remedy)


def _cell(row: Mapping[str, str], column: str | None) -> str:
    return "" if column is None else row[column].strip()


def _grouped(
    table: CsvTable, named: Mapping[str, str | None], selecting: Sequence[str]
) -> Iterator[_Rows]:
    """Yield the rows of each sentence, which must be consecutive unless words are numbered."""
    whose = [*(named[role] for role in ("run", "model", "corpus", "seed", "suite")), *selecting]
    which = [named[role] for role in ("sentence", "item", "condition", "variant")]
    # Without numbers, the words of a sentence are told apart by edge tokens or by lengths.
    is_numbered = named["sentence"] is not None or named["item"] is not None
    keys = [name for name in (*whose, *(which if is_numbered else ())) if name is not None]
    is_single = named["sentence"] is not None or named["variant"] is not None
    groups: dict[tuple[str, ...], _Rows] = {}
    for key, group in itertools.groupby(
        table.rows, key=lambda row: tuple(_cell(row[1], name) for name in keys)
    ):
        rows = list(group)
        if key in groups and named["word_id"] is None:
            shown = ", ".join(f"{name} {text}" for name, text in zip(keys, key, strict=True))
            raise InputError(
                f"rows of one sentence ({shown}) are not together, or a sentence occurs twice",
                path=table.path,
                line=rows[0][0],
            )
        groups.setdefault(key, []).extend(rows)
    for rows in groups.values():
        yield from [rows] if is_single else _variants(rows, named["word_id"])


def _variants(rows: _Rows, column: str | None) -> Iterator[_Rows]:
    """Yield the sentences of an item and condition, each of which counts its words anew."""
    first = _cell(rows[0][1], column)
    starts = [n for n, (_, row) in enumerate(rows) if column and _cell(row, column) == first]
    for start, end in itertools.pairwise([*(starts or [0]), len(rows)]):
        yield rows[start:end]


def _table_sentence(rows: _Rows, named: Mapping[str, str | None], path: Path) -> TableSentence:
    _check_numbers(rows, named["word_id"], path)
    column = named["surprisal"]
    assert column is not None
    tokens = tuple(_cell(row, named["word"]) for _, row in rows)
    values = tuple(_value(row[column], path, line) for line, row in rows)
    unseen = frozenset(
        _cell(row, named["word"])
        for line, row in rows
        if named["seen"] is not None and not _is_seen(_cell(row, named["seen"]), path, line)
    )
    first = rows[0][1]
    return TableSentence(
        scored=ScoredSentence(tokens, values, rows[0][0]),
        suite=_cell(first, named["suite"]),
        item=_cell(first, named["item"]),
        condition=_cell(first, named["condition"]),
        unseen=unseen,
    )


def _value(text: str, path: Path, line: int) -> float:
    """Return a surprisal; NaN for a word that was not scored."""
    return math.nan if text.strip().lower() in _MISSING else number_of(text, path, line)


def _is_seen(text: str, path: Path, line: int) -> bool:
    if text.lower() not in _SEEN:
        raise InputError(f"seen is {text!r}, not 1 or 0", path=path, line=line)
    return _SEEN[text.lower()]


def _check_numbers(rows: _Rows, column: str | None, path: Path) -> None:
    """Refuse sentences whose words are not numbered one by one."""
    if column is None:
        return
    numbers = [_cell(row, column) for _, row in rows]
    for (line, _), before, after in zip(rows[1:], numbers, numbers[1:], strict=False):
        if not (is_count(before) and is_count(after) and int(after) == int(before) + 1):
            problem = f"{column} is {after!r} after {before!r}"
            raise InputError(problem, path=path, line=line, remedy="words count one by one")


def _width_without_header(path: Path) -> int:
    """Return the number of columns (1 or 2) of a file without a header, else 0."""
    for text in read_lines(path):
        if text.strip() and not text.startswith("#"):
            fields = _fields(text)
            return len(fields) if len(fields) <= 2 and is_number(fields[-1]) else 0
    raise InputError("is empty", path=path)


def _fields(text: str) -> list[str]:
    """Divide a line without a header at spaces, else at its last comma or semicolon."""
    fields = text.split()
    if len(fields) > 1 or is_number(text):
        return fields
    token, separator, number = text.strip().rpartition(";" if ";" in text else ",")
    return [token.strip('"') or separator, number] if separator else fields


def _without_header(path: Path, width: int, rules: PairingRules) -> TokenTable:
    if width == 1 and rules.words:
        raise InputError(
            "contains numbers without words, which cannot be compared with the suite",
            path=path,
            remedy="add the words, or set words=false to accept the numbers in their order",
        )
    tokens, values, first = [], [], 0
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip() or text.startswith("#"):
            continue
        fields = _fields(text)
        if len(fields) != width:
            problem = f"{len(fields)} columns, but other lines have {width}"
            raise InputError(problem, path=path, line=line)
        tokens.append(fields[0] if width == 2 else "")
        values.append(number_of(fields[-1], path, line))
        first = first or line
    sentence = TableSentence(scored=ScoredSentence(tuple(tokens), tuple(values), first))
    return TokenTable(
        path=path,
        unit=stated_unit("", rules, path),
        is_own=False,
        words=width == 2,
        runs=(TableRun(sentences=[sentence]),),
    )


def cut_sentences(
    whole: ScoredSentence, lengths: Sequence[int], path: Path
) -> list[ScoredSentence]:
    """Divide the words of a file at edge tokens or, without any, into sentences of these lengths.

    Lines are counted from the first word, one word per line.
    """
    spans = sentence_spans(whole.tokens, lengths, path)
    return [
        ScoredSentence(whole.tokens[start:end], whole.values[start:end], whole.line + start)
        for start, end in spans
    ]
