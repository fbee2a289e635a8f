"""Remembered hashes: unchanged files are not read, and changed ones always are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gardenpath.data.readers import base as file_hashes
from gardenpath.data.readers.base import HASHES_FILE, content_hash, known_hash, remembered_hashes
from gardenpath.store.files import sha256_of


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that counts as old enough."""
    monkeypatch.setattr(file_hashes, "_LEAST_AGE", -(10**12))
    path = tmp_path / "train.txt"
    path.write_text("the cat meows")
    return path


def is_read(path: Path, cache: Path) -> bool:
    """Whether the hash of a file is computed; it must be right either way."""
    read = []

    def compute() -> str:
        read.append(path)
        return sha256_of(path)

    with remembered_hashes(cache):
        assert known_hash(path, "sha256", compute) == sha256_of(path)
    return bool(read)


def test_a_file_is_read_once(corpus: Path, tmp_path: Path) -> None:
    assert is_read(corpus, tmp_path)
    assert not is_read(corpus, tmp_path)
    assert is_read(corpus, tmp_path / "another_cache")
    os.utime(corpus)
    assert is_read(corpus, tmp_path)


def test_a_change_is_noticed_even_if_size_and_time_are_the_same(
    corpus: Path, tmp_path: Path
) -> None:
    assert is_read(corpus, tmp_path)
    before = corpus.stat()
    corpus.write_text("the dog barks")
    os.utime(corpus, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert corpus.stat().st_size == before.st_size
    assert is_read(corpus, tmp_path)


def test_a_replaced_file_is_noticed(corpus: Path, tmp_path: Path) -> None:
    assert is_read(corpus, tmp_path)
    other = tmp_path / "other"
    other.write_text("the dog barks")
    other.replace(corpus)
    assert is_read(corpus, tmp_path)


def test_a_file_that_was_just_written_is_not_trusted(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_hashes, "_LEAST_AGE", 10**15)
    assert is_read(corpus, tmp_path)
    assert is_read(corpus, tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"sha256: x": 3}'])
def test_a_damaged_memory_is_ignored(corpus: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / HASHES_FILE).write_text(content.replace("x", str(corpus)))
    assert is_read(corpus, tmp_path)
    assert not is_read(corpus, tmp_path)


def test_kinds_are_apart(corpus: Path, tmp_path: Path) -> None:
    with remembered_hashes(tmp_path):
        assert known_hash(corpus, "one", lambda: "1") == "1"
        assert known_hash(corpus, "two", lambda: "2") == "2"
        assert known_hash(corpus, "one", lambda: "3") == "1"
    assert content_hash(corpus) == sha256_of(corpus), "without a memory, nothing is remembered"


def test_a_folder_that_cannot_be_written_is_no_reason_to_stop(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert is_read(corpus, tmp_path / "file")
