"""What a fuzzed reader is, and what counts as a finding."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from gardenpath.errors import GardenpathError


@dataclass(frozen=True)
class Reader:
    """A reader of the package.

    ``read`` gets the content of a file and must return, or raise a :class:`GardenpathError`.
    Where the package can also write what was read, it writes and reads it again, and compares.
    ``seeds`` are valid inputs.
    """

    name: str
    seeds: tuple[bytes, ...] = field(repr=False)
    read: Callable[[bytes], None] = field(repr=False)
    is_binary: bool = False
    share: float = 1.0
    """How many of the usual number of inputs a short test tries."""


def is_refused(reader: Reader, content: bytes) -> bool:
    """Whether an input is refused with a message; any other exception is a finding."""
    try:
        reader.read(content)
    except GardenpathError as error:
        assert str(error).strip(), "a message without text"
        return True
    return False


@cache
def scratch() -> Path:
    """Return a folder in memory, if the system has one, which is removed at the end."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="gardenpath-fuzz-", dir=memory if memory.is_dir() else None)
    atexit.register(_remove, folder, os.getpid())
    return Path(folder)


def _remove(folder: str, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def on_disk(content: bytes, name: str) -> Path:
    """Write an input to a file of this name and return its path."""
    path = scratch() / name
    with path.open("wb") as file:
        file.write(content)
    return path


def lines_of(content: bytes) -> list[str]:
    """Return the lines of an input as a text file has them; bytes that are not UTF-8 get lost."""
    text = content.decode("utf-8", "ignore").replace("\r\n", "\n").replace("\r", "\n")
    return [f"{line}\n" for line in text.split("\n")]
