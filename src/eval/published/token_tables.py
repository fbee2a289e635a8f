"""Tables with one row per word, as other programs write them.

Tables are separated by tabs, commas or semicolons and have a header; ``columns`` maps what a column
holds (its role) to the name that it has, if this is not one of the usual names. Files without a
header have two columns, token and surprisal, or one column of surprisals.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from gardenpath.data.readers.base import SurprisalForm, Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.checks import StatedUnit, stated_unit
from gardenpath.eval.published.files import (
    PairingRules,
    ScoredSentence,
    is_number,
    number_of,
    read_lines,
    sentence_spans,
)
from gardenpath.eval.suites.nodes import CsvTable, read_csv_table
from gardenpath.eval.suites.regions import is_edge, is_unknown
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.store.files import read_text
from gardenpath.util import is_count

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


# ----------------------------------------------------------------------------
# Sentences as other programs scored them, before they are paired with materials.


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSentence:
    """A sentence of a file; its values are in the unit of the file, NaN where there is none.

    ``number`` counts the sentences of the file from 1. ``text`` is the sentence where the file says
    it beside the tokens. ``is_first_hidden``: the first token is not in the file; it is a mark for
    the beginning, or the beginning of the first word. ``item`` and ``condition`` are empty unless
    the file has them.
    """

    number: int
    scored: ScoredSentence
    text: str = ""
    is_first_hidden: bool = False
    item: str = ""
    condition: str = ""

    @property
    def place(self) -> str:
        """The sentence in messages."""
        return f"sentence {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignFile:
    """The sentences of a file.

    ``is_whole``: whether the file has one number per sentence; ``is_by_text``: whether sentences
    are found by their text and not by their order.
    """

    path: Path
    form: SurprisalForm
    unit: StatedUnit
    sentences: tuple[ForeignSentence, ...]
    is_whole: bool = False
    is_by_text: bool = True


def form_unit(form: SurprisalForm, usual: Unit, given: Unit | None) -> StatedUnit:
    """Return the unit of a form, or the one that the user states."""
    if given is None:
        return StatedUnit(unit=usual, source=f"the form {form}")
    return StatedUnit(unit=given, source="unit=")


def numbered(sentences: Iterable[ScoredSentence]) -> tuple[ForeignSentence, ...]:
    """Return the sentences of a table."""
    return tuple(
        ForeignSentence(number=number, scored=one) for number, one in enumerate(sentences, start=1)
    )


def without_blanks(parts: Iterable[str]) -> str:
    """Return the characters of a text, by which sentences are compared."""
    return "".join("".join(parts).split())


# ----------------------------------------------------------------------------
# Files of JSON, as one document or one document per line.


JsonObject = Mapping[str, Any]


def is_json(path: Path) -> bool:
    """Whether a file begins as JSON does: with a bracket, and not as a table of words does."""
    try:
        start = read_text(path).removeprefix("\N{BYTE ORDER MARK}").lstrip()[:200]
    except InputError:
        return False
    # The first word of a table without a header may be a bracket.
    return start[:1] in ("{", "[") and start[1:].lstrip()[:1] in ("{", "[", '"', "]", "}")


def read_documents(path: Path) -> list[Any]:
    """Return the documents of a file; a list that contains all of them counts as several."""
    text = read_text(path).removeprefix("\N{BYTE ORDER MARK}")
    try:
        content = parse_json(text)
    except MalformedTextError as whole:
        lines = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
        if len(lines) < 2:
            raise InputError(whole.problem, path=path, line=whole.line) from whole
        return [_line(line, number, path) for number, line in lines]
    return content if isinstance(content, list) else [content]


def _line(text: str, number: int, path: Path) -> Any:
    try:
        return parse_json(text)
    except MalformedTextError as error:
        raise InputError(error.problem, path=path, line=number) from error


def read_records(path: Path) -> list[JsonObject]:
    """Return the objects of a file, one for each sentence, request or response."""
    found = read_documents(path)
    for number, one in enumerate(found, start=1):
        if not isinstance(one, Mapping):
            raise InputError(f"document {number} is not an object", path=path)
    return found


def log_prob(value: object, path: Path, sentence: int) -> float:
    """Return a number that a program wrote as a number or as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        problem = f"sentence {sentence}: {value!r} is not a number"
        raise InputError(problem, path=path, line=sentence)
    if isinstance(value, str) and not is_number(value):
        problem = f"sentence {sentence}: {value[:50]!r} is not a number"
        raise InputError(problem, path=path, line=sentence)
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, float(str(value)[:1] == "-") * -2 + 1)


