"""The headers of tables: a file beside each table, ``items.csv.meta.json``.

Two files cannot be replaced in one step. A header therefore contains the checksum of its table and,
until the table is in place, the header of the previous table, too. Whenever a writer is killed, the
table has its own header.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gardenpath.errors import InputError
from gardenpath.safe_text import parse_json
from gardenpath.store.files import sha256_of, whole_file, write_json

SIDE_CAR = ".meta.json"
_CHECKSUM = "table_sha256"
_PREVIOUS = "previous"


def side_car(path: Path) -> Path:
    """Return the path of the header file of a table."""
    return path.with_name(f"{path.name}{SIDE_CAR}")


@contextmanager
def whole_table(path: Path, header: Mapping[str, Any]) -> Iterator[Path]:
    """Yield a temporary path for a table; the table and its header replace earlier ones."""
    with whole_file(path) as temporary:
        yield temporary
        content = {**header, _CHECKSUM: sha256_of(temporary)}
        write_json(side_car(path), {**content, _PREVIOUS: _header_in_place(path)})
    write_json(side_car(path), content)


def write_side_car(path: Path, header: Mapping[str, Any]) -> None:
    """Write the header of a table that is in place, in a folder that nobody reads yet."""
    write_json(side_car(path), {**header, _CHECKSUM: sha256_of(path)})


def read_side_car(path: Path) -> dict[str, Any]:
    """Read the header of a table; a header of another table is refused."""
    beside = side_car(path)
    try:
        content = parse_json(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"the header of {path.name} cannot be read: {error}",
            path=beside,
            remedy="keep the table and its header file in the same folder",
        ) from error
    found = _header_of(path, content)
    if found is None:
        raise InputError(
            f"is not the header of {path.name} as it is now",
            path=beside,
            remedy="the table was changed, or one of the files is of another job: write both again",
        )
    return found


def _header_in_place(path: Path) -> dict[str, Any] | None:
    """Return the header of the table that is replaced; None if there is none."""
    try:
        return _header_of(path, parse_json(side_car(path).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def _header_of(path: Path, content: Any) -> dict[str, Any] | None:
    """Return the header that belongs to a table; those of older versions have no checksum."""
    checksum = sha256_of(path)
    for header in (content, content.get(_PREVIOUS) if isinstance(content, dict) else None):
        if isinstance(header, dict) and header.get(_CHECKSUM, checksum) == checksum:
            return {key: value for key, value in header.items() if key != _PREVIOUS}
    return None
