"""Pieces of corpora that can be read on their own: files, or parts of large files.

A large file is cut at ends of lines; files of brackets only where no bracket is open. The cuts
depend on the file alone, and the sentences of the pieces are those of the file, with the same line
numbers.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gardenpath.errors import InputError

# Size of the pieces of large files, in bytes.
PIECE_BYTES = 2_000_000

# In these encodings, the bytes of line ends and brackets have no other meaning.
_PLAIN = {"utf-8", "ascii", "iso8859-1", "gb2312", "gbk", "gb18030", "big5"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A file or, if ``size`` is given, the bytes of a file from ``begin`` on."""

    path: Path
    begin: int = 0
    size: int | None = None
    first_line: int = 1

    @property
    def part(self) -> tuple[int, int] | None:
        """The position and size of a part of a file; None for a whole file."""
        return None if self.size is None else (self.begin, self.size)

    @property
    def byte_count(self) -> int:
        """Number of bytes."""
        return self.path.stat().st_size if self.size is None else self.size


def cut_file(path: Path, *, encoding: str, is_bracketed: bool) -> Iterator[Piece]:
    """Yield the pieces of a file, in order; a small file is one piece."""
    if path.stat().st_size <= PIECE_BYTES or not _is_plain(encoding):
        yield Piece(path)
        return
    begin, line = 0, 1
    try:
        with path.open("rb") as file:
            while (found := _next_piece(file, is_bracketed))[0]:
                size, lines = found
                yield Piece(path, begin, size, line)
                begin += size
                line += lines
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error


def _next_piece(file: IO[bytes], is_bracketed: bool) -> tuple[int, int]:
    """Read up to the next cut; return the numbers of bytes and of ends of lines."""
    content = file.read(PIECE_BYTES) + file.readline()
    size, lines, depth = len(content), _line_ends(content), _depth(content)
    # A file with too many closing brackets is not cut after them, so that its error is the same.
    while is_bracketed and depth != 0 and (content := file.readline()):
        size += len(content)
        lines += _line_ends(content)
        depth += _depth(content)
    return size, lines


def _depth(content: bytes) -> int:
    return content.count(b"(") - content.count(b")")


def _line_ends(content: bytes) -> int:
    """Count the ends of lines as Python does when it reads text: LF, CR LF or CR."""
    return content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n")


def _is_plain(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name in _PLAIN
    except LookupError:
        return False
