"""Prepared corpora in the cache: built once, and damage has a name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gardenpath.errors import RunError
from gardenpath.store import manifest as corpora
from gardenpath.store.files import locked
from gardenpath.store.manifest import (
    Manifest,
    corpus_key,
    describe_folder,
    kind_of_folder,
    read_manifest,
    read_results_manifest,
    results_folder,
    stored_corpus,
    verify_corpus,
    verify_files,
    write_manifest,
)

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


# ----------------------------------------------------------------------------
# Manifests: damage has a name.


REMEDY = "feed the cat"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files in two folders, and some that are not described."""
    (tmp_path / "sub").mkdir()
    (tmp_path / ".locks").mkdir()
    (tmp_path / "cats.txt").write_text("meow", encoding="utf-8")
    (tmp_path / "sub" / "猫.bin").write_bytes(bytes(1000))
    (tmp_path / ".locks" / "a.lock").write_text("", encoding="utf-8")
    (tmp_path / "sub" / ".cats.x1.part").write_text("half", encoding="utf-8")
    return tmp_path


def described(folder: Path, **options: Any) -> Manifest:
    return describe_folder(folder, kind="cats", format=2, fingerprint="0123", **options)


def read(folder: Path) -> Manifest:
    return read_manifest(folder, kind="cats", format=2, remedy=REMEDY)


def test_a_manifest_comes_back(folder: Path) -> None:
    manifest = described(folder, packages=("numpy",), about={"settings": {"a": [1, None]}})
    assert set(manifest.files) == {"cats.txt", "sub/猫.bin"}
    assert manifest.files["cats.txt"].size == 4
    assert manifest.files["cats.txt"].sha256.startswith("404cdd7bc109")
    assert " numpy " in manifest.versions
    write_manifest(folder, manifest)
    assert read(folder) == manifest
    assert kind_of_folder(folder) == "cats"
    assert set(described(folder).files) == set(manifest.files), "the manifest is not its own"
    verify_files(folder, read(folder), remedy=REMEDY)


def test_some_files(folder: Path) -> None:
    manifest = described(folder, names=["cats.txt"])
    assert set(manifest.files) == {"cats.txt"}
    (folder / "sub" / "猫.bin").unlink()
    verify_files(folder, manifest, remedy=REMEDY)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content))


def test_a_flipped_bit_is_found_by_its_checksum(folder: Path) -> None:
    manifest = described(folder)
    flip(folder / "sub" / "猫.bin")
    verify_files(folder, manifest, remedy=REMEDY, names=["cats.txt"])
    with pytest.raises(RunError, match="does not have the checksum") as caught:
        verify_files(folder, manifest, remedy=REMEDY)
    assert str(folder / "sub" / "猫.bin") in str(caught.value)
    assert str(caught.value).endswith(REMEDY)


def test_other_sizes_and_missing_files_are_found(folder: Path) -> None:
    manifest = described(folder)
    (folder / "cats.txt").write_text("me", encoding="utf-8")
    with pytest.raises(RunError, match=r"cats\.txt: is damaged: it has 2 bytes instead of 4"):
        verify_files(folder, manifest, remedy=REMEDY)
    (folder / "cats.txt").unlink()
    with pytest.raises(RunError, match=r"cats\.txt: is damaged: it cannot be read \(No such file"):
        verify_files(folder, manifest, remedy=REMEDY)


def test_a_file_that_is_not_described_cannot_be_verified(folder: Path) -> None:
    with pytest.raises(RunError, match=r"dogs\.txt: is not in manifest\.json"):
        verify_files(folder, described(folder), remedy=REMEDY, names=["dogs.txt"])


def test_a_manifest_of_another_kind_is_refused(folder: Path) -> None:
    write_manifest(folder, replace(described(folder), kind="dogs"))
    with pytest.raises(RunError, match="describes 'dogs', not 'cats'; feed the cat"):
        read(folder)


def test_a_newer_manifest_is_refused(folder: Path) -> None:
    write_manifest(folder, replace(described(folder), format=3))
    with pytest.raises(RunError, match=r"newer version of Gardenpath .* update Gardenpath"):
        read(folder)
    write_manifest(folder, replace(described(folder), format=1))
    with pytest.raises(RunError, match=r"format 1 of a version before 0\.2\.0.*; feed the cat"):
        read(folder)


_INFINITE = '{"files": {"cats.txt": {"size": 1e999, "sha256": ""}}}'


@pytest.mark.parametrize("content", ["", "{", "[]", '"x"', "{}", '{"files": []}', _INFINITE])
def test_a_damaged_manifest_is_named(folder: Path, content: str) -> None:
    (folder / "manifest.json").write_text(content, encoding="utf-8")
    assert kind_of_folder(folder) is None
    with pytest.raises(RunError, match=r"manifest\.json: the manifest cannot be read"):
        read(folder)


