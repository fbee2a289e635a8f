"""Readers of surprisal files: our own table of words and SyntaxGym's table of tokens.

Both are tab-separated and have a header. Our own, which may start with ``#`` comments::

    run	sentence_id	word_id	word	seen	surprisal_bits

SyntaxGym's, with identifiers from 1::

    sentence_id	token_id	token	surprisal
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.suites.scoring.alignment import is_edge, is_unknown
from gardenpath.store.tables import WORD_SURPRISALS

# Tables of other programs need not contain the run or the model's input for a word.
_OWN_COLUMNS = tuple(name for name in WORD_SURPRISALS.names if name not in ("run", "seen_as"))
_TOKEN_COLUMNS = ("sentence_id", "token_id", "token", "surprisal")

_SEEN = {"1": True, "0": False, "true": True, "false": False, "yes": True, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredSentence:
    """The tokens of a sentence, their surprisals in bits, and whether they are in vocabulary."""

    run: str
    sentence_id: str
    tokens: tuple[str, ...]
    surprisal_bits: tuple[float, ...]
    seen: tuple[bool, ...]
    line: int


@dataclass(frozen=True, slots=True)
class _Row:
    run: str
    sentence_id: str
    token: str
    surprisal: float
    seen: bool
    line: int


def read_own_table(path: Path) -> list[ScoredSentence]:
    """Read our own table; ``run`` is empty if the table does not contain it."""
    return _sentences(_own_rows(path))


def read_token_table(path: Path) -> list[ScoredSentence]:
    """Read a table of tokens; tokens such as ``<unk>`` are out of vocabulary."""
    rows = (
        _Row(
            run="",
            sentence_id=fields["sentence_id"],
            token=fields["token"],
            surprisal=_number(fields["surprisal"], path, line),
            seen=not is_unknown(fields["token"]),
            line=line,
        )
        for line, fields in read_tabs(path, _TOKEN_COLUMNS)
    )
    return _sentences(rows)


def _own_rows(path: Path) -> Iterator[_Row]:
    for line, fields in read_tabs(path, _OWN_COLUMNS):
        seen = _SEEN.get(fields["seen"].lower())
        if seen is None:
            raise InputError(f"seen is {fields['seen']!r}, not 1 or 0", path=path, line=line)
        yield _Row(
            run=fields.get("run", ""),
            sentence_id=fields["sentence_id"],
            token=fields["word"],
            surprisal=_number(fields["surprisal_bits"], path, line),
            seen=seen,
            line=line,
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


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file without line endings."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as text: {error}", path=path) from error
    # Not splitlines, which also splits at other characters that may occur in words.
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _number(text: str, path: Path, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"surprisal {text!r} is not a number", path=path, line=line) from None


def _sentences(rows: Iterable[_Row]) -> list[ScoredSentence]:
    """Group consecutive rows with the same run and sentence into sentences."""
    groups: list[list[_Row]] = []
    for row in rows:
        last = groups[-1][0] if groups else None
        if last is None or (last.run, last.sentence_id) != (row.run, row.sentence_id):
            groups.append([])
        groups[-1].append(row)
    return [
        ScoredSentence(
            run=group[0].run,
            sentence_id=group[0].sentence_id,
            tokens=tuple(row.token for row in group),
            surprisal_bits=tuple(row.surprisal for row in group),
            seen=tuple(row.seen for row in group),
            line=group[0].line,
        )
        for group in groups
    ]


def without_edges(sentence: ScoredSentence) -> ScoredSentence:
    """Return the sentence without the tokens that mark its start and its end."""
    kept = [number for number, token in enumerate(sentence.tokens) if not is_edge(token)]
    return ScoredSentence(
        run=sentence.run,
        sentence_id=sentence.sentence_id,
        tokens=tuple(sentence.tokens[number] for number in kept),
        surprisal_bits=tuple(sentence.surprisal_bits[number] for number in kept),
        seen=tuple(sentence.seen[number] for number in kept),
        line=sentence.line,
    )
