"""Text files in a folder, or in an archive (zip, tar, tar.gz) that is read without unpacking.

Called by the reader of GUM and by suites that are published in many files. Nothing is written, so
no member of an archive can end up outside of a folder. Archives that no honest program would make
are refused all the same: names that lead out of the archive, links, encrypted members, and more or
larger files than any published set of sentences has. Sizes are counted while reading, because
headers may lie.
"""

from __future__ import annotations

import gzip
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from gardenpath.errors import InputError

# BLiMP, the largest set, has 71 files and 29 MB; SLING's largest file has 260 KB.
MOST_FILES = 10_000
LARGEST_FILE = 50_000_000
LARGEST_TOTAL = 500_000_000

ARCHIVE_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz")

# What macOS adds to archives and folders.
_ADDED = "__MACOSX"
_DAMAGE = (
    EOFError, LookupError, OSError, OverflowError, ValueError, struct.error, zlib.error,
    tarfile.TarError, zipfile.BadZipFile,
)  # fmt: skip

Wanted = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class PackedText:
    """A text file: its path, for messages; root, folders and name; its text."""

    path: str
    parts: tuple[str, ...]
    text: str

    @property
    def folders(self) -> tuple[str, ...]:
        """The name of the root, and the folders in it that lead to the file."""
        return self.parts[:-1]

    @property
    def stem(self) -> str:
        """The name of the file without its last suffix."""
        return PurePosixPath(self.parts[-1]).stem


def packed_texts(root: Path, wanted: Wanted) -> list[PackedText]:
    """Return the files of a folder or archive whose name is wanted, sorted by their paths.

    Hidden files, and those that macOS adds, are left out. Texts are UTF-8, with or without a byte
    order mark.
    """
    if root.is_dir():
        members = _in_folder(root, wanted)
    elif root.is_file() and root.name.lower().endswith(ARCHIVE_SUFFIXES):
        members = (_in_zip if root.name.lower().endswith(".zip") else _in_tar)(root, wanted)
    else:
        remedy = f"give a folder, or an archive ({', '.join(ARCHIVE_SUFFIXES)})"
        problem = "is not an archive" if root.exists() else "does not exist"
        raise InputError(problem, path=root, remedy=remedy)
    texts, total = [], 0
    for parts, content in members:
        total += len(content)
        path = root.joinpath(*parts)
        if total > LARGEST_TOTAL and not root.is_dir():
            raise _too_large(root, LARGEST_TOTAL)
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            remedy = "save it in the encoding UTF-8"
            raise InputError("is not UTF-8 text", path=path, line=line, remedy=remedy) from error
        texts.append(PackedText(str(path), (root.name, *parts), text))
    return sorted(texts, key=lambda file: file.parts)


Members = Iterator[tuple[tuple[str, ...], bytes]]


def _in_folder(root: Path, wanted: Wanted) -> Members:
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if wanted(path.name) and not _is_added(parts) and path.is_file():
            try:
                with path.open("rb") as file:
                    content = _read(file, path)
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror}", path=path) from error
            yield parts, content


def _in_zip(root: Path, wanted: Wanted) -> Members:
    try:
        with zipfile.ZipFile(root) as archive:
            members = archive.infolist()
            _require_few(len(members), root)
            for member in members:
                parts = _safe_parts(member.filename, root)
                if stat.S_ISLNK(member.external_attr >> 16):
                    raise _is_link(member.filename, root)
                if not parts or member.is_dir() or _is_added(parts) or not wanted(parts[-1]):
                    continue
                if member.flag_bits & 1:
                    raise InputError(f"{member.filename}: is encrypted", path=root)
                with archive.open(member) as file:
                    yield parts, _read(file, root.joinpath(*parts))
    except InputError:
        raise
    except (*_DAMAGE, NotImplementedError, RuntimeError) as error:
        raise _damaged(root, error) from error


def _in_tar(root: Path, wanted: Wanted) -> Members:
    is_plain = root.name.lower().endswith(".tar")
    try:
        with (
            root.open("rb") as file,
            file if is_plain else gzip.GzipFile(fileobj=file) as content,
            # As a stream: members are met in their order, and nothing is read twice.
            tarfile.open(
                fileobj=cast(IO[bytes], _Bounded(content.read, root)), mode="r|"
            ) as archive,
        ):
            for number, member in enumerate(archive, start=1):
                _require_few(number, root)
                parts = _safe_parts(member.name, root)
                if not (member.isfile() or member.isdir()):
                    raise _is_link(member.name, root)
                opened = None
                if member.isfile() and parts and not _is_added(parts) and wanted(parts[-1]):
                    opened = archive.extractfile(member)
                if opened is not None:
                    yield parts, _read(opened, root.joinpath(*parts))
    except InputError:
        raise
    except (*_DAMAGE, RecursionError) as error:
        raise _damaged(root, error) from error


class _Bounded:
    """The content of an archive, up to the largest total; also what is skipped is counted."""

    def __init__(self, read: Callable[[int], bytes], root: Path) -> None:
        self._read, self._root, self._left = read, root, LARGEST_TOTAL

    def read(self, size: int) -> bytes:
        content = self._read(min(size, self._left + 1))
        self._left -= len(content)
        if self._left < 0:
            raise _too_large(self._root, LARGEST_TOTAL)
        return content


def _safe_parts(name: str, root: Path) -> tuple[str, ...]:
    """Return folders and name of a member; raise an error if they lead out of the archive."""
    path = PurePosixPath(name.replace("\\", "/"))
    parts = tuple(part for part in path.parts if part != ".")
    if path.is_absolute() or ".." in parts or ":" in name[:3] or "\0" in name:
        raise InputError(
            f"{name!r} leads out of the archive", path=root, remedy="get the archive again"
        )
    return parts


def _is_added(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(".") or part == _ADDED for part in parts)


def _read(file: IO[bytes], path: Path) -> bytes:
    content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise _too_large(path, LARGEST_FILE)
    return content


def _require_few(count: int, root: Path) -> None:
    if count > MOST_FILES:
        raise InputError(f"has more than {MOST_FILES:,} files", path=root)


def _is_link(name: str, root: Path) -> InputError:
    remedy = "unpack the archive yourself, and give the folder"
    return InputError(f"{name!r} is a link or a device, not a file", path=root, remedy=remedy)


def _too_large(path: Path, limit: int) -> InputError:
    return InputError(f"has more than {limit:,} bytes", path=path)


def _damaged(root: Path, error: BaseException) -> InputError:
    said = (str(error).splitlines() or [type(error).__name__])[0]
    return InputError(f"cannot be read: {said}", path=root, remedy="get the archive again")
