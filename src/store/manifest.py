"""Folders whose content is described by a manifest, and tables with a header beside them.

``manifest.json`` names the kind of the folder, its format version, the fingerprint of everything
that determines its content, and every file with its size and SHA-256. It reveals damage that would
otherwise go unnoticed: a flipped bit in weights or arrays only changes results. Run folders
(:mod:`gardenpath.store.run_folder`), results folders and prepared corpora have one; the latter two
are written here, by evaluations and by the preparation of corpora, whole or not at all. A table has
its checksum in its header. Nothing here knows what the files contain.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from gardenpath.errors import GardenpathError, InputError, RunError
from gardenpath.safe_text import parse_json
from gardenpath.store.files import (
    FOREVER,
    Json,
    build_folder,
    fingerprint,
    is_leftover,
    locked,
    remove_leftovers,
    remove_tree,
    sha256_of,
    swap_folder,
    whole_file,
    write_json,
)  # fmt: skip
from gardenpath.util import versions

MANIFEST_FILE = "manifest.json"

# What a file that is not a manifest may raise; a size may even be infinite.
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError)


@dataclass(frozen=True)
class FileRecord:
    """The size in bytes and the SHA-256 of a file."""

    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The content of a manifest; ``files`` are relative paths with ``/``."""

    kind: str
    format: int
    fingerprint: str
    files: Mapping[str, FileRecord]
    created: str
    versions: str
    about: Mapping[str, Any] = field(default_factory=dict)


def describe_folder(
    folder: Path,
    *,
    kind: str,
    format: int,
    fingerprint: str,
    packages: Iterable[str] = (),
    about: Mapping[str, Any] | None = None,
    names: Iterable[str] | None = None,
) -> Manifest:
    """Describe the files of a folder: all of them, or those with the given ``names``.

    ``packages`` are the libraries whose versions matter; ``about`` is additional information
    (JSON). Hidden files at the top level, such as locks, are ignored.
    """
    if names is None:
        files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
        shown = [path for path in files if not path.parts[0].startswith(".")]
        all_names = [path.as_posix() for path in shown if not is_leftover(path)]
        names = [name for name in all_names if name != MANIFEST_FILE]
    return Manifest(
        kind=kind,
        format=format,
        fingerprint=fingerprint,
        files={name: record_of(folder / name) for name in names},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions(*packages),
        about=dict(about or {}),
    )


def record_of(path: Path) -> FileRecord:
    """Return the size and checksum of a file."""
    return FileRecord(path.stat().st_size, sha256_of(path))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``manifest.json`` into a folder."""
    write_json(folder / MANIFEST_FILE, asdict(manifest))


def read_manifest(folder: Path, *, kind: str, format: int, remedy: str) -> Manifest:
    """Read the manifest of a folder of a ``kind``, in this ``format``.

    Error messages end with the ``remedy``.
    """
    path = folder / MANIFEST_FILE
    try:
        manifest = _read(folder)
    except _UNREADABLE as error:
        raise RunError(f"{path}: the manifest cannot be read ({error}); {remedy}") from error
    if manifest.kind != kind:
        raise RunError(f"{path}: describes {manifest.kind!r}, not {kind!r}; {remedy}")
    if manifest.format > format:
        raise RunError(
            f"{path}: was written by a newer version of Gardenpath ({manifest.versions}; format "
            f"{manifest.format}, but this version reads {format}); update Gardenpath"
        )
    if manifest.format < format:
        raise RunError(
            f"{path}: has format {manifest.format} of a version before 0.2.0, which is no longer "
            f"read; {remedy}"
        )
    return manifest


def kind_of_folder(folder: Path) -> str | None:
    """Return the kind named in a folder's manifest; None if there is no readable manifest."""
    try:
        return _read(folder).kind
    except _UNREADABLE:
        return None


def verify_files(
    folder: Path, manifest: Manifest, *, remedy: str, names: Iterable[str] | None = None
) -> None:
    """Compare files with their manifest: all of them, or those with the given ``names``.

    A :class:`RunError` names the first file that is missing or differs, with the ``remedy``.
    """
    for name in manifest.files if names is None else names:
        expected, path = manifest.files.get(name), folder / name
        if expected is None:
            raise RunError(f"{path}: is not in {MANIFEST_FILE} next to it; {remedy}")
        try:
            size = path.stat().st_size
            if size != expected.size:
                problem = f"has {size} bytes instead of {expected.size}"
            elif sha256_of(path) != expected.sha256:
                problem = "does not have the checksum recorded in the manifest"
            else:
                continue
        except OSError as error:
            problem = f"cannot be read ({error.strerror})"
        raise RunError(f"{path}: is damaged: it {problem}; {remedy}")


