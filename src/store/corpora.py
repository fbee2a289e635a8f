"""Prepared corpora: folders in a cache, one for each corpus and set of preparation settings.

The name of a folder is its key (:func:`corpus_key`). Each folder is built once, under a lock, even
if several processes need it, and a manifest with checksums reveals damage. While a corpus is built,
a hidden folder next to it keeps what was read, so that an interrupted build resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gardenpath.errors import GardenpathError, RunError
from gardenpath.store.files import build_folder, remove_leftovers, remove_tree
from gardenpath.store.keys import Json, fingerprint
from gardenpath.store.locks import FOREVER, locked
from gardenpath.store.manifest import (
    Manifest,
    describe_folder,
    read_manifest,
    verify_files,
    write_manifest,
)

CORPUS_KIND = "corpus"
# Increment whenever the meaning of the content of a prepared corpus changes.
CORPUS_FORMAT = 2

_LOCKS = ".locks"
_UNFINISHED = ".unfinished"

# The folders that this process has verified, with the state of their files.
_verified: dict[Path, list[tuple[str, int, int, int] | None]] = {}


def corpus_key(**parts: Json) -> str:
    """Return the key of a prepared corpus from everything that determines its content."""
    return fingerprint(CORPUS_KIND, CORPUS_FORMAT, **parts)


def stored_corpus(cache: Path, key: str, build: Callable[[Path], None]) -> Path:
    """Return the folder of a prepared corpus; if it is not in the cache, ``build`` fills it.

    If another process is building the same corpus, this process waits for it. All files are
    compared with the manifest, once per process unless they change.
    """
    folder = cache / key
    if not folder.is_dir():
        lock = cache / _LOCKS / f"{key}.lock"
        with locked(lock, what=f"the prepared corpus {folder}", wait=FOREVER):
            if not folder.is_dir():
                remove_leftovers(cache, key)
                build_folder(folder, lambda temporary: _build(temporary, key, build))
    verify_corpus(folder)
    return folder


@contextmanager
def unfinished_corpus(cache: Path, key: str) -> Iterator[Path]:
    """Yield the folder of what was read of a corpus so far; it is removed when the block ends.

    It is kept if the block is interrupted or the system fails, but not if the corpus is at fault:
    a corrected corpus has another key. The caller must hold the lock of the corpus.
    """
    folder = cache / f".{key}{_UNFINISHED}"
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
    state = _state(folder, manifest)
    if _verified.get(folder) != state:
        verify_files(folder, manifest, remedy=remedy)
        _verified[folder] = state


def _state(folder: Path, manifest: Manifest) -> list[tuple[str, int, int, int] | None]:
    """Return what changes whenever a file of the folder or its checksum changes."""
    found: list[tuple[str, int, int, int] | None] = []
    for name, record in manifest.files.items():
        try:
            status = (folder / name).stat()
        except OSError:
            found.append(None)
            continue
        found.append((record.sha256, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return found


def _build(folder: Path, key: str, build: Callable[[Path], None]) -> None:
    build(folder)
    manifest = describe_folder(
        folder,
        kind=CORPUS_KIND,
        format=CORPUS_FORMAT,
        fingerprint=key,
        packages=("numpy", "sentencepiece"),
    )
    write_manifest(folder, manifest)
