"""Why a training ended: written into its own run folder only, and removed when it starts again."""

from __future__ import annotations

import errno
import json
from datetime import datetime
from pathlib import Path

import pytest

from gardenpath.errors import DivergedError, RunError, TrainingStoppedError
from gardenpath.store.run_claim import (
    Existing,
    claim,
    clear_failure,
    failures_recorded,
    read_failure,
    write_failure,
)
from gardenpath.store.run_folder import RunFolder
from tests.store.old_run import CONFIG, write_words


def failed(
    folder: RunFolder, error: BaseException, *, begins: bool = True, existing: Existing = "refuse"
) -> None:
    """Let a training fail."""
    with (
        pytest.raises(type(error)),
        claim(folder, CONFIG, existing=existing) as claimed,
        failures_recorded(claimed),
    ):
        if begins:
            claimed.begin(CONFIG, write_words)
        raise error


@pytest.mark.parametrize(
    ("error", "kind", "message", "step"),
    [
        (DivergedError("the loss is nan", step=7), "diverged", "the loss is nan", 7),
        (
            TrainingStoppedError("stopped by SIGTERM", signal=15),
            "interrupted",
            "stopped by SIGTERM",
            None,
        ),
        (RunError("two\n  lines"), "error", "two lines", None),
        (
            OSError(errno.ENOSPC, "full", "/a"),
            "error",
            "/a: full (free some space, or choose another disk)",
            None,
        ),
        (ZeroDivisionError("by zero"), "error", "ZeroDivisionError: by zero", None),
        (KeyboardInterrupt(), "interrupted", "KeyboardInterrupt", None),
    ],
)
def test_what_is_recorded(
    tmp_path: Path, error: BaseException, kind: str, message: str, step: int | None
) -> None:
    folder = RunFolder(tmp_path / "run")
    failed(folder, error)
    failure = read_failure(folder)
    assert failure is not None
    assert (failure.kind, failure.message.strip(), failure.step) == (kind, message, step)
    assert datetime.fromisoformat(failure.time).tzinfo is not None
    content = json.loads(folder.failure_path.read_text(encoding="utf-8"))
    assert set(content) == {"kind", "message", "step", "time"}


def test_a_new_start_removes_it(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    choices: tuple[Existing, ...] = ("resume", "overwrite")
    for existing in choices:
        failed(folder, RunError("broken"), existing="overwrite" if folder.is_begun else "refuse")
        assert read_failure(folder) is not None
        with claim(folder, CONFIG, existing=existing) as claimed:
            assert read_failure(folder) is not None, "only when it begins"
            claimed.begin(CONFIG, write_words)
            assert read_failure(folder) is None
    clear_failure(folder)


def test_before_it_begins_a_training_writes_nothing(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    failed(folder, RunError("no corpus"), begins=False)
    assert not folder.path.exists()


@pytest.mark.parametrize("is_finished", [False, True])
def test_the_run_that_was_to_be_replaced_has_not_failed(tmp_path: Path, is_finished: bool) -> None:
    folder = RunFolder(tmp_path / "run")
    with claim(folder, CONFIG) as claimed:
        claimed.begin(CONFIG, write_words)
        folder.weights_path.write_bytes(b"weights")
        if is_finished:
            claimed.finish({})
    failed(folder, RunError("no corpus"), begins=False, existing="overwrite")
    assert not folder.failure_path.exists()


def test_a_resumed_run_fails_before_it_begins_again(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with claim(folder, CONFIG) as claimed:
        claimed.begin(CONFIG, write_words)
    failed(folder, RunError("no corpus"), begins=False, existing="resume")
    failure = read_failure(folder)
    assert failure is not None and failure.message == "no corpus"


_ENDLESS = '{"kind": "error", "message": "", "step": 1e999, "time": ""}'
_ODD = '{"kind": "odd", "message": "", "step": null, "time": ""}'


@pytest.mark.parametrize("content", ["", "[]", "{}", _ODD, _ENDLESS, "[" * 10**5])
def test_the_failure_of_a_damaged_file_is_unknown(tmp_path: Path, content: str) -> None:
    folder = RunFolder(tmp_path)
    folder.failure_path.write_text(content, encoding="utf-8")
    failure = read_failure(folder)
    assert failure is not None and failure.kind == "unknown"
    assert "failure.json cannot be read" in failure.message


def test_messages_are_one_line_of_bounded_length(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    write_failure(folder, "error", "a\nb " * 10**5)
    failure = read_failure(folder)
    assert failure is not None
    assert failure.message.startswith("a b a b") and len(failure.message) <= 1000


def test_leftovers_of_a_killed_writer_are_removed_by_the_next_claim(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with claim(folder, CONFIG) as claimed:
        claimed.begin(CONFIG, write_words)
    for place in (folder.path, folder.checkpoint_path.parent, folder.diverged_path):
        place.mkdir(exist_ok=True)
        (place / ".last.ckpt.abc.part").write_bytes(b"half")
        (place / "notes.txt").write_text("mine", encoding="utf-8")
    with claim(folder, CONFIG, existing="resume"):
        assert not list(folder.path.rglob("*.part"))
        assert len(list(folder.path.rglob("notes.txt"))) == 3


def test_files_of_a_divergence_are_replaced_with_the_run(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    failed(folder, DivergedError("nan", step=1))
    folder.diverged_path.mkdir()
    for name in ("batch.safetensors", "sentences.txt", "notes.txt"):
        (folder.diverged_path / name).write_text(name, encoding="utf-8")
    with claim(folder, CONFIG, existing="overwrite") as claimed:
        claimed.begin(CONFIG, write_words)
    assert [path.name for path in folder.diverged_path.iterdir()] == ["notes.txt"]
