"""Files and folders that are written whole or not at all, locks between processes, and keys.

Everything that Gardenpath stores or that users give as text is written and read through this
module. New content is written to a temporary path next to its target (and so on the same file
system), flushed to disk, and renamed. Temporary names begin with ``.NAME.`` and end with ``.part``
(new content) or ``.old`` (replaced content). A killed process leaves them behind; the next process
that holds the lock of the target removes them (:func:`remove_leftovers`). Nothing here knows what
is in a file.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import io
import json
import logging
import math
import os
import shlex
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from filelock import FileLock, Timeout

from gardenpath.errors import InputError, RunError, remedy_of
from gardenpath.safe_text import how_to_convert, parse_json, probable_encoding, zeros_encoding

_NEW, _OLD = ".part", ".old"
# Characters in which zeros of another encoding are looked for.
_LOOKED_AT = 1000


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; it replaces ``path`` when the block ends.

    If the block fails, ``path`` is unchanged.
    """
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_NEW)
        os.close(handle)
    temporary = Path(name)
    try:
        with naming(path):
            yield temporary
            temporary.chmod(0o666 & ~_umask())
            _flush(temporary)
            temporary.replace(path)
            flush_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name ``path`` in errors of the operating system that name no path or a temporary one."""
    try:
        yield
    except OSError as error:
        name = error.filename
        is_path = isinstance(name, str | bytes | os.PathLike)
        parts = Path(os.fsdecode(name)).parts if is_path else ()
        is_hidden = not is_path or any(is_leftover(Path(part)) for part in parts)
        number = error.errno
        if number is None and "written" in str(error):  # NumPy: "54 requested and 44 written"
            number = errno.ENOSPC
        if number is None or not is_hidden:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def require_writable(folder: Path) -> None:
    """Raise an error if nothing can be written to a folder, or the folder cannot be created."""
    for place in (folder, *folder.absolute().parents):
        if place.exists():
            break
        if place.is_symlink():
            problem = f"is a link to {place.readlink()}, which cannot be reached"
            raise FileNotFoundError(errno.ENOENT, problem, str(place))
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    if not os.access(place, os.W_OK | os.X_OK):
        # Tells a read-only file system from missing permissions.
        with naming(folder), tempfile.TemporaryFile(dir=place, prefix=".", suffix=_NEW):
            pass


def read_text(path: str | Path) -> str:
    """Read a user's text file in UTF-8, with or without a byte order mark."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        remedy = remedy_of(error)
        raise InputError(f"cannot be read: {error.strerror}", path=path, remedy=remedy) from error
    except UnicodeDecodeError as error:
        raise not_utf8(error, path) from error
    if "\x00" in text[:_LOOKED_AT] and (encoding := zeros_encoding(text[:_LOOKED_AT].encode())):
        problem = f"is {encoding} text without a byte order mark, not UTF-8 text"
        raise InputError(problem, path=path, remedy=how_to_convert(encoding, path))
    return text


def not_utf8(error: UnicodeDecodeError, path: str | Path, *, setting: str = "") -> InputError:
    """Return the error of a file that is not UTF-8: its line, and the command that converts it."""
    content = bytes(error.object)
    encoding = probable_encoding(content)
    line = None if encoding.startswith("UTF") else content[: error.start].count(b"\n") + 1
    problem = f"is not UTF-8 text, but probably {encoding}"
    remedy = how_to_convert(encoding, path) + (f"; or set {setting}={encoding}" if setting else "")
    return InputError(problem, path=path, line=line, remedy=remedy)


@contextmanager
def open_text(
    path: Path,
    *,
    encoding: str = "utf-8",
    part: tuple[int, int] | None = None,
    setting: str = "",
) -> Iterator[Iterator[str]]:
    """Open a text file; undecodable bytes raise an error that names file, line and remedy.

    ``part`` opens a part of the file: the position of its first byte and the number of bytes.
    ``setting`` is the name of the setting that holds the encoding, if there is one.
    """
    try:
        if part is None:
            handle: TextIO = path.open(encoding=encoding)
        else:
            with path.open("rb") as file:
                file.seek(part[0])
                handle = io.TextIOWrapper(io.BytesIO(file.read(part[1])), encoding=encoding)
    except (OSError, LookupError) as error:  # LookupError: unknown encoding
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "check the path and the encoding"
        raise InputError(f"cannot be opened: {reason}", path=path, remedy=remedy) from error
    with handle:
        yield _decoded(handle, path, encoding, setting)


