"""Files of JSON, as one document or one document per line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gardenpath.errors import InputError
from gardenpath.eval.published.surprisal_files import is_number
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.store.files import read_text

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
