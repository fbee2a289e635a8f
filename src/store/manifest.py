"""Manifests: lists of the files of a folder, with sizes and checksums.

``manifest.json`` names the kind of the folder, its format version, the fingerprint of everything
that determines its content, and every file with its size and SHA-256. It reveals damage that would
otherwise go unnoticed: a flipped bit in weights or arrays only changes results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from gardenpath.errors import RunError
from gardenpath.safe_text import parse_json
from gardenpath.store.files import is_leftover, sha256_of, write_json
from gardenpath.versions import versions

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
    chosen = _all_files(folder) if names is None else list(names)
    return Manifest(
        kind=kind,
        format=format,
        fingerprint=fingerprint,
        files={name: record_of(folder / name) for name in chosen},
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
    """Read the manifest of a folder of a ``kind``, in this ``format`` or an older one.

    Error messages end with the ``remedy``.
    """
    path = folder / MANIFEST_FILE
    try:
        manifest = _from_json(parse_json(path.read_text(encoding="utf-8")))
    except _UNREADABLE as error:
        raise RunError(f"{path}: the manifest cannot be read ({error}); {remedy}") from error
    if manifest.kind != kind:
        raise RunError(f"{path}: describes {manifest.kind!r}, not {kind!r}; {remedy}")
    if manifest.format > format:
        raise RunError(
            f"{path}: was written by a newer version of Gardenpath ({manifest.versions}; format "
            f"{manifest.format}, but this version reads up to {format}); update Gardenpath"
        )
    return manifest


def kind_of_folder(folder: Path) -> str | None:
    """Return the kind named in a folder's manifest; None if there is no readable manifest."""
    try:
        return _from_json(parse_json((folder / MANIFEST_FILE).read_text(encoding="utf-8"))).kind
    except _UNREADABLE:
        return None


def verify_files(
    folder: Path,
    manifest: Manifest,
    *,
    remedy: str,
    names: Iterable[str] | None = None,
    checksums: bool = True,
) -> None:
    """Compare files with their manifest: all of them, or those with the given ``names``.

    Comparing sizes is fast; ``checksums`` reads the files. A :class:`RunError` names the first file
    that is missing or differs, with the ``remedy``.
    """
    for name in manifest.files if names is None else names:
        expected, path = manifest.files.get(name), folder / name
        if expected is None:
            raise RunError(f"{path}: is not in {MANIFEST_FILE} next to it; {remedy}")
        try:
            size = path.stat().st_size
            if size != expected.size:
                problem = f"has {size} bytes instead of {expected.size}"
            elif checksums and sha256_of(path) != expected.sha256:
                problem = "does not have the checksum recorded in the manifest"
            else:
                continue
        except OSError as error:
            problem = f"cannot be read ({error.strerror})"
        raise RunError(f"{path}: is damaged: it {problem}; {remedy}")


def _all_files(folder: Path) -> list[str]:
    return [
        relative.as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not (relative := path.relative_to(folder)).parts[0].startswith(".")
        and not is_leftover(path)
        and relative.as_posix() != MANIFEST_FILE
    ]


def _from_json(content: dict[str, Any]) -> Manifest:
    files = {
        _inside(name): FileRecord(int(record["size"]), str(record["sha256"]))
        for name, record in content["files"].items()
    }
    return Manifest(
        kind=str(content["kind"]),
        format=int(content["format"]),
        fingerprint=str(content["fingerprint"]),
        files=files,
        created=str(content["created"]),
        versions=str(content["versions"]),
        about=dict(content["about"]),
    )


def _inside(name: str) -> str:
    """Raise an error for paths that lead out of the folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError(f"{name!r} is not a path within the folder")
    return name
