"""Recognise tables, JSON, YAML and mark-up in what should be one sentence per line.

Recognition is by content. It must not reject text: commas and semicolons of text are followed by a
space or stand between digits, speakers (``Anna: …``) are not keys of nested YAML, and words in
square brackets are not JSON.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import islice, pairwise
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.safe_text import parse_json

# Lines of a file that are looked at.
_LOOKED_AT = 50
# Longest sentence in words; treebanks stay far below.
MOST_WORDS = 1000

_EXTENSIONS = {
    ".csv": "a CSV table",
    ".tsv": "a TSV table",
    ".json": "JSON",
    ".jsonl": "JSON",
    ".yaml": "YAML",
    ".yml": "YAML",
    ".xml": "XML",
    ".html": "HTML",
}
_SEPARATORS = {"\t": "a TSV table", ",": "a CSV table", ";": "a CSV table", "|": "a table"}
_MARKUP = re.compile(r"<\?xml|<!doctype|<html", re.IGNORECASE)
_JSON_OBJECT = re.compile(r'[{\[]\s*$|\[?\s*\{\s*"[^"]*"\s*:')
_YAML_LINE = re.compile(r"\s*(- |-$|[\w.-]+:(\s|$)|#)")
_YAML_KEY = re.compile(r"\s*(- )?[\w.-]+:\s*$")
# Line breaks that are not ends of lines, and so join sentences.
_OTHER_BREAKS = re.compile("[\u2028\u2029\x85]")


def require_sentences(lines: Sequence[str], *, path: str) -> None:
    """Raise an error if lines are not sentences of plain text, one per line."""
    kind = _EXTENSIONS.get(Path(path).suffix.lower()) or kind_of_lines(lines)
    if kind is not None:
        raise InputError(
            f"is {kind}, not sentences",
            path=path,
            remedy="write the sentences alone to a .txt file, one per line",
        )
    for number, line in enumerate(lines, start=1):
        if "\x00" in line:
            raise InputError(
                "contains NUL bytes, which text does not",
                path=path,
                line=number,
                remedy="name a text file, or convert it to UTF-8",
            )
        if found := _OTHER_BREAKS.search(line.strip()):
            raise InputError(
                f"contains the line separator U+{ord(found[0]):04X}, which joins sentences",
                path=path,
                line=number,
                remedy="replace it by an ordinary end of line",
            )
        if (words := len(line.split())) > MOST_WORDS:
            raise InputError(
                f"has {words:,} words; a sentence has at most {MOST_WORDS:,}",
                path=path,
                line=number,
                remedy="write one sentence per line",
            )


def kind_of_lines(lines: Sequence[str]) -> str | None:
    """Return what lines are that are not plain text; None if they may be."""
    filled = list(islice((line for line in lines if line.strip()), _LOOKED_AT))
    if not filled:
        return None
    if _MARKUP.match(filled[0].lstrip()):
        return "HTML or XML"
    if _is_json(filled):
        return "JSON"
    if _is_yaml(filled):
        return "YAML"
    body = [line.rstrip("\r\n") for line in filled if not line.startswith("#")]
    return next((kind for mark, kind in _SEPARATORS.items() if _is_table(body, mark)), None)


def _is_json(lines: Sequence[str]) -> bool:
    first = lines[0].strip()
    if not first.startswith(("{", "[")):
        return False
    if _JSON_OBJECT.match(first):
        return len(lines) > 1 or len(first) > 1
    try:
        content = parse_json(first)
    except (ValueError, RecursionError):
        return False
    return bool(content) and isinstance(content, dict | list)


def _is_yaml(lines: Sequence[str]) -> bool:
    """Whether most lines are entries of YAML, and some contain others."""
    entries = [bool(_YAML_LINE.match(line)) for line in lines]
    if not entries[0] or 2 * sum(entries) <= len(entries):
        return lines[0].rstrip() == "---" and len(lines) > 1
    nested = (
        _YAML_KEY.match(line) and (after[:1].isspace() or after.lstrip().startswith("- "))
        for line, after in pairwise(lines)
    )
    return any(nested)


def _is_table(lines: Sequence[str], mark: str) -> bool:
    """Whether all lines have the same number of fields, with a mark that text does not have."""
    if len(lines) < 2 or not _structural(lines[0], mark):
        return False
    try:
        counts = {len(row) for row in csv.reader(lines, delimiter=mark) if row}
    except csv.Error:
        return False
    return len(counts) == 1 and counts.pop() > 1


def _structural(line: str, mark: str) -> bool:
    """Whether each such mark in a line separates fields: no space around it, not in a number."""
    if mark not in line:
        return False
    if mark == "\t":
        return True
    parts = re.sub(r'"[^"]*"', '""', line).split(mark)
    pairs = list(pairwise(parts))
    return bool(pairs) and all(
        not before[-1:].isspace()
        and not after[:1].isspace()
        and not (before[-1:].isdigit() and after[:1].isdigit())
        for before, after in pairs
    )
