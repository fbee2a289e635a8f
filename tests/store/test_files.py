"""Files and folders appear whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.store import files
from gardenpath.store.files import (
    build_folder,
    exchange,
    open_text,
    read_text,
    recover_folder,
    remove_leftovers,
    require_writable,
    sha256_of,
    swap_folder,
    whole_file,
    write_bytes,
    write_json,
    write_text,
)
from tests.no_skips import NEEDS_PROC


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


def test_bytes_and_their_hash(tmp_path: Path) -> None:
    content = bytes(range(256)) * 9000  # more than one block
    write_bytes(tmp_path / "cats.bin", content)
    assert (tmp_path / "cats.bin").read_bytes() == content
    assert sha256_of(tmp_path / "cats.bin") == hashlib.sha256(content).hexdigest()


def test_lines_of_a_text(tmp_path: Path) -> None:
    (tmp_path / "cats.txt").write_text("猫\ncat\n", encoding="utf-8")
    with open_text(tmp_path / "cats.txt") as lines:
        assert list(lines) == ["猫\n", "cat\n"]
    (tmp_path / "cats.txt").write_bytes(b"cat\ncat\nc\xe4t\n")
    with (
        pytest.raises(InputError, match=r"cats\.txt:3: is not UTF-8 text"),
        open_text(tmp_path / "cats.txt") as lines,
    ):
        list(lines)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason=NEEDS_PROC)
def test_content_is_on_disk_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of flushes and renames, which only a power failure would show."""
    events: list[str] = []
    flush, replace, rename = os.fsync, Path.replace, Path.rename

    def noted_flush(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        events.append(f"flush {path.name.split('.')[-1]}")
        flush(handle)

    def noted_replace(self: Path, target: Path) -> Path:
        events.append(f"rename {target.name}")
        return replace(self, target)

    def noted_rename(self: Path, target: Path) -> Path:
        events.append(f"rename {target.name}")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", noted_flush)
    monkeypatch.setattr(Path, "replace", noted_replace)
    monkeypatch.setattr(Path, "rename", noted_rename)
    with whole_file(tmp_path / "cats.txt") as temporary:
        temporary.write_text("meow")
    assert events == ["flush part", "rename cats.txt", f"flush {tmp_path.name}"]
    events.clear()

    def build(folder: Path) -> None:
        (folder / "a.txt").write_text("meow")

    build_folder(tmp_path / "folder", build)
    assert events == ["flush txt", "flush part", "rename folder", f"flush {tmp_path.name}"]


# ---- Folders that replace others


@pytest.fixture(params=["exchange", "renames"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With and without a system that exchanges folders in one step."""
    if request.param == "renames":
        monkeypatch.setattr(files, "exchange", lambda *_: False)
    return str(request.param)


def fill(folder: Path, text: str) -> None:
    for name in ("a.txt", f"only_{text}.txt"):
        (folder / name).write_text(text)


def test_two_paths_are_exchanged(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        fill(tmp_path / name, name)
    if not exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this system cannot exchange folders")
    assert names(tmp_path / "one") == ["a.txt", "only_other.txt"]
    assert names(tmp_path / "other") == ["a.txt", "only_one.txt"]
    assert not exchange(tmp_path / "one", tmp_path / "absent")


def test_a_folder_is_swapped_in_as_a_whole(tmp_path: Path, way: str) -> None:
    path = tmp_path / "results" / "cats"
    for text, before in (("old", []), ("new", ["a.txt", "only_old.txt"])):
        with swap_folder(path) as temporary:
            fill(temporary, text)
            assert temporary.parent == path.parent
            assert (names(path) if path.exists() else []) == before
        assert names(path) == ["a.txt", f"only_{text}.txt"]
        assert names(path.parent) == ["cats"]


def test_a_failure_leaves_the_old_folder(tmp_path: Path, way: str) -> None:
    with swap_folder(tmp_path / "cats") as temporary:
        fill(temporary, "old")
    with pytest.raises(_FailureError), swap_folder(tmp_path / "cats") as temporary:
        fill(temporary, "new")
        raise _FailureError
    assert names(tmp_path / "cats") == ["a.txt", "only_old.txt"]
    assert names(tmp_path) == ["cats"]


def test_a_file_is_not_swapped_for_a_folder(tmp_path: Path, way: str) -> None:
    (tmp_path / "cats").write_text("a file")
    with pytest.raises(NotADirectoryError), swap_folder(tmp_path / "cats"):
        pass
    assert names(tmp_path) == ["cats"] and (tmp_path / "cats").read_text() == "a file"


@pytest.mark.parametrize("is_in_place", [False, True])
def test_leftovers_are_recognised(tmp_path: Path, is_in_place: bool) -> None:
    """Killed between two renames the old folder comes back; after them it is removed."""
    for name in (".cats.x1.old", ".cats.x2.part"):
        (tmp_path / name).mkdir()
        fill(tmp_path / name, "old" if name.endswith("old") else "half")
    (tmp_path / ".dogs.x1.part").mkdir()
    (tmp_path / "cats.part").mkdir()
    if is_in_place:
        (tmp_path / "cats").mkdir()
        fill(tmp_path / "cats", "new")
    recover_folder(tmp_path / "cats")
    found = "new" if is_in_place else "old"
    assert names(tmp_path / "cats") == ["a.txt", f"only_{found}.txt"]
    assert names(tmp_path) == [".dogs.x1.part", "cats", "cats.part"], "others' stay"
    remove_leftovers(tmp_path)
    assert names(tmp_path) == ["cats", "cats.part"]


def test_leftovers_that_are_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("meow")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / ".x.y.part").symlink_to(tmp_path / "mine")
    remove_leftovers(tmp_path / "folder")
    remove_leftovers(tmp_path / "absent")
    assert names(tmp_path / "folder") == [] and names(tmp_path / "mine") == ["a.txt"]


def test_errors_name_the_target_and_not_a_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for error in (
        OSError(errno.ENOSPC, "full"),
        OSError(errno.ENOSPC, "full", str(tmp_path / ".a.txt.xyz.part")),
        OSError("54 requested and 44 written"),  # NumPy on a full disk
    ):
        with pytest.raises(OSError, match="No space left") as caught, whole_file(path):
            raise error
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    with pytest.raises(PermissionError) as other, whole_file(path):
        raise PermissionError(errno.EACCES, "no", "elsewhere")
    assert other.value.filename == "elsewhere"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named_before_work_begins(tmp_path: Path) -> None:
    require_writable(tmp_path / "new" / "below")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(NotADirectoryError, match="file"):
        require_writable(tmp_path / "file" / "below")
    (tmp_path / "link").symlink_to(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match="is a link to"):
        require_writable(tmp_path / "link" / "below")