def _decoded(lines: Iterable[str], path: Path, encoding: str, setting: str) -> Iterator[str]:
    try:
        yield from lines
    except UnicodeDecodeError as error:
        problem = error
        # Lines are decoded in blocks, which have no place in the file: it is decoded as a whole.
        try:
            path.read_bytes().decode(encoding)
        except UnicodeDecodeError as whole:
            problem = whole
        if encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig"):
            raise not_utf8(problem, path, setting=setting) from error
        raise InputError(
            f"is not {encoding} text: {problem.reason}",
            path=path,
            line=bytes(problem.object)[: problem.start].count(b"\n") + 1,
            remedy=f"set {setting or 'the encoding'} to that of the file",
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a binary file atomically."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


def write_json(path: Path, content: Any) -> None:
    """Write indented JSON atomically."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits, without reading it into memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def build_folder(path: Path, build: Callable[[Path], None]) -> bool:
    """Let ``build`` fill a new folder and move it to ``path``; False if another process was faster.

    Several processes may do this at once for the same path: each fills its own folder, and the
    first to finish wins.
    """
    with naming(path):
        temporary = _temporary_folder(path)
    try:
        with naming(path):
            build(temporary)
            flush_tree(temporary)
        try:
            temporary.rename(path)
        except OSError:
            if not path.is_dir():
                raise
            return False
        flush_folder(path.parent)
        return True
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def swap_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder to fill; it replaces the folder ``path`` as a whole when the block ends.

    If the block fails, ``path`` is unchanged. If the system can exchange two folders in one step
    (Linux, macOS), ``path`` always contains either the old or the new content. Elsewhere, the old
    folder is renamed first; if the process is killed before the new one is in place, the next
    :func:`recover_folder` restores the old one. The caller must hold a lock on ``path``.
    """
    recover_folder(path)
    with naming(path):
        temporary = _temporary_folder(path)
    try:
        with naming(path):
            yield temporary
            flush_tree(temporary)
            if not path.exists() and not path.is_symlink():
                temporary.rename(path)
            elif not path.is_dir():
                raise NotADirectoryError(
                    errno.ENOTDIR, "expected a folder, found a file", str(path)
                )
            elif not exchange(temporary, path):
                aside = temporary.with_suffix(_OLD)
                path.rename(aside)
                temporary.rename(path)
                shutil.rmtree(aside, ignore_errors=True)
            flush_folder(path.parent)
    finally:
        # After an exchange, this folder has the old content.
        shutil.rmtree(temporary, ignore_errors=True)


def recover_folder(path: Path) -> None:
    """Undo or complete a :func:`swap_folder` that was killed; the caller must hold the lock."""
    aside = [left for left in _leftovers(path.parent, path.name) if left.suffix == _OLD]
    if aside and not path.exists():
        max(aside, key=lambda left: left.stat().st_mtime_ns).rename(path)
        flush_folder(path.parent)
    remove_leftovers(path.parent, path.name)


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove the files of killed writers from a folder: all of them, or those of one ``name``.

    This is only safe if no other process can write there: the caller must hold the lock.
    """
    for path in _leftovers(folder, name):
        remove_tree(path)


def remove_tree(path: Path) -> None:
    """Remove a file, a link, or a folder with all its content; links are not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def is_leftover(path: Path) -> bool:
    """Whether a path has a temporary name of this module."""
    return path.name.startswith(".") and path.name.endswith((_NEW, _OLD))


def _leftovers(folder: Path, name: str) -> list[Path]:
    if not folder.is_dir():
        return []
    return [
        path
        for path in sorted(folder.iterdir())
        if is_leftover(path) and path.name.startswith(f".{name}." if name else ".")
    ]


def _temporary_folder(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=_NEW))
    temporary.chmod(0o777 & ~_umask())
    return temporary


def exchange(one: Path, other: Path) -> bool:
    """Swap two paths of one file system in one step; False if the system does not support it."""
    with contextlib.suppress(OSError, AttributeError):  # this C library lacks the function
        library = ctypes.CDLL(None, use_errno=True)
        names = os.fsencode(one), os.fsencode(other)
        if sys.platform == "linux":
            here, flag = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
            return bool(library.renameat2(here, names[0], here, names[1], flag) == 0)
        if sys.platform == "darwin":
            return bool(library.renamex_np(*names, 2) == 0)  # RENAME_SWAP
    return False


def flush_tree(folder: Path) -> None:
    """Wait until all files and folders below a folder are on disk."""
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root, name)
            if not path.is_symlink():
                _flush(path)
        flush_folder(Path(root))


