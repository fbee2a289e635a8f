"""Prepared corpora: folders in a cache, one for each corpus and set of preparation settings.

The name of a folder is its key (:func:`corpus_key`). Each folder is built once, under a lock, even
if several processes need it, and a manifest with checksums reveals damage.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gardenpath.store.files import build_folder, remove_leftovers
from gardenpath.store.keys import Json, fingerprint
from gardenpath.store.locks import FOREVER, locked
from gardenpath.store.manifest import (
    describe_folder,
    read_manifest,
    verify_files,
    write_manifest,
)

CORPUS_KIND = "corpus"
# Increment whenever the meaning of the content of a prepared corpus changes.
CORPUS_FORMAT = 2

_LOCKS = ".locks"


def corpus_key(**parts: Json) -> str:
    """Return the key of a prepared corpus from everything that determines its content."""
    return fingerprint(CORPUS_KIND, CORPUS_FORMAT, **parts)


def stored_corpus(cache: Path, key: str, build: Callable[[Path], None]) -> Path:
    """Return the folder of a prepared corpus; if it is not in the cache, ``build`` fills it.

    If another process is building the same corpus, this process waits for it. File sizes are
    compared with the manifest.
    """
    folder = cache / key
    if not folder.is_dir():
        lock = cache / _LOCKS / f"{key}.lock"
        with locked(lock, what=f"the prepared corpus {folder}", wait=FOREVER):
            if not folder.is_dir():
                remove_leftovers(cache, key)
                build_folder(folder, lambda temporary: _build(temporary, key, build))
    verify_corpus(folder, checksums=False)
    return folder


def verify_corpus(folder: Path, *, checksums: bool = True) -> None:
    """Compare a prepared corpus with its manifest; ``checksums`` reads all of its files."""
    remedy = f"delete {folder}: it is prepared again when needed"
    manifest = read_manifest(folder, kind=CORPUS_KIND, format=CORPUS_FORMAT, remedy=remedy)
    verify_files(folder, manifest, remedy=remedy, checksums=checksums)


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
