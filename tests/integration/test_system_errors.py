"""Errors of the operating system: one line with the path and the remedy, and nothing is lost."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError

from gardenpath.errors import os_problem
from gardenpath.models import weights as tensor_files
from gardenpath.store import files
from gardenpath.store.surprisals import SurprisalStore
from tests.integration.commands import call
from tests.toy_runs import NARROW, run_of

Set = Callable[[Path], str]


@contextmanager
def _failing(number: int, *, below: Path, at: str) -> Iterator[None]:
    """Let the operating system refuse to create, or to finish, files below a folder."""

    def refuse(path: object) -> None:
        if os.fspath(str(path)).startswith(str(below)):
            raise OSError(number, os.strerror(number), None if at == "flush" else str(path))

    with pytest.MonkeyPatch.context() as patch:
        real: Any = getattr(*_PLACES[at])

        def instead(*given: Any, **named: Any) -> Any:
            refuse(named.get("dir", given[0] if given else ""))
            return real(*given, **named)

        patch.setattr(*_PLACES[at], instead)
        yield


_PLACES: dict[str, tuple[Any, str]] = {
    "create": (tempfile, "mkstemp"),
    "folder": (tempfile, "mkdtemp"),
    "flush": (files, "_flush"),
}


def _file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine", encoding="utf-8")
    return path


def _link(path: Path, target: Path) -> Path:
    path.symlink_to(target)
    return path


# What is at the place of the output folder, or of another path.
PATHS: dict[str, Set] = {
    "a file": lambda place: str(_file(place / "taken")),
    "below a file": lambda place: str(_file(place / "taken") / "below"),
    "too long a name": lambda place: str(place / ("n" * 300)),
    "a link to nothing": lambda place: str(_link(place / "link", place / "absent" / "x")),
    "below a link to nothing": lambda place: str(_link(place / "link", place / "absent") / "x"),
    "links in a circle": lambda place: str(_link(place / "link", place / "link")),
}

EVALUATE = {
    "surprisal": ("task=surprisal",),
    "perplexity": ("task=perplexity",),
    "suite": ("suite=toy_english", "suite.items=1", "task.report=false", "task.perplexity=false"),
    "report": ("suite=toy_english", "suite.items=1", "task.perplexity=false"),
}


def _evaluate(task: str, folder: Path, tmp_path: Path, *settings: str) -> int:
    text = tmp_path / "text.txt"
    text.write_text("the boys knew .\n", encoding="utf-8")
    given = [*EVALUATE[task], f"run={run_of(folder, 'ngram').path}",
             f"paths.cache={folder / 'cache'}", f"paths.surprisals={tmp_path / 's.sqlite'}",
             *NARROW]  # fmt: skip
    given += [f"input={text}"] if task == "surprisal" else []
    return call("evaluate.py", *given, *settings)


def _train(tmp_path: Path, *settings: str) -> int:
    small = ("data.reader.train=30", "data.reader.valid=5", "data.reader.test=5", "model=unigram")
    return call(
        "train.py", *small, f"paths.cache={tmp_path / 'cache'}",
        f"paths.runs={tmp_path / 'runs'}", *settings,
    )  # fmt: skip


def _one_line(printed: str) -> str:
    """The message: one line that begins with ``error:`` and has a remedy."""
    assert "Traceback" not in printed
    (line,) = [one for one in printed.splitlines() if one.startswith("error: ")]
    has_remedy = re.search(r"\(.+\)|; ", line)
    assert has_remedy, line
    return line


@pytest.mark.parametrize(
    ("task", "kind"),
    [*((task, kind) for task in ("surprisal", "suite") for kind in PATHS),
     ("report", "a file"), ("perplexity", "a file")],
)  # fmt: skip
def test_an_output_that_cannot_be_written(
    task: str, kind: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = PATHS[kind](tmp_path)
    before = sorted(tmp_path.iterdir())
    code = _evaluate(task, folder, tmp_path, f"output={path}")
    assert code == 2
    assert tmp_path.name in _one_line(capfd.readouterr().err)
    after = [one for one in sorted(tmp_path.iterdir()) if one.name != "text.txt"]
    assert [one for one in after if not one.name.startswith((".s.", "s."))] == before


@pytest.mark.parametrize("name", ["run_dir", "paths.cache"])
@pytest.mark.parametrize("kind", PATHS)
def test_a_training_that_cannot_write(
    kind: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = _train(tmp_path, f"{name}={PATHS[kind](tmp_path)}")
    printed = capfd.readouterr()
    if code == 0:
        assert kind.endswith("to nothing")
        return
    assert code == 2
    assert tmp_path.name in _one_line(printed.err)


@pytest.mark.parametrize("kind", [*PATHS, "a folder"])
def test_a_store_that_cannot_be_written(
    kind: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path) if kind == "a folder" else PATHS[kind](tmp_path)
    code = _evaluate(
        "surprisal", folder, tmp_path, f"paths.surprisals={path}", f"output={tmp_path / 'out'}"
    )
    if code == 0:  # the link is replaced by the file, or its target is created
        assert "link" in kind and SurprisalStore(Path(path)).path.is_file()
        return
    assert code == 2
    assert tmp_path.name in _one_line(capfd.readouterr().err)


@pytest.mark.parametrize("kind", [*PATHS, "a folder"])
def test_an_input_that_cannot_be_read(
    kind: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if kind == "a file":
        return  # that is what an input is
    path = str(tmp_path) if kind == "a folder" else PATHS[kind](tmp_path)
    code = _evaluate("surprisal", folder, tmp_path, f"input={path}", f"output={tmp_path / 'out'}")
    assert code == 2
    assert tmp_path.name in _one_line(capfd.readouterr().err)


NUMBERS = [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EIO, errno.EMFILE]


CASES = [*((number, "create") for number in NUMBERS), (errno.ENOSPC, "flush"),
         (errno.EROFS, "folder"), (errno.EACCES, "folder")]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("number", "at"), CASES)
def test_a_disk_that_refuses(
    number: int, at: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Full, read-only, without permission, over quota, broken, or too many open files."""
    output = tmp_path / "out"
    # A full disk in all tasks; of the other errors, one task shows what all do.
    for task in EVALUATE if (number, at) == CASES[0] else ("suite",):
        with _failing(number, below=output, at=at):
            assert _evaluate(task, folder, tmp_path, f"output={output}") == 2
        line = _one_line(capfd.readouterr().err)
        assert str(output) in line and os.strerror(number) in line and ".part" not in line
        left = [one for one in output.rglob("*") if one.is_file() and ".lock" not in one.name]
        assert left == [], "nothing is half-written"
    runs = tmp_path / "runs"
    with _failing(number, below=runs, at=at):
        assert _train(tmp_path) == 2
    line = _one_line(capfd.readouterr().err)
    assert str(runs) in line and os.strerror(number) in line
    # What was computed is kept: with the disk in order, all of it succeeds.
    assert _train(tmp_path, "existing=resume") == 0
    assert _evaluate("surprisal", folder, tmp_path, f"output={output}") == 0