def _flush(path: Path) -> None:
    """Wait until the content of a file is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_folder(path: Path) -> None:
    """Wait until the names in a folder are on disk, if the file system supports it."""
    with contextlib.suppress(OSError):
        _flush(path)


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---- Locks between processes: one owner at a time, whose name is shown to waiting processes
#
# The operating system releases the lock (:mod:`filelock`) when its process ends, even if the
# process is killed. A JSON file next to the lock names the owner; it is used only in messages, so
# a stale file is harmless.

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
        try:
            if self.host == socket.gethostname():
                os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:  # it belongs to another user
            pass
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
        command = shlex.join(sys.orig_argv)
        if len(command) > _LONGEST_COMMAND:
            command = f"{command[:_LONGEST_COMMAND]}…"
        host = socket.gethostname()
        owner = Owner(pid=os.getpid(), host=host, since=time.time(), command=command)
        with contextlib.suppress(OSError):  # the record is used only in messages
            owner_path(path).write_text(json.dumps(asdict(owner)), encoding="utf-8")
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
    created = [folder for folder in path.parents if not folder.exists()]
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
            try:
                lock.acquire(timeout=0)
            except Timeout:
                if wait == 0:
                    raise
                _log.info("waiting for %s, which is in use by %s", what, _named(path))
                lock.acquire(timeout=wait)
            # The file that is locked must still have its name.
            handle = lock._context.lock_file_fd
            with contextlib.suppress(FileNotFoundError):
                if handle is not None and os.path.samestat(os.fstat(handle), path.stat()):
                    return
            lock.release()
    raise FileNotFoundError(errno.ENOENT, "another process keeps removing the folder", str(path))


def _named(path: Path) -> str:
    """Describe the owner; a process that has just acquired the lock needs a moment to sign it."""
    for _ in range(10):
        if owner := owner_of(path):
            return str(owner)
        time.sleep(0.02)
    return "another process"


def _age(since: float) -> str:
    """Format an age as ``45 s``, ``12 min``, ``3 h 5 min`` or ``2 d 4 h``."""
    seconds = max(0, int(time.time() - since))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{seconds} s"


# ---- Network file systems, where some ways of sharing files do not work

_MOUNTS = Path("/proc/self/mounts")

# File-system types, as named by Linux.
_NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "gfs2", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
    "ocfs2", "orangefs", "panfs", "smb3", "smbfs", "wekafs", "fuse.ceph", "fuse.glusterfs",
    "fuse.s3fs", "fuse.sshfs",
}  # fmt: skip


def is_network(path: Path, *, mounts: Path = _MOUNTS) -> bool:
    """Whether a path is on a network file system; False if the system does not tell."""
    place = path.resolve()
    longest, kind = -1, ""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        lines = []
    # Later mounts cover earlier ones.
    for fields in filter(lambda fields: len(fields) >= 3, map(str.split, lines)):
        # The kernel writes spaces and tabs in names as octal numbers.
        folder = Path(fields[1].replace("\\040", " ").replace("\\011", "\t"))
        if place.is_relative_to(folder) and len(folder.parts) >= longest:
            longest, kind = len(folder.parts), fields[2]
    return kind in _NETWORK


# ---- Keys that identify entries of the store; equal keys mean equal content
#
# All keys have the same form: 20 hexadecimal digits of the SHA-256 of canonical JSON, which
# contains the kind of the entry, its format version and everything that determines its content.

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

_DIGITS = 20


def fingerprint(kind: str, version: int, **parts: Json) -> str:
    """Return the key of an entry.

    ``kind`` separates entries of different kinds; ``version`` must be incremented whenever the same
    parts lead to different content. Large content enters as its :func:`digest`, files by
    :func:`gardenpath.store.files.sha256_of`.
    """
    return digest(canonical({"kind": kind, "version": version, "parts": parts}))[:_DIGITS]


def canonical(value: Json) -> str:
    """Write a value as JSON in canonical form, for hashing.

    Keys are sorted, lists and tuples are treated alike, and all characters are ASCII, so that any
    string can be hashed, even if it is not valid Unicode.
    """
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))


def digest(content: bytes | str) -> str:
    """Return the SHA-256 of bytes, or of a text in UTF-8, in hexadecimal digits."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()


def _plain(value: Any) -> Any:
    """Convert a value to plain JSON types; raise TypeError for values that JSON would change."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise TypeError(f"a key of a fingerprint must be a string, not {wrong[0]!r}")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be part of a fingerprint: {value!r}")
