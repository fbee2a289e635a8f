"""Which paths are on a network file system."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.errors import InputError, RunError
from gardenpath.store import files
from gardenpath.store.files import (
    FOREVER,
    build_folder,
    canonical,
    digest,
    exchange,
    fingerprint,
    is_network,
    locked,
    open_text,
    owner_of,
    owner_path,
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

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/scratch xfs rw 0 0
tmpfs /tmp tmpfs rw 0 0
me@host: /mnt/far\\040away fuse.sshfs rw 0 0
/dev/fuse /mnt/near fuse.ntfs rw 0 0
nonsense
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/data/cats", False),
        ("/home/me/cats", True),
        ("/homes/me/cats", False),
        ("/home/scratch/cats", False),
        ("/mnt/far away/cats", True),
        ("/mnt/near/cats", False),
    ],
)
def test_the_longest_mounted_folder_decides(tmp_path: Path, path: str, expected: bool) -> None:
    (tmp_path / "mounts").write_text(MOUNTS, encoding="utf-8")
    assert is_network(Path(path), mounts=tmp_path / "mounts") is expected


def test_a_later_mount_covers_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "mounts").write_text("a /x ext4 rw\nb:/ /x lustre rw\n", encoding="utf-8")
    assert is_network(Path("/x/y"), mounts=tmp_path / "mounts")


def test_a_system_that_does_not_say(tmp_path: Path) -> None:
    assert not is_network(tmp_path, mounts=tmp_path / "absent")


# ----------------------------------------------------------------------------
# Files and folders appear whole or not at all.


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


# ----------------------------------------------------------------------------
# Keys: one form, and different for all that differs.


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


def test_a_key_is_twenty_digits_and_the_same_for_ever() -> None:
    text = r'{"kind":"cats","parts":{"name":"\u732b","sizes":[1,2.5]},"version":1}'
    expected = hashlib.sha256(text.encode()).hexdigest()[:20]
    assert fingerprint("cats", 1, name="猫", sizes=[1, 2.5]) == expected == "b4b01b6af8a29b09aa15"


def test_everything_counts() -> None:
    keys = [
        fingerprint("cats", 1, a=1),
        fingerprint("dogs", 1, a=1),
        fingerprint("cats", 2, a=1),
        fingerprint("cats", 1, a=2),
        fingerprint("cats", 1, b=1),
        fingerprint("cats", 1, a=1, b=1),
        fingerprint("cats", 1, a="1"),
        fingerprint("cats", 1, a=True),
        fingerprint("cats", 1, a=None),
        fingerprint("cats", 1, a=[1]),
        fingerprint("cats", 1, a=["ab", "c"]),
        fingerprint("cats", 1, a=["a", "bc"]),
        fingerprint("cats", 1, a={"b": {"c": 1}}),
        fingerprint("cats", 1),
    ]
    assert len(set(keys)) == len(keys)


def test_order_and_kind_of_sequence_do_not_count() -> None:
    assert fingerprint("cats", 1, a=1, b=[2]) == fingerprint("cats", 1, b=(2,), a=1)
    assert fingerprint("c", 1, a={"x": 1, "y": 2}) == fingerprint("c", 1, a={"y": 2, "x": 1})


@pytest.mark.parametrize(
    "wrong", [{1: "a"}, {1, 2}, b"bytes", Path("x"), [object()], {"a": {2: 3}}]
)
def test_what_json_would_change_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="fingerprint"):
        fingerprint("cats", 1, a=wrong)


@given(values)
def test_canonical_json_means_the_value(value: Any) -> None:
    text = canonical(value)
    assert json.loads(text) == value
    assert text.isascii()


def test_strings_that_are_not_unicode_have_keys() -> None:
    assert fingerprint("cats", 1, a="\udc80") != fingerprint("cats", 1, a="\udc81")
    assert digest("\udc80") != digest("\udc81")


def test_digests_of_texts_are_those_of_their_bytes() -> None:
    assert digest("猫") == digest("猫".encode())
    assert digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_another_process_makes_the_same_key() -> None:
    """Hashes of strings differ between processes, and so may the order of sets."""
    code = (
        "from gardenpath.store.files import fingerprint\n"
        "print(fingerprint('c', 1, a={'x': 1, 'y': 2}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == fingerprint("c", 1, a={"y": 2, "x": 1})


# ----------------------------------------------------------------------------
# Locks: one owner, who is named.


def test_the_owner_is_recorded_while_it_holds_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / "new" / "cats.lock"
    with locked(lock, what="the cat"):
        content = json.loads(owner_path(lock).read_text(encoding="utf-8"))
        assert content["pid"] == os.getpid() and content["host"] == socket.gethostname()
        assert abs(content["since"] - time.time()) < 60
        assert content["command"] == shlex.join(sys.orig_argv)
        owner = owner_of(lock)
        assert owner is not None and owner.pid == os.getpid()
    assert owner_of(lock) is None and not owner_path(lock).exists()


def test_a_second_owner_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "cats.lock"
    with locked(lock, what="the cat"):
        with (
            pytest.raises(RunError, match="the cat is in use by process") as caught,
            locked(lock, what="the cat", remedy="stroke another cat"),
        ):
            raise AssertionError("both hold it")
        said = str(caught.value)
        for part in (f"process {os.getpid()} on {socket.gethostname()} (for 0 s: ", "another cat"):
            assert part in said
    with locked(lock, what="the cat"):
        pass


def test_a_lock_is_released_by_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "lock", what="the cat"):
        raise ZeroDivisionError
    with locked(tmp_path / "lock", what="the cat"):
        pass


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(5, "for 5 s"), (125, "for 2 min"), (3 * 3600 + 5 * 60, "for 3 h 5 min"),
     (2 * 86400 + 4 * 3600, "for 2 d 4 h"), (-100, "for 0 s")],
)  # fmt: skip
def test_the_age_of_an_owner(tmp_path: Path, seconds: int, said: str) -> None:
    lock = tmp_path / "lock"
    record = {"pid": 1, "host": "elsewhere", "since": time.time() - seconds, "command": "x"}
    with locked(lock, what="the cat"):
        owner_path(lock).write_text(json.dumps(record), encoding="utf-8")
        with (
            pytest.raises(RunError, match="process 1 on elsewhere") as caught,
            locked(lock, what="the cat"),
        ):
            pass
    assert said in str(caught.value)


def _record(**changed: str) -> str:
    """A record with other numbers than a process can have, as JSON."""
    values = {"pid": "1", "host": '"elsewhere"', "since": "1.5", "command": '"x"', **changed}
    return "{" + ", ".join(f'"{name}": {value}' for name, value in values.items()) + "}"


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", '{"pid": "x"}', '{"pid": 1}'),
        *(_record(pid=pid) for pid in ("-1e999", "-1", "0", "99999999999999999999")),
        *(_record(since=since) for since in ("1e999", "NaN")),
    ],
)
def test_a_damaged_record_of_an_owner_is_no_obstacle(tmp_path: Path, content: str) -> None:
    lock = tmp_path / "lock"
    owner_path(lock).write_text(content, encoding="utf-8")
    assert owner_of(lock) is None
    with locked(lock, what="the cat"):
        owner_path(lock).write_text(content, encoding="utf-8")
        with pytest.raises(RunError, match="by another process"), locked(lock, what="the cat"):
            pass


def test_a_record_that_a_killed_process_left_is_no_obstacle(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    gone = {"pid": 2**22 + 1, "host": socket.gethostname(), "since": 0.0, "command": "x"}
    owner_path(lock).write_text(json.dumps(gone), encoding="utf-8")
    assert owner_of(lock) is None
    with locked(lock, what="the cat"):
        owner = owner_of(lock)
        assert owner is not None and owner.pid == os.getpid()


@pytest.mark.parametrize("wait", [60.0, FOREVER])
def test_waiting(tmp_path: Path, caplog: pytest.LogCaptureFixture, wait: float) -> None:
    lock, order = tmp_path / "lock", []
    held = threading.Event()

    def hold() -> None:
        with locked(lock, what="the cat"):
            held.set()
            time.sleep(0.2)
            order.append("first")

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with caplog.at_level(logging.INFO), locked(lock, what="the cat", wait=wait):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]
    assert "waiting for the cat, which is in use by process" in caplog.text


def test_waiting_ends(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "lock", what="the cat"),
        pytest.raises(RunError, match="is in use"),
        locked(tmp_path / "lock", what="the cat", wait=0.1),
    ):
        pass


def test_a_folder_that_vanishes_is_made_again(tmp_path: Path) -> None:
    """An owner may remove its lock with the folder, while it holds it."""
    lock = tmp_path / "run" / ".lock"
    with locked(lock, what="the cat"):
        for path in lock.parent.iterdir():
            path.unlink()
        lock.parent.rmdir()
    with locked(lock, what="the cat"):
        assert lock.exists()


def test_a_place_where_no_lock_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with (
        pytest.raises(RunError, match="the lock cannot be taken") as caught,
        locked(tmp_path / "file" / "lock", what="the cat"),
    ):
        pass
    assert str(tmp_path / "file" / "lock") in str(caught.value)
