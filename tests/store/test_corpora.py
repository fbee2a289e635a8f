"""Prepared corpora in the cache: built once, and damage has a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import RunError
from gardenpath.store import manifest as corpora
from gardenpath.store.manifest import corpus_key, stored_corpus, verify_corpus

KEY = corpus_key(corpus="cats", min_count=2)


def build(folder: Path) -> None:
    (folder / "train").mkdir()
    (folder / "train" / "tokens.npy").write_bytes(bytes(64))
    (folder / "vocabulary.json").write_text('{"tokens": ["cat"]}', encoding="utf-8")


def build_again(_folder: Path) -> None:
    raise AssertionError("built again")


def test_keys_follow_their_parts() -> None:
    assert len({KEY, corpus_key(corpus="cats", min_count=3), corpus_key(corpus="dogs")}) == 3


def test_a_corpus_is_built_once(tmp_path: Path) -> None:
    folder = stored_corpus(tmp_path / "cache", KEY, build)
    assert folder == tmp_path / "cache" / KEY
    assert (folder / "train" / "tokens.npy").read_bytes() == bytes(64)
    assert stored_corpus(tmp_path / "cache", KEY, build_again) == folder
    verify_corpus(folder)


def test_a_failing_build_leaves_no_corpus(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        build(folder)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stored_corpus(tmp_path, KEY, fail)
    assert [path.name for path in tmp_path.iterdir()] == [".locks"]
    stored_corpus(tmp_path, KEY, build)


def test_what_a_killed_build_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / f".{KEY}.x1.part").mkdir()
    (tmp_path / f".{KEY}.x1.part" / "half").write_text("", encoding="utf-8")
    (tmp_path / ".another.x1.part").mkdir()
    stored_corpus(tmp_path, KEY, build)
    assert {path.name for path in tmp_path.iterdir()} == {".locks", ".another.x1.part", KEY}


def test_a_truncated_file_is_found_on_load(tmp_path: Path) -> None:
    folder = stored_corpus(tmp_path, KEY, build)
    (folder / "train" / "tokens.npy").write_bytes(bytes(60))
    with pytest.raises(RunError, match=r"tokens\.npy: is damaged: it has 60 bytes") as caught:
        stored_corpus(tmp_path, KEY, build_again)
    assert f"delete {folder}" in str(caught.value)


@pytest.mark.parametrize("name", ["train/tokens.npy", "vocabulary.json"])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_flipped_bit_is_found_on_load(tmp_path: Path, name: str, is_known: bool) -> None:
    folder = stored_corpus(tmp_path, KEY, build)
    if is_known:
        verify_corpus(folder)
    path = folder / name
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError, match="is damaged: it does not have the checksum") as caught:
        stored_corpus(tmp_path, KEY, build_again)
    assert str(path) in str(caught.value)
    assert f"delete {folder}" in str(caught.value)


def test_files_are_read_once_per_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    monkeypatch.setattr(corpora, "verify_files", lambda folder, *_, **__: read.append(folder))
    for _ in range(3):
        folder = stored_corpus(tmp_path, KEY, build)
    assert read == [folder]


def test_a_folder_without_a_manifest_is_no_corpus(tmp_path: Path) -> None:
    (tmp_path / KEY).mkdir()
    with pytest.raises(RunError, match=r"manifest\.json.*delete"):
        stored_corpus(tmp_path, KEY, build_again)
