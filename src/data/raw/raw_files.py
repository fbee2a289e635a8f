"""Files of raw text and their lines, decoded line by line, so that damage stays local."""

from __future__ import annotations

import glob
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from gardenpath.data.file_kinds import binary_kind
from gardenpath.data.raw.raw_settings import RawSettings
from gardenpath.data.readers.pieces import Piece
from gardenpath.data.words.unknown_words import Language
from gardenpath.errors import GardenpathError, InputError

_HEAD = 64
_GZIP = b"\x1f\x8b"
# Longest line in bytes; longer ones are no text that anybody wrote.
LONGEST_LINE = 16_000_000
_MARKS = str.maketrans(dict.fromkeys(range(32), " ") | {127: " ", 0: None, 0xFEFF: None})


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line of a file; ``problem`` says what is wrong with its bytes, or is empty."""

    number: int
    text: str
    problem: str = ""


def input_files(named: str | Sequence[str]) -> list[Path]:
    """Return the files that are named: files, patterns with ``*``, or folders with all below.

    They are sorted by name within a pattern or folder; a file that is named twice is read once.
    """
    found: dict[Path, None] = {}
    for name in [named] if isinstance(named, str) else named:
        paths = _matching(name)
        if not paths:
            raise GardenpathError(
                f"input={name}: no such file, and no folder or pattern with files; name files of "
                "raw text, as in input=news or 'input=news/*.sgm.gz'"
            )
        found |= dict.fromkeys(paths)
    return list(found)


def _matching(name: str) -> list[Path]:
    path = Path(name)
    if path.is_file():
        return [path]
    if path.is_dir():
        below = (one for one in path.rglob("*") if one.is_file())
        hidden = {one: one.relative_to(path).parts for one in below}
        return sorted(one for one, parts in hidden.items() if not _is_hidden(parts))
    # Not Path.glob, which takes no absolute patterns.
    found = map(Path, glob.glob(name, recursive=True))  # noqa: PTH207
    return sorted(one for one in found if one.is_file())


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith(".") for part in parts)


def chosen_encoding(path: Path, settings: RawSettings, language: Language) -> str:
    """Return the encoding in which most lines of a file can be decoded; the first if equal."""
    encodings = settings.encodings(language)
    if len(encodings) == 1:
        return encodings[0]
    failures = dict.fromkeys(encodings, 0)
    for _, line in _byte_lines(Piece(path)):
        for encoding in encodings:
            failures[encoding] += not _is_text(line, encoding)
    return min(encodings, key=lambda one: failures[one])


def raw_lines(piece: Piece, *, encoding: str, broken: str) -> Iterator[RawLine]:
    """Yield the lines of a file or of a part of it, without the marks of line ends.

    Control characters become blanks; NUL bytes and byte order marks are removed.
    """
    for number, content in _byte_lines(piece):
        try:
            yield RawLine(number, content.decode(encoding).translate(_MARKS))
        except UnicodeDecodeError as error:
            problem = f"not {encoding} at byte {error.start + 1}"
            if broken == "error":
                raise InputError(
                    problem,
                    path=piece.path,
                    line=number,
                    remedy="set task.raw.encoding, or task.raw.broken=skip or replace",
                ) from error
            text = content.decode(encoding, "replace") if broken == "replace" else ""
            yield RawLine(number, text.translate(_MARKS), problem)


def first_lines(path: Path, count: int, encoding: str) -> list[str]:
    """Return the first lines of a file; what cannot be decoded is replaced."""
    found = []
    for number, content in _byte_lines(Piece(path)):
        found.append(content.decode(encoding, "replace").translate(_MARKS))
        if number >= count:
            break
    return found


def is_compressed(path: Path) -> bool:
    """Whether a file is compressed with gzip, whatever its name is."""
    try:
        with path.open("rb") as file:
            return file.read(len(_GZIP)) == _GZIP
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error


def require_raw_text(path: Path) -> None:
    """Raise an error if a file is a document, an archive of another kind, or UTF-16."""
    with _opened(Piece(path)) as file:
        found = binary_kind(file.read(_HEAD), path)
    if found is not None and found[0] != "binary data":  # a NUL byte occurs in real newswire
        raise InputError(f"is {found[0]}, not text", path=path, remedy=found[1])


def _is_text(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _byte_lines(piece: Piece) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers; lines end with LF, CR LF or CR."""
    number = piece.first_line
    with _opened(piece) as file:
        left = piece.size
        while left is None or left > 0:
            content = file.readline(LONGEST_LINE if left is None else min(LONGEST_LINE, left))
            if not content:
                return
            if left is not None:
                left -= len(content)
            for line in content.removesuffix(b"\n").removesuffix(b"\r").split(b"\r"):
                yield number, line
                number += 1


@contextmanager
def _opened(piece: Piece) -> Iterator[IO[bytes]]:
    """Open a file at the beginning of a piece; damage of compressed files is an error of input."""
    path = piece.path
    try:
        if is_compressed(path):
            with gzip.open(path, "rb") as unpacked:
                yield cast(IO[bytes], unpacked)
        else:
            with path.open("rb") as file:
                file.seek(piece.begin)
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        remedy = "copy it again; test it with gzip -t"
        raise InputError(f"is damaged: {error}", path=path, remedy=remedy) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