def list_of(record: JsonObject, key: str, path: Path, sentence: int) -> Sequence[Any]:
    """Return a list of a record."""
    found = record.get(key)
    if not isinstance(found, list):
        problem = f"sentence {sentence}: {key} is not a list"
        raise InputError(problem, path=path, line=sentence)
    return found


def text_of(value: object, what: str, path: Path, sentence: int) -> str:
    """Return a text of a record."""
    if not isinstance(value, str):
        problem = f"sentence {sentence}: {what} is not text"
        raise InputError(problem, path=path, line=sentence)
    return value


# ----------------------------------------------------------------------------
# The characters of tokens as vocabularies spell them.
#
# Vocabularies over bytes spell every byte by a printable character (``Ġ`` is a blank, ``Ã©`` is
# *é*); vocabularies with byte fallback write ``<0xE4>``, and some servers ``bytes:\xe4``. A token
# may end within a character. Such tokens are joined with those that follow them until the
# character is complete; their values are added, so that no number is attributed to half a
# character.


_BLANK = "Ġ"
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_ESCAPED = re.compile(r"bytes:((?:\\x[0-9A-Fa-f]{2})+)")
_REPLACEMENT = "\ufffd"


@cache
def byte_alphabet() -> dict[str, int]:
    """Return the byte of each character of the alphabet of GPT-2.

    Printable bytes are spelt by themselves, all others by the characters from U+0100 on, in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in set(printable)]
    found = {chr(byte): byte for byte in printable}
    found.update({chr(0x100 + place): byte for place, byte in enumerate(others)})
    return found


def is_byte_level(sentences: Iterable[Sequence[str]]) -> bool:
    """Whether the tokens of a file are spelt in the alphabet of bytes, with at least one blank."""
    has_blank = False
    for tokens in sentences:
        for token in tokens:
            if is_edge(token) or is_unknown(token):
                continue
            if any(char not in byte_alphabet() for char in token):
                return False
            has_blank = has_blank or _BLANK in token
    return has_blank


def readable(
    tokens: Sequence[str], values: Sequence[float], *, byte_level: bool
) -> tuple[tuple[str, ...], tuple[float, ...]] | None:
    """Return tokens of whole characters and their values; None if bytes are not UTF-8 text."""
    texts: list[str] = []
    sums: list[float] = []
    pending = b""
    begun = 0.0
    for token, value in zip(tokens, values, strict=True):
        content = _content(token, byte_level=byte_level)
        if content is None:
            if pending:
                return None
            texts.append(token)
            sums.append(value)
            continue
        pending += content
        begun = begun + value if len(pending) > len(content) else value
        text = _decoded(pending)
        if text is not None:
            texts.append(text)
            sums.append(begun)
            pending = b""
        elif not _may_continue(pending):
            return None
    return None if pending else (tuple(texts), tuple(sums))


def _content(token: str, *, byte_level: bool) -> bytes | None:
    """Return the bytes of a token; None for tokens that are not text, and those that are whole."""
    if is_edge(token) or is_unknown(token):
        return None
    if byte_level:
        return bytes(byte_alphabet()[char] for char in token)
    if found := _BYTE.fullmatch(token):
        return bytes.fromhex(found[1])
    if found := _ESCAPED.fullmatch(token):
        return bytes.fromhex(found[1].replace("\\x", ""))
    return token.encode("utf-8", "surrogatepass")


def _decoded(content: bytes) -> str | None:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _may_continue(content: bytes) -> bool:
    """Whether the bytes are text up to a character that is not complete."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def readable_sentences(
    sentences: Sequence[ForeignSentence], path: Path
) -> tuple[ForeignSentence, ...]:
    """Return sentences with readable tokens; those that cannot be read are refused."""
    byte_level = is_byte_level(one.scored.tokens for one in sentences)
    found = []
    for one in sentences:
        scored = one.scored
        for token in scored.tokens:
            if _REPLACEMENT in token:
                raise InputError(
                    f"{one.place}: token {token!r} is a part of a character that is not shown",
                    path=path,
                    line=scored.line,
                    remedy="write the tokens of the vocabulary, not their decoded text",
                )
        parts = readable(scored.tokens, scored.values, byte_level=byte_level)
        if parts is None:
            raise InputError(
                f"{one.place}: {' '.join(scored.tokens[:8])!r} … does not end with a character",
                path=path,
                line=scored.line,
            )
        found.append(replace(one, scored=replace(scored, tokens=parts[0], values=parts[1])))
    return tuple(found)
