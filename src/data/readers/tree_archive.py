"""Read the text files of a tar archive, which are not unpacked to disk."""

from __future__ import annotations

import tarfile
import zlib
from lzma import LZMAError
from pathlib import Path

from gardenpath.errors import InputError

# Most bytes of all files together; treebanks have some megabytes.
MOST_ARCHIVED_BYTES = 1_000_000_000

_DAMAGE = (tarfile.TarError, OSError, EOFError, zlib.error, LZMAError, ValueError, OverflowError)


def is_archive(path: Path) -> bool:
    """Whether a path is a file that ends like a tar archive."""
    return path.is_file() and (".tar" in path.suffixes or path.suffix == ".tgz")


def archived_texts(path: Path, endings: tuple[str, ...]) -> dict[str, str]:
    """Return the texts, in UTF-8, of the files in an archive whose names end so, by name."""
    try:
        with tarfile.open(path, "r:*") as archive:
            return dict(_texts(archive, path, endings))
    except _DAMAGE as error:
        raise InputError(
            f"cannot be read as a tar archive: {str(error)[:200]}",
            path=path,
            remedy="copy it again, or unpack it and name the folder",
        ) from error


def _texts(archive: tarfile.TarFile, path: Path, endings: tuple[str, ...]) -> list[tuple[str, str]]:
    found = []
    room = MOST_ARCHIVED_BYTES
    for member in archive:
        if not member.isreg() or not member.name.endswith(endings):
            continue
        room -= member.size
        if room < 0 or member.size < 0:
            raise InputError(
                f"has files of more than {MOST_ARCHIVED_BYTES:,} bytes",
                path=path,
                remedy="name an archive of trees alone",
            )
        file = archive.extractfile(member)
        assert file is not None  # regular files can be read
        try:
            found.append((member.name, file.read().decode("utf-8-sig")))
        except UnicodeDecodeError as error:
            raise InputError(f"{member.name} is not UTF-8 text", path=path) from error
    return found
