"""Locks: one owner, who is named."""

from __future__ import annotations

import json
import logging
import os
import shlex
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from gardenpath.errors import RunError
from gardenpath.store.files import FOREVER, locked, owner_of, owner_path


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
