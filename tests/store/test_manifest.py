"""Manifests: damage has a name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gardenpath.errors import RunError
from gardenpath.store.manifest import (
    Manifest,
    describe_folder,
    kind_of_folder,
    read_manifest,
    verify_files,
    write_manifest,
)

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
    verify_files(folder, manifest, remedy=REMEDY, checksums=False)
    verify_files(folder, manifest, remedy=REMEDY, names=["cats.txt"])
    with pytest.raises(RunError, match="does not have the checksum") as caught:
        verify_files(folder, manifest, remedy=REMEDY)
    assert str(folder / "sub" / "猫.bin") in str(caught.value)
    assert str(caught.value).endswith(REMEDY)


@pytest.mark.parametrize("checksums", [False, True])
def test_other_sizes_and_missing_files_are_always_found(folder: Path, checksums: bool) -> None:
    manifest = described(folder)
    (folder / "cats.txt").write_text("me", encoding="utf-8")
    with pytest.raises(RunError, match=r"cats\.txt: is damaged: it has 2 bytes instead of 4"):
        verify_files(folder, manifest, remedy=REMEDY, checksums=checksums)
    (folder / "cats.txt").unlink()
    with pytest.raises(RunError, match=r"cats\.txt: is damaged: it cannot be read \(No such file"):
        verify_files(folder, manifest, remedy=REMEDY, checksums=checksums)


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
    assert read(folder).format == 1


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
