"""Kinds of files that are not plain text, recognised by their first bytes."""

from __future__ import annotations

from pathlib import Path

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
    # UTF-32 begins like UTF-16, so it goes first.
    (b"\xff\xfe\x00\x00", "UTF-32 text", "convert it with iconv -f UTF-32 -t UTF-8"),
    (b"\x00\x00\xfe\xff", "UTF-32 text", "convert it with iconv -f UTF-32 -t UTF-8"),
    (b"\xff\xfe", "UTF-16 text", "convert it with iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "convert it with iconv -f UTF-16 -t UTF-8"),
)
_HEAD = 64


def binary_kind(head: bytes) -> tuple[str, str] | None:
    """Return what a file is that begins with these bytes, and a remedy; None if it may be text."""
    for beginning, kind, remedy in _BEGINNINGS:
        if head.startswith(beginning):
            return kind, remedy
    if b"\x00" not in head:
        return None
    # Every second byte of Latin text in UTF-16 is zero.
    if head[1::2].count(0) * 2 > len(head[1::2]) or head[::2].count(0) * 2 > len(head[::2]):
        return "UTF-16 text without a byte order mark", "convert it with iconv to UTF-8"
    return "binary data", "name a text file"


def require_text(path: Path, *, encoding: str = "utf-8") -> None:
    """Raise an error if a file that should be UTF-8 text is an archive, a document or the like."""
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig"):
        return
    try:
        with path.open("rb") as file:
            found = binary_kind(file.read(_HEAD))
    except OSError:
        return  # whoever opens the file says what is wrong
    if found is not None:
        raise InputError(f"is {found[0]}, not text", path=path, remedy=found[1])