@pytest.mark.parametrize("name", ["../cats.txt", "/etc/passwd", "sub/../../x", ""])
def test_paths_that_lead_out_of_the_folder_are_refused(folder: Path, name: str) -> None:
    write_manifest(folder, described(folder))
    path = folder / "manifest.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["files"][name] = {"size": 1, "sha256": ""}
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(RunError, match="is not a path within the folder"):
        read(folder)


# ----------------------------------------------------------------------------
# Results: replaced as a whole, and nothing else is.


ABOUT = {"command": "evaluate.py suite=cats", "runs": {"runs/a": "0123"}, "settings": {"k": 1}}


def write(path: Path, text: str, *names: str) -> None:
    with results_folder(path, about=ABOUT) as folder:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def names(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def refused(path: Path, match: str) -> str:
    with pytest.raises(RunError, match=match) as caught, results_folder(path, about=ABOUT):
        raise AssertionError("computed, only to be refused")
    return str(caught.value)


def test_results_have_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "results" / "cats"
    write(path, "new", "items.csv", "figures/a.svg")
    manifest = read_results_manifest(path)
    assert manifest.kind == "results" and manifest.about == ABOUT
    assert set(manifest.files) == {"items.csv", "figures/a.svg"}
    assert " torch " in manifest.versions and len(manifest.fingerprint) == 20
    verify_files(path, manifest, remedy="evaluate again")
    assert {one.name for one in path.parent.iterdir()} == {"cats", ".cats.lock"}


def test_nothing_stale_stays(tmp_path: Path) -> None:
    path = tmp_path / "cats"
    write(path, "old", "items.csv", "figures/a.svg", "statistics/old.csv")
    write(path, "new", "items.csv", "figures/b.svg")
    assert names(path) == {"items.csv", "figures/b.svg", "manifest.json"}
    assert (path / "items.csv").read_text(encoding="utf-8") == "new"


def test_a_failure_leaves_the_old_results(tmp_path: Path) -> None:
    path = tmp_path / "cats"
    write(path, "old", "items.csv")
    with pytest.raises(ZeroDivisionError), results_folder(path, about=ABOUT) as folder:
        (folder / "items.csv").write_text("half", encoding="utf-8")
        raise ZeroDivisionError
    assert names(path) == {"items.csv", "manifest.json"}
    assert (path / "items.csv").read_text(encoding="utf-8") == "old"
    verify_files(path, read_results_manifest(path), remedy="")


def test_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "cats").mkdir()
    write(tmp_path / "cats", "new", "items.csv")
    assert names(tmp_path / "cats") == {"items.csv", "manifest.json"}


@pytest.mark.parametrize(
    "mine",
    [
        {"thesis.tex"},
        {"items.csv"},
        {"items.csv", "report.html"},
        {"items.csv", "report.html", "notes.txt"},
    ],
)
def test_other_folders_are_refused(tmp_path: Path, mine: set[str]) -> None:
    (tmp_path / "cats").mkdir()
    for name in mine:
        (tmp_path / "cats" / name).write_text("mine", encoding="utf-8")
    said = refused(tmp_path / "cats", "no evaluation wrote")
    assert "output=" in said and "move them" in said
    assert names(tmp_path / "cats") == mine


@pytest.mark.parametrize("mine", ["notes.txt", "statistics/mine.csv"])
def test_files_of_others_beside_results_are_safe(tmp_path: Path, mine: str) -> None:
    path = tmp_path / "cats"
    write(path, "old", "items.csv", "statistics/a.csv")
    (path / mine).write_text("mine", encoding="utf-8")
    assert mine in refused(path, "no evaluation wrote")
    assert (path / mine).exists() and (path / "items.csv").exists()
    (path / mine).unlink()
    (path / ".DS_Store").write_text("", encoding="utf-8")
    write(path, "new", "items.csv")


def test_a_run_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for name in ("config.yaml", "result.json", "manifest.json"):
        (tmp_path / "run" / name).write_text("{}", encoding="utf-8")
    refused(tmp_path / "run", "no evaluation wrote")


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cats").write_text("mine", encoding="utf-8")
    refused(tmp_path / "cats", "is a file")


def test_a_folder_that_is_being_written_is_refused(tmp_path: Path) -> None:
    with (
        results_folder(tmp_path / "cats", about=ABOUT) as folder,
        pytest.raises(RunError, match=r"results folder .*cats is in use by process") as caught,
        results_folder(tmp_path / "cats", about=ABOUT, wait=0.05),
    ):
        (folder / "items.csv").write_text("new", encoding="utf-8")
    assert "output=" in str(caught.value)
    with locked(tmp_path / ".cats.lock", what="it"):
        pass


def test_a_linked_folder_is_replaced_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "disk" / "results")
    write(tmp_path / "results", "new", "items.csv")
    assert (tmp_path / "results").is_symlink()
    assert names(tmp_path / "disk" / "results") == {"items.csv", "manifest.json"}
    assert (tmp_path / "disk" / ".results.lock").exists()
