"""Kinds of files that are not plain text, recognised by their first bytes."""

from __future__ import annotations

from pathlib import Path

from gardenpath.encodings import how_to_convert, marked_encoding, zeros_encoding
from gardenpath.errors import InputError

# Beginnings of files, what they are, and what to do with them.
_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "a gzip archive", "unpack it with gunzip"),
    (b"BZh", "a bzip2 archive", "unpack it with bunzip2"),
    (b"\xfd7zXZ\x00", "an xz archive", "unpack it with unxz"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it with unzstd"),
    (b"PK\x03\x04", "a zip archive or an Excel or Word document", "save its text as a .txt file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word document", "save its text as a .txt file"),
    (b"%PDF", "a PDF document", "save its text as a .txt file"),
    (b"PAR1", "a Parquet table", "write its sentences to a text file, one per line"),
    (b"SQLite format 3\x00", "an SQLite database", "write its sentences to a text file"),
    (b"\x89PNG", "an image", "name a text file"),
)
_HEAD = 64


def binary_kind(head: bytes, path: str | Path | None = None) -> tuple[str, str] | None:
    """Return what a file is that begins with these bytes, and a remedy; None if it may be text.

    ``path`` is the file, or None for standard input.
    """
    if encoding := marked_encoding(head):
        return f"{encoding} text", how_to_convert(encoding, path)
    for beginning, kind, remedy in _BEGINNINGS:
        if head.startswith(beginning):
            return kind, remedy
    if b"\x00" not in head:
        return None
    if encoding := zeros_encoding(head):
        return "UTF-16 text without a byte order mark", how_to_convert(encoding, path)
    return "binary data", "name a text file"


def require_text(path: Path, *, encoding: str = "utf-8") -> None:
    """Raise an error if a file that should be UTF-8 text is an archive, a document or the like."""
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig"):
        return
    try:
        with path.open("rb") as file:
            found = binary_kind(file.read(_HEAD), path)
    except OSError:
        return  # whoever opens the file says what is wrong
    if found is not None:
        wanted = "UTF-8 text" if " text" in found[0] else "text"
        raise InputError(f"is {found[0]}, not {wanted}", path=path, remedy=found[1])
