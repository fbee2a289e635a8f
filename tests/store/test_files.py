"""Files and folders appear whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.store.files import build_folder, read_text, whole_file, write_json, write_text


class _FailureError(Exception):
    """Stands for anything that may go wrong."""


def names(folder: Path) -> list[str]:
    """Everything in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def test_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cats.txt"
    with whole_file(path) as temporary:
        temporary.write_text("meow")
        assert not path.exists()
    assert path.read_text() == "meow"
    assert names(path.parent) == ["cats.txt"]


def test_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "cats.txt"
    path.write_text("old")
    with pytest.raises(_FailureError), whole_file(path) as temporary:
        temporary.write_text("half of the n")
        raise _FailureError
    assert path.read_text() == "old"
    assert names(tmp_path) == ["cats.txt"]


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "cats.txt", "meow")
        build_folder(tmp_path / "folder", lambda _folder: None)
    finally:
        os.umask(before)
    assert (tmp_path / "cats.txt").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o750


def test_text_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "cats.txt"
    path.write_bytes("\ufeff猫\r\ncat".encode())
    assert read_text(path) == read_text(str(path)) == "猫\ncat"


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.txt: cannot be read: No such file"):
        read_text(tmp_path / "absent.txt")
    (tmp_path / "cats.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"cats\.txt: is not UTF-8 text"):
        read_text(tmp_path / "cats.txt")


def test_json(tmp_path: Path) -> None:
    content = {"猫": [1, 2.5, None]}
    write_json(tmp_path / "cats.json", content)
    text = (tmp_path / "cats.json").read_text(encoding="utf-8")
    assert json.loads(text) == content
    assert "猫" in text and text.endswith("\n")


def test_build_folder(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "cats"

    def build(folder: Path) -> None:
        assert not path.exists()
        (folder / "a.txt").write_text("meow")

    assert build_folder(path, build) is True
    assert names(path.parent) == ["cats"]
    assert (path / "a.txt").read_text() == "meow"


def test_slower_builder_takes_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "cats"

    def overtaken(folder: Path) -> None:
        (folder / "a.txt").write_text("slow")
        path.mkdir()
        (path / "a.txt").write_text("fast")

    assert build_folder(path, overtaken) is False
    assert (path / "a.txt").read_text() == "fast"
    assert names(tmp_path) == ["cats"]


def test_failing_build_leaves_nothing(tmp_path: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "a.txt").write_text("half")
        raise _FailureError

    with pytest.raises(_FailureError):
        build_folder(tmp_path / "cats", build)
    assert names(tmp_path) == []


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "cats").write_text("a file")
    with pytest.raises(OSError):
        build_folder(tmp_path / "cats", lambda _folder: None)
    assert names(tmp_path) == ["cats"]