def test_a_full_disk_in_the_store(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """SQLite says that the disk is full; what was stored before remains."""
    store = tmp_path / "s.sqlite"
    assert _evaluate("surprisal", folder, tmp_path, f"output={tmp_path / 'out'}") == 0
    before = store.read_bytes()
    real = sqlite3.connect

    def full(*given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(*given, **named)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")
        return connection

    text = tmp_path / "long.txt"
    text.write_text("".join(f"the boys {n} .\n" for n in range(400)), encoding="utf-8")
    monkeypatch.setattr(sqlite3, "connect", full)
    options = (f"output={tmp_path / 'other'}", f"input={text}")
    assert _evaluate("surprisal", folder, tmp_path, *options) == 2
    line = _one_line(capfd.readouterr().err)
    assert str(store) in line and "full" in line and "free space" in line
    monkeypatch.undo()
    assert store.read_bytes() == before
    assert _evaluate("surprisal", folder, tmp_path, *options) == 0


def test_a_full_disk_while_weights_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The library reports the error of the system as a text."""

    def full(*_given: Any, **_named: Any) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left (os error 28)")

    monkeypatch.setattr(tensor_files, "save_file", full)
    assert _train(tmp_path) == 2
    line = _one_line(capfd.readouterr().err)
    assert "weights.safetensors: No space left on device (free some space" in line


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_every_error_has_one_line(number: int) -> None:
    line = os_problem(OSError(number, os.strerror(number), "a/b", None, "c"))
    assert line.startswith("a/b → c: ") and line.endswith(")") and "\n" not in line
    assert os_problem(OSError(number, os.strerror(number))).startswith(os.strerror(number))


def test_a_store_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    def refuse(self: SurprisalStore) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self.path))

    monkeypatch.setattr(SurprisalStore, "_create", refuse)
    assert _evaluate("surprisal", folder, tmp_path, f"output={tmp_path / 'out'}") == 2
    assert "s.sqlite: Permission denied (you may not" in _one_line(capfd.readouterr().err)
