"""The file of a table in a run folder: log probabilities of the words of sentences.

JSON Lines: first an object that says where the numbers come from, then one object per sentence with
its ``words`` and its ``log_probs`` in nats, those of the words and that of the end of the sentence.
NaN is null, and a probability of zero is ``"-Infinity"``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from gardenpath.data.words.boundaries import Boundary
from gardenpath.errors import InputError
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.store.files import read_text, whole_file
from gardenpath.text import Words

_KIND = "word_table"
_FORMAT = 1
_INFINITE = "-Infinity"

# By how many nats a log probability may lie above zero: a beam search may find more of the
# probability of a longer beginning.
_LARGEST_LOG_PROB = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOrigin:
    """Where the numbers of a table come from.

    ``source`` is the path of the file, ``sha256`` its checksum; ``form`` and ``unit`` are those of
    the file. ``boundary`` is None if the units are words. ``notes`` are for readers of the results.
    """

    source: str
    sha256: str
    form: str
    unit: str
    boundary: Boundary | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTable:
    """Log probabilities (nats) of the words of sentences and, last, of their ends; NaN if none."""

    origin: TableOrigin
    sentences: Mapping[Words, tuple[float, ...]] = field(default_factory=dict)


def write_word_table(path: Path, table: WordTable) -> None:
    """Write a table, whole or not at all."""
    header = {"kind": _KIND, "format": _FORMAT, **asdict(table.origin)}
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(_line(header))
        for words, log_probs in table.sentences.items():
            file.write(_line({"words": words, "log_probs": [_written(one) for one in log_probs]}))


def _line(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _written(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return _INFINITE if value == -math.inf else value


def is_word_table(path: Path) -> bool:
    """Whether a file is one that :func:`write_word_table` wrote, by its first line."""
    try:
        with path.open(encoding="utf-8") as file:
            first = parse_json(file.readline(100_000))
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and first.get("kind") == _KIND


def read_word_table(path: Path) -> WordTable:
    """Read a table; sentences that occur twice and numbers that are no log probabilities fail."""
    documents = _documents(path)
    _, header = next(documents, (1, None))
    origin = _sentence_origin(header, path)
    sentences: dict[Words, tuple[float, ...]] = {}
    for line, content in documents:
        words, log_probs = _sentence(content, path, line)
        if words in sentences:
            raise InputError(f"{' '.join(words)!r} occurs twice", path=path, line=line)
        sentences[words] = log_probs
    return WordTable(origin=origin, sentences=sentences)


def _documents(path: Path) -> Iterator[tuple[int, Any]]:
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if text.strip():
            try:
                yield line, parse_json(text)
            except MalformedTextError as error:
                raise InputError(error.problem, path=path, line=line) from error


def _sentence_origin(header: Any, path: Path) -> TableOrigin:
    remedy = "adopt it with task=adopt model=table"
    if not isinstance(header, dict) or (header.get("kind"), header.get("format")) != (
        _KIND,
        _FORMAT,
    ):
        problem = "is not a table of log probabilities of words"
        raise InputError(problem, path=path, line=1, remedy=remedy)
    texts = [header.get(key) for key in ("source", "sha256", "form", "unit")]
    boundary, notes = header.get("boundary"), header.get("notes")
    if (
        not all(isinstance(text, str) for text in texts)
        or boundary not in (None, *get_args(Boundary))
        or not isinstance(notes, list)
        or not all(isinstance(note, str) for note in notes)
    ):
        raise InputError("its first line is not complete", path=path, line=1, remedy=remedy)
    source, sha256, form, unit = map(str, texts)
    return TableOrigin(
        source=source,
        sha256=sha256,
        form=form,
        unit=unit,
        boundary=cast("Boundary | None", boundary),
        notes=tuple(notes),
    )


def _sentence(content: Any, path: Path, line: int) -> tuple[Words, tuple[float, ...]]:
    if not isinstance(content, dict) or set(content) != {"words", "log_probs"}:
        raise InputError("is not an object with words and log_probs", path=path, line=line)
    words, values = content["words"], content["log_probs"]
    if not isinstance(words, list) or not words or not all(map(_is_word, words)):
        raise InputError("words are not a list of words", path=path, line=line)
    if not isinstance(values, list) or len(values) != len(words) + 1:
        problem = f"log_probs are not {len(words) + 1} numbers, of the words and of the end"
        raise InputError(problem, path=path, line=line)
    return tuple(words), tuple(_read(value, path, line) for value in values)


def _is_word(word: object) -> bool:
    return isinstance(word, str) and word != "" and not any(char.isspace() for char in word)


def _read(value: Any, path: Path, line: int) -> float:
    if value is None:
        return math.nan
    if value == _INFINITE:
        return -math.inf
    if type(value) not in (int, float) or not -math.inf < value <= _LARGEST_LOG_PROB:
        raise InputError(f"{str(value)[:50]} is not a log probability", path=path, line=line)
    return float(value)
