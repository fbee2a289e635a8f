"""Files and folders that appear whole or not at all, and texts that are read whole."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gardenpath.errors import InputError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Write to the temporary path that is yielded; it takes the place of ``path`` at the end.

    If the block fails, ``path`` is as it was before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_text(path: str | Path) -> str:
    """The content of a text file of somebody's, with or without a mark of byte order."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", path=path) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file as a whole."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, content: Any) -> None:
    """Write readable JSON as a whole."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def build_folder(path: Path, build: Callable[[Path], None]) -> bool:
    """Let ``build`` fill a new folder and move it to ``path``; False if another was faster.

    Several processes may do this at once for the same path: each fills a folder of its own, and
    the first to finish wins.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    temporary.chmod(0o777 & ~_umask())
    try:
        build(temporary)
        try:
            temporary.rename(path)
        except OSError:
            if not path.is_dir():
                raise
            return False
        return True
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
