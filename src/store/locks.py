"""Locks between processes: one owner at a time, whose name is shown to waiting processes.

The operating system releases the lock (:mod:`filelock`) when its process ends, even if the process
is killed. A JSON file next to the lock names the owner; it is used only in messages, so a stale
file is harmless.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import math
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from gardenpath.errors import RunError
from gardenpath.safe_text import parse_json

_log = logging.getLogger(__name__)

# Value of ``wait`` for waiting until the lock is free.
FOREVER = -1.0

_REMEDY = "wait until it ends, or stop it"
_LONGEST_COMMAND = 200
_ATTEMPTS = 20
# Numbers of processes are smaller on all systems.
_MOST_PROCESSES = 2**31


@dataclass(frozen=True, kw_only=True)
class Owner:
    """The process that holds a lock; ``since`` is in seconds since 1970."""

    pid: int
    host: str
    since: float
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (for {_age(self.since)}: {self.command})"

    @property
    def is_gone(self) -> bool:
        """Whether the process is known to have ended; unknown for processes on other hosts."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:  # it belongs to another user
            return False
        return False


@contextmanager
def locked(path: Path, *, what: str, remedy: str = _REMEDY, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs.

    If another process holds it for longer than ``wait`` seconds, a :class:`RunError` says that
    ``what`` is in use, by which process, on which host and for how long, and gives the ``remedy``.
    The empty lock file remains when the lock is released.
    """
    lock = FileLock(path)
    try:
        _acquire(lock, path, what, wait)
    except Timeout:
        raise RunError(f"{what} is in use by {_named(path)}; {remedy}") from None
    except OSError as error:
        raise RunError(
            f"{path}: the lock cannot be taken ({error.strerror or error}); check that the folder "
            "is writable"
        ) from error
    try:
        with contextlib.suppress(OSError):  # the record is used only in messages
            owner_path(path).write_text(json.dumps(asdict(_myself())), encoding="utf-8")
        yield
    finally:
        owner_path(path).unlink(missing_ok=True)
        lock.release()


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the lock of an output from before the work begins until the file or folder is written.

    A second job with the same output is refused before it computes anything: it would replace the
    results of the first. The lock file and folders that were created for it alone are removed.
    """
    # Not the lock under which a results folder is replaced at the end of the work.
    lock = path.with_name(f".{path.name}.output.lock")
    remedy = "wait until it ends, or choose another output="
    created = [one for one in path.parents if not one.exists()]
    with locked(lock, what=f"the output {path}", remedy=remedy):
        try:
            yield
        finally:
            owner_path(lock).unlink(missing_ok=True)
            lock.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # not empty
                for folder in created:
                    folder.rmdir()


def owner_path(path: Path) -> Path:
    """Return the file that names the owner of a lock file."""
    return path.with_name(f"{path.name}.json")


def owner_of(path: Path) -> Owner | None:
    """Return the owner of a lock file, if known, for messages and tables."""
    try:
        content = parse_json(owner_path(path).read_text(encoding="utf-8"))
        owner = Owner(
            pid=int(content["pid"]),
            host=str(content["host"]),
            since=float(content["since"]),
            command=str(content["command"]),
        )
        if not (0 < owner.pid < _MOST_PROCESSES and math.isfinite(owner.since)):
            return None
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    return None if owner.is_gone else owner


def _acquire(lock: FileLock, path: Path, what: str, wait: float) -> None:
    """Acquire the lock; retry if its last owner has removed the file or its folder."""
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(FileNotFoundError):
            path.parent.mkdir(parents=True, exist_ok=True)
            _wait_for(lock, path, what, wait)
            if _is_in_place(lock, path):
                return
            lock.release()
    raise FileNotFoundError(errno.ENOENT, "another process keeps removing the folder", str(path))


def _is_in_place(lock: FileLock, path: Path) -> bool:
    """Whether the file that is locked still has its name; its last owner may have removed it."""
    handle = lock._context.lock_file_fd
    try:
        return handle is not None and os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _wait_for(lock: FileLock, path: Path, what: str, wait: float) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if wait == 0:
            raise
        _log.info("waiting for %s, which is in use by %s", what, _named(path))
        lock.acquire(timeout=wait)


def _named(path: Path) -> str:
    """Describe the owner; a process that has just acquired the lock needs a moment to sign it."""
    for _ in range(10):
        if owner := owner_of(path):
            return str(owner)
        time.sleep(0.02)
    return "another process"


def _myself() -> Owner:
    command = shlex.join(sys.orig_argv)
    if len(command) > _LONGEST_COMMAND:
        command = f"{command[:_LONGEST_COMMAND]}…"
    return Owner(pid=os.getpid(), host=socket.gethostname(), since=time.time(), command=command)


def _age(since: float) -> str:
    """Format an age as ``45 s``, ``12 min``, ``3 h 5 min`` or ``2 d 4 h``."""
    seconds = max(0, int(time.time() - since))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{seconds} s"
