"""Passages: paragraphs of raw files, which sentences never cross, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gardenpath.data.raw.raw_files import RawLine, first_lines, raw_lines, require_raw_text
from gardenpath.data.raw.raw_settings import RawSettings
from gardenpath.data.raw.sgml import is_sgml, sgml_lines
from gardenpath.data.readers.pieces import Piece
from gardenpath.data.trees.tree_lines import is_tree
from gardenpath.errors import InputError

# Lines of a file by which its format is decided.
_LOOKED_AT = 50

_IDEOGRAPHIC_SPACE = "\u3000"


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph: its lines with their numbers, and the line on which its document begins."""

    lines: tuple[tuple[int, str], ...]
    document: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that was left out: the line, the reason, and more about it."""

    line: int
    reason: str
    detail: str = ""


def format_of(path: Path, settings: RawSettings, encoding: str) -> str:
    """Return whether a file is ``text`` or ``sgml``; raise an error if it is no raw text."""
    require_raw_text(path)
    head = first_lines(path, _LOOKED_AT, encoding)
    if is_tree("\n".join(head)):
        raise InputError(
            "contains bracketed trees, not raw text", path=path, remedy="read it with data=brackets"
        )
    if settings.format != "auto":
        return settings.format
    return "sgml" if is_sgml(head) else "text"


def read_passages(
    piece: Piece, settings: RawSettings, *, encoding: str, format: str
) -> Iterator[Passage | LeftOut]:
    """Yield the passages of a file or of a part of it, and what was left out."""
    problems: list[LeftOut] = []
    lines = _noting(raw_lines(piece, encoding=encoding, broken=settings.broken), settings, problems)
    if format == "sgml":
        yield from _sgml_passages(lines, settings, problems)
    else:
        yield from _plain_passages(lines, settings, problems)
    yield from problems


def _noting(
    lines: Iterable[RawLine], settings: RawSettings, problems: list[LeftOut]
) -> Iterator[tuple[int, str]]:
    """Yield lines; note broken ones, which are empty if they are left out."""
    for line in lines:
        if line.problem:
            done = "replaced" if settings.broken == "replace" else "line left out"
            problems.append(LeftOut(line.number, "broken bytes", f"{line.problem}; {done}"))
        yield line.number, line.text


def _plain_passages(
    lines: Iterable[tuple[int, str]], settings: RawSettings, problems: list[LeftOut]
) -> Iterator[Passage | LeftOut]:
    gathered: list[tuple[int, str]] = []
    for number, text in lines:
        if settings.paragraphs == "lines" or not text.strip() or _is_indented(text):
            yield from _passage(gathered)
            gathered = []
        if text.strip():
            gathered.append((number, text))
        yield from _taken(problems)
    yield from _passage(gathered)


def _sgml_passages(
    lines: Iterable[tuple[int, str]], settings: RawSettings, problems: list[LeftOut]
) -> Iterator[Passage | LeftOut]:
    gathered: list[tuple[int, str]] = []
    document = 1
    has_text = False
    for found in sgml_lines(lines, settings):
        if found.text is None or not found.text.strip() or _is_indented(found.text):
            has_text = has_text or bool(gathered)
            yield from _passage(gathered, document)
            gathered = []
        if found.document is not None:
            document = found.document
        if found.text is not None and found.text.strip():
            gathered.append((found.line, found.text))
        yield from _taken(problems)
    has_text = has_text or bool(gathered)
    yield from _passage(gathered, document)
    if not has_text:
        tags = ", ".join(f"<{tag}>" for tag in settings.text_tags) or "tags"
        yield LeftOut(1, "no text", f"nothing in {tags}; set task.raw.text_tags")


def _is_indented(text: str) -> bool:
    """Whether a line begins a Chinese paragraph: it is indented by a full-width blank."""
    return text.startswith(_IDEOGRAPHIC_SPACE)


def _passage(lines: list[tuple[int, str]], document: int | None = None) -> Iterator[Passage]:
    if lines:
        yield Passage(tuple(lines), lines[0][0] if document is None else document)


def _taken(problems: list[LeftOut]) -> Iterator[LeftOut]:
    """Yield the problems noted so far, in the order of their lines, and forget them."""
    yield from problems
    problems.clear()
