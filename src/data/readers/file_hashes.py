"""Remember the hashes of corpus files, so that an unchanged corpus is not read at every start.

A hash is remembered together with the file's size, inode and times of modification and of change.
If any of these differs, the file is read again. A file that was modified in the last two seconds is
not remembered, because it could be modified again without a visible change of its time.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from gardenpath.safe_text import parse_json
from gardenpath.store.files import sha256_of, write_text

HASHES_FILE = ".hashes.json"

# Age from which on a time of modification is trusted, in nanoseconds; the coarsest file systems
# (FAT) store times in units of two seconds.
_LEAST_AGE = 2_000_000_000


@contextmanager
def remembered_hashes(folder: Path) -> Iterator[None]:
    """Use the hashes remembered in a cache folder while the block runs, and add new ones."""
    memory = _HashMemory(folder / HASHES_FILE)
    token = _current.set(memory)
    try:
        yield
    finally:
        _current.reset(token)
        memory.save()


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file; it is not read if its hash is remembered."""
    return known_hash(path, "sha256", lambda: sha256_of(path))


def known_hash(path: Path, kind: str, compute: Callable[[], str]) -> str:
    """Return a hash of a file, of some kind; ``compute`` is called if it is not remembered."""
    memory = _current.get()
    return compute() if memory is None else memory.value(path, kind, compute)


class _HashMemory:
    """Hashes by path and kind, with what they were valid for, in a JSON file.

    If two processes write the file at once, hashes of one may be lost; they are computed again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = self._load()
        self._new: dict[str, list[Any]] = {}

    def value(self, path: Path, kind: str, compute: Callable[[], str]) -> str:
        name = f"{kind}: {path.resolve()}"
        before = _signature(path)
        match self._known.get(name):
            case [list(seen), str(value)] if before is not None and seen == before:
                return value
        begin = time.time_ns()
        value = compute()
        if before is not None and before == _signature(path) and _is_old(path, begin):
            self._known[name] = self._new[name] = [before, value]
        return value

    def save(self) -> None:
        """Add new hashes to the file; a folder that cannot be written is no reason to stop."""
        if self._new:
            content = {**self._load(), **self._new}
            with contextlib.suppress(OSError):
                write_text(self._path, json.dumps(content, indent=0) + "\n")

    def _load(self) -> dict[str, Any]:
        try:
            content = parse_json(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


_current: ContextVar[_HashMemory | None] = ContextVar("remembered hashes", default=None)


def _signature(path: Path) -> list[int] | None:
    """Return what changes whenever a file is written or replaced; None if it cannot be found."""
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _is_old(path: Path, now: int) -> bool:
    found = path.stat()
    return max(found.st_mtime_ns, found.st_ctime_ns) < now - _LEAST_AGE