def _read(folder: Path) -> Manifest:
    """Read a manifest; what is none, or names files outside of the folder, raises an error."""
    content = parse_json((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    files = {}
    for name, record in content["files"].items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise ValueError(f"{name!r} is not a path within the folder")
        files[name] = FileRecord(int(record["size"]), str(record["sha256"]))
    return Manifest(
        kind=str(content["kind"]),
        format=int(content["format"]),
        fingerprint=str(content["fingerprint"]),
        files=files,
        created=str(content["created"]),
        versions=str(content["versions"]),
        about=dict(content["about"]),
    )


# ----------------------------------------------------------------------------
# Results folders: while an evaluation writes, earlier results remain in place; at the end, the new
# folder replaces them in one step, so that files of different evaluations are never mixed.

RESULTS_KIND = "results"
RESULTS_FORMAT = 2

# Packages that results may depend on, in addition to the models.
_PACKAGES = ("torch", "numpy", "scipy", "pandas")

# Seconds to wait for another evaluation that writes to the same folder.
_PATIENCE = 60.0


@contextmanager
def results_folder(
    path: Path, *, about: Mapping[str, Any], wait: float = _PATIENCE
) -> Iterator[Path]:
    """Yield a new folder to write results to; it replaces ``path`` when the block ends.

    ``about`` says how the results were produced (command, settings, runs with their fingerprints)
    in JSON types. Its state at the end of the block is written to ``manifest.json`` with the
    software versions and the checksums of all files. If the block fails, earlier results remain.
    Before the block runs, an error is raised if the folder contains anything else than results, or
    if another process is writing to it for more than ``wait`` seconds.
    """
    # Links are resolved, so that their target is replaced; Path.resolve fails for circles.
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    remedy = "wait until it ends, or choose another output="
    with locked(lock, what=f"the results folder {path}", remedy=remedy, wait=wait):
        require_replaceable(target)
        with swap_folder(target) as temporary:
            yield temporary
            manifest = describe_folder(
                temporary,
                kind=RESULTS_KIND,
                format=RESULTS_FORMAT,
                fingerprint=fingerprint(RESULTS_KIND, RESULTS_FORMAT, about=about),
                packages=_PACKAGES,
                about=about,
            )
            write_manifest(temporary, manifest)


def read_results_manifest(path: Path) -> Manifest:
    """Read the manifest of a results folder."""
    remedy = "move the folder, and evaluate again"
    return read_manifest(path, kind=RESULTS_KIND, format=RESULTS_FORMAT, remedy=remedy)


def require_replaceable(path: Path) -> None:
    """Raise an error if ``path`` is not a results folder, or contains other files."""
    if not path.exists():
        return
    if not path.is_dir():
        raise RunError(f"{path}: is a file; results need a folder: choose another output=")
    if foreign := foreign_files(path):
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise RunError(
            f"{path}: contains files that no evaluation wrote ({', '.join(foreign[:3])}{more}), "
            "which new results would replace; move them, or choose another output="
        )


def foreign_files(path: Path) -> list[str]:
    """List the files of a folder that are not results, as relative paths, without hidden files."""
    if kind_of_folder(path) != RESULTS_KIND:
        return sorted(file.name for file in path.iterdir() if not file.name.startswith("."))
    known = {MANIFEST_FILE, *read_results_manifest(path).files}
    files = (file for file in sorted(path.rglob("*")) if not file.is_dir() or file.is_symlink())
    relative = [file.relative_to(path) for file in files]
    shown = [file for file in relative if not any(part.startswith(".") for part in file.parts)]
    return [file.as_posix() for file in shown if file.as_posix() not in known]


# ----------------------------------------------------------------------------
# The headers of tables: a JSON file beside each table, ``items.csv.meta.json``. Two files cannot
# be replaced in one step. A header therefore contains the checksum of its table and, until the
# table is in place, the header of the previous table, too. Whenever a writer is killed, the table
# has its own header.

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
        before = None
        with contextlib.suppress(OSError, ValueError):
            before = _header_in_place(path)
        write_json(side_car(path), {**content, _PREVIOUS: before})
    write_json(side_car(path), content)


def write_side_car(path: Path, header: Mapping[str, Any]) -> None:
    """Write the header of a table that is in place, in a folder that nobody reads yet."""
    write_json(side_car(path), {**header, _CHECKSUM: sha256_of(path)})


def read_side_car(path: Path) -> dict[str, Any]:
    """Read the header of a table; a header of another table is refused."""
    try:
        header = _header_in_place(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the header of {path.name} cannot be read: {error}",
            path=side_car(path),
            remedy="keep the table and its header file in the same folder",
        ) from error
    if header is None:
        raise InputError(
            f"is not of {path.name}: header and table differ (checksum)",
            path=side_car(path),
            remedy="the table was changed, or one of the files is of another job: write both again",
        )
    return header


def _header_in_place(path: Path) -> dict[str, Any] | None:
    """Return the header that belongs to a table; None if there is another one beside it."""
    content = parse_json(side_car(path).read_text(encoding="utf-8"))
    checksum = sha256_of(path)
    for header in (content, content.get(_PREVIOUS) if isinstance(content, dict) else None):
        if isinstance(header, dict) and header.get(_CHECKSUM) == checksum:
            return {key: value for key, value in header.items() if key != _PREVIOUS}
    return None


# ----------------------------------------------------------------------------
# Prepared corpora: folders in a cache, one for each corpus and set of preparation settings, named
# by its key. Each is built once, under a lock, even if several processes need it. While a corpus is
# built, a hidden folder next to it keeps what was read, so that an interrupted build resumes.

CORPUS_KIND = "corpus"
# Increment whenever the meaning of the content of a prepared corpus changes.
CORPUS_FORMAT = 2

_LOCKS = ".locks"

# The folders that this process has verified, with what changes whenever their files do.
_FileState = tuple[str, int, int, int] | None
_verified: dict[Path, list[_FileState]] = {}


def corpus_key(**parts: Json) -> str:
    """Return the key of a prepared corpus from everything that determines its content."""
    return fingerprint(CORPUS_KIND, CORPUS_FORMAT, **parts)


def stored_corpus(cache: Path, key: str, build: Callable[[Path], None]) -> Path:
    """Return the folder of a prepared corpus; if it is not in the cache, ``build`` fills it.

    If another process is building the same corpus, this process waits for it. All files are
    compared with the manifest, once per process unless they change.
    """

    def build_with_manifest(temporary: Path) -> None:
        build(temporary)
        manifest = describe_folder(
            temporary,
            kind=CORPUS_KIND,
            format=CORPUS_FORMAT,
            fingerprint=key,
            packages=("numpy", "sentencepiece"),
        )
        write_manifest(temporary, manifest)

    folder = cache / key
    if not folder.is_dir():
        lock = cache / _LOCKS / f"{key}.lock"
        with locked(lock, what=f"the prepared corpus {folder}", wait=FOREVER):
            if not folder.is_dir():
                remove_leftovers(cache, key)
                build_folder(folder, build_with_manifest)
    verify_corpus(folder)
    return folder


@contextmanager
def unfinished_corpus(cache: Path, key: str) -> Iterator[Path]:
    """Yield the folder of what was read of a corpus so far; it is removed when the block ends.

    It is kept if the block is interrupted or the system fails, but not if the corpus is at fault:
    a corrected corpus has another key. The caller must hold the lock of the corpus.
    """
    folder = cache / f".{key}.unfinished"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    except RunError:  # a process that reads the corpus was killed
        raise
    except GardenpathError:
        remove_tree(folder)
        raise
    remove_tree(folder)


def verify_corpus(folder: Path) -> None:
    """Compare the files of a prepared corpus with its manifest, unless this process has done so."""
    remedy = f"delete {folder}: it is prepared again when needed"
    manifest = read_manifest(folder, kind=CORPUS_KIND, format=CORPUS_FORMAT, remedy=remedy)
    state: list[_FileState] = []
    for name, record in manifest.files.items():
        try:
            status = (folder / name).stat()
        except OSError:
            state.append(None)
        else:
            times = status.st_mtime_ns, status.st_ctime_ns
            state.append((record.sha256, status.st_size, *times))
    if _verified.get(folder) != state:
        verify_files(folder, manifest, remedy=remedy)
        _verified[folder] = state
