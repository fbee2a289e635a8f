"""Trainings that are killed or stopped at any point go on as if nothing had happened."""

from __future__ import annotations

import functools
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gardenpath.errors import TrainingStoppedError
from gardenpath.models.ngram.model import KneserNeyFamily
from gardenpath.models.training.checkpoints import stop_signals
from gardenpath.runs import training
from gardenpath.store.files import owner_path
from gardenpath.store.run_folder import RunFolder, read_failure
from tests import small_runs
from tests.concurrency import kills
from tests.concurrency.kills import (
    OVERFITTING,
    differences,
    exit_code,
    kill_training_at_random,
    send_in,
    start_training,
)
from tests.integration.commands import ROOT

_OFTEN = (*OVERFITTING, "trainer.checkpoint_steps=1")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    run = small_runs.run(tmp_path_factory.mktemp("whole"), *OVERFITTING)
    losses, rates = (small_runs.column(run, name) for name in ("valid/loss", "learning_rate"))
    assert len(losses) == 8, "early stopping ended it"
    assert losses.index(min(losses)) == 5
    assert rates[3] > rates[4], "the rate was lowered after the fourth epoch"
    return run


def _killed(folder: Path, *overrides: str, before: Callable[[], None]) -> None:
    if not (folder / "corpus").exists():
        small_runs.write_corpus(folder / "corpus")
    assert exit_code(start_training(folder, *overrides, before=before)) == -signal.SIGKILL


def _resumed(folder: Path, *overrides: str) -> RunFolder:
    return small_runs.run(folder, *overrides, "existing=resume")


# In the fourth epoch: the first batch of its validation, its last, after it; and in the fifth.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "number", "every"),
    [
        ("validation_step", 7, 1),
        ("validation_step", 8, 6),
        ("on_validation_epoch_end", 4, 2),
        ("on_train_epoch_end", 4, 1),
        ("training_step", 27, 0),
        ("training_step", 27, 1),
    ],
)
def test_killed_around_a_validation(
    expected: RunFolder, tmp_path: Path, method: str, number: int, every: int
) -> None:
    overrides = (*OVERFITTING, f"trainer.checkpoint_steps={every}")
    _killed(tmp_path, *overrides, before=send_in(method, number, signal.SIGKILL))
    assert differences(_resumed(tmp_path, *overrides), expected) == []


@pytest.mark.slow
def test_killed_in_every_validation(expected: RunFolder, tmp_path: Path) -> None:
    """Each process trains to the next validation, resumes there, and is killed in the one after."""
    batches = 2
    epochs = len(small_runs.metrics(expected))
    _killed(tmp_path, *_OFTEN, before=send_in("validation_step", 1, signal.SIGKILL))
    for _ in range(epochs - 1):
        _killed(tmp_path, *_OFTEN, before=send_in("validation_step", batches + 1, signal.SIGKILL))
    assert differences(_resumed(tmp_path, *_OFTEN), expected) == []


@pytest.mark.slow
def test_killed_while_files_are_written(expected: RunFolder, tmp_path: Path) -> None:
    """Before every so many-th step on a file of the run folder, also of a resumed run."""
    small_runs.write_corpus(tmp_path / "corpus")
    run = RunFolder(Path(small_runs.settings(tmp_path, *_OFTEN).run_dir))
    killed = 0
    for step in (3, 12, 25, 35, 45, 55, 65, 10**6):
        process = start_training(
            tmp_path, *_OFTEN, before=functools.partial(kills.die_at, step, str(run.path))
        )
        killed += exit_code(process) == -signal.SIGKILL
    assert killed >= 6
    assert differences(run, expected) == []


def test_killed_after_early_stopping(expected: RunFolder, tmp_path: Path) -> None:
    """What is resumed then is not trained any further."""
    run = small_runs.run(tmp_path, *OVERFITTING)
    (run / "result.json").unlink()
    assert differences(_resumed(tmp_path, *OVERFITTING), expected) == []


@pytest.mark.slow
@pytest.mark.parametrize("limit", [10, 18])
def test_a_limit_of_steps_is_kept(tmp_path: Path, limit: int) -> None:
    overrides = (*_OFTEN, f"trainer.max_steps={limit}")
    whole = small_runs.run(tmp_path / "whole", *overrides)
    assert small_runs.column(whole, "step")[-1] == limit
    for number, method in ((9, "training_step"), (1, "training_step"), (1, "validation_step")):
        _killed(tmp_path, *overrides, before=send_in(method, number, signal.SIGKILL))
    resumed = _resumed(tmp_path, *overrides)
    assert differences(resumed, whole) == []
    (resumed / "result.json").unlink()
    assert differences(_resumed(tmp_path, *overrides), whole) == []


@pytest.mark.slow
def test_killed_at_random(expected: RunFolder, tmp_path: Path) -> None:
    report = kill_training_at_random(7, tmp_path, expected, *_OFTEN, kills=4)
    assert report.kills >= 1
    assert report.differences == ()


# ----------------------------------------------------------------------------
# Signals of schedulers and Ctrl-C: a checkpoint, one line, an exit code, and the same result.


Change = Callable[[], None]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return small_runs.run(tmp_path_factory.mktemp("whole"), *OVERFITTING)


def stopped(folder: Path, before: Change, *overrides: str) -> tuple[int, RunFolder]:
    """The exit code of a training that changes itself first, and its folder."""
    chosen = overrides or OVERFITTING
    if not (folder / "corpus").exists():
        small_runs.write_corpus(folder / "corpus")
    code = exit_code(start_training(folder, *chosen, before=before))
    return code, RunFolder(Path(small_runs.settings(folder, *chosen).run_dir))


def steps_saved(run: RunFolder) -> int:
    return int(torch.load(run / "checkpoints/last.ckpt", weights_only=True)["global_step"])


# Within an epoch, in its last batch, in its validation, and in the last epoch.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "number", "sent", "step"),
    [
        ("training_step", 21, signal.SIGTERM, 21),
        ("training_step", 24, signal.SIGUSR1, 24),
        ("validation_step", 7, signal.SIGUSR2, 24),
        ("validation_step", 8, signal.SIGINT, 24),
        ("on_train_epoch_end", 8, signal.SIGTERM, 48),
    ],
)
def test_the_current_batch_is_finished_and_saved(
    uninterrupted: RunFolder,
    tmp_path: Path,
    method: str,
    number: int,
    sent: signal.Signals,
    step: int,
) -> None:
    code, run = stopped(tmp_path, send_in(method, number, sent))
    assert code == 128 + sent
    assert steps_saved(run) == step
    failure = read_failure(run)
    assert failure is not None and failure.kind == "interrupted"
    assert failure.message == (
        f"{run.path}: stopped by {sent.name}; checkpoint written; continue with existing=resume"
    )
    resumed = small_runs.run(tmp_path, *OVERFITTING, "existing=resume")
    assert differences(resumed, uninterrupted) == []
    assert read_failure(run) is None


def test_a_second_interrupt_ends_it_at_once(tmp_path: Path) -> None:
    def twice() -> None:
        send_in("training_step", 9, signal.SIGINT)()
        send_in("training_step", 9, signal.SIGINT)()

    code, run = stopped(tmp_path, twice)
    assert code == 130
    assert steps_saved(run) == 6, "that of the first epoch"


def test_the_handler_of_a_launcher_is_called_when_all_is_written(
    uninterrupted: RunFolder, tmp_path: Path
) -> None:
    """As that of submitit, which requeues its job and ends the process."""
    seen = tmp_path / "seen"

    def before() -> None:
        folder = RunFolder(Path(small_runs.settings(tmp_path, *OVERFITTING).run_dir))

        def requeue(number: int, _frame: object) -> None:
            held = owner_path(folder / ".lock").exists()
            seen.write_text(f"{number} {steps_saved(folder)} {held}", encoding="utf-8")
            os._exit(77)

        signal.signal(signal.SIGUSR2, requeue)
        send_in("training_step", 9, signal.SIGUSR2)()

    code, _ = stopped(tmp_path, before)
    assert code == 77
    assert seen.read_text(encoding="utf-8") == f"{int(signal.SIGUSR2)} 9 False"
    assert (
        differences(small_runs.run(tmp_path, *OVERFITTING, "existing=resume"), uninterrupted) == []
    )


@pytest.mark.slow
@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize("sent", [signal.SIGUSR1, signal.SIGTERM])
def test_a_slurm_job_is_requeued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, array: bool, sent: signal.Signals
) -> None:
    """A termination is not: the scheduler requeues a job that it preempts, or it was cancelled."""
    command = tmp_path / "bin" / "scontrol"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/requeued\n', encoding="utf-8")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)
    job = {"JOB_ID": "12", "JOB_NAME": "seeds", "NTASKS": "1", "PROCID": "0", "LOCALID": "0",
           "NODEID": "0"}  # fmt: skip
    if array:
        job |= {"ARRAY_JOB_ID": "10", "ARRAY_TASK_ID": "3"}
    for name, value in job.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    code, run = stopped(tmp_path, send_in("training_step", 9, sent))
    assert (code, steps_saved(run)) == (128 + sent, 9)
    requeued = tmp_path / "requeued"
    if sent == signal.SIGTERM:
        assert not requeued.exists()
    else:
        said = requeued.read_text(encoding="utf-8")
        assert said == ("requeue 10_3\n" if array else "requeue 12\n")
    assert not list(run.path.glob("hpc_ckpt*")), "nothing of Lightning's own handler"


def _kill_in(owner: Any, name: str, sent: signal.Signals) -> Change:
    """Let a process send itself a signal when a function is called."""

    def change() -> None:
        original = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            os.kill(os.getpid(), sent)
            return original(*arguments, **options)

        setattr(owner, name, call)

    return change


def test_stopped_before_anything_is_written(tmp_path: Path) -> None:
    from gardenpath.data.preparation import Preparation

    code, run = stopped(tmp_path, _kill_in(Preparation, "prepare", signal.SIGTERM))
    assert code == 143
    assert not run.path.exists()


def test_stopped_in_the_final_scoring(uninterrupted: RunFolder, tmp_path: Path) -> None:
    code, run = stopped(tmp_path, _kill_in(training, "score_split", signal.SIGINT))
    assert code == 130
    assert not run.is_finished
    assert (
        differences(small_runs.run(tmp_path, *OVERFITTING, "existing=resume"), uninterrupted) == []
    )


@pytest.mark.parametrize("place", [(KneserNeyFamily, "estimate"), (training, "score_split")])
def test_a_stopped_estimation_leaves_no_model_that_counts(
    tmp_path: Path, place: tuple[Any, str]
) -> None:
    code, run = stopped(tmp_path, _kill_in(*place, signal.SIGTERM), "model=ngram")
    assert code == 143
    assert not run.is_finished
    small_runs.run(tmp_path, "model=ngram", "existing=resume")
    assert run.is_finished and read_failure(run) is None


@pytest.mark.slow
def test_the_command_says_one_line(tmp_path: Path) -> None:
    small_runs.write_corpus(tmp_path / "corpus")
    arguments = small_runs.arguments(
        tmp_path, *OVERFITTING, "trainer.max_epochs=9999", "trainer.early_stopping=0"
    )
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "train.py"), *arguments],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    run = RunFolder(tmp_path / "runs/text/lstm/seed1")
    while not (run / "checkpoints/last.ckpt").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    assert last.startswith(f"{run.path}: stopped by SIGINT; checkpoint written; ")


def test_handlers_are_as_before(tmp_path: Path) -> None:
    before = {one: signal.getsignal(one) for one in signal.valid_signals()}
    small_runs.run(tmp_path, *OVERFITTING, "trainer.max_epochs=1")
    with pytest.raises(TrainingStoppedError), stop_signals(RunFolder(tmp_path / "none")):
        os.kill(os.getpid(), signal.SIGTERM)
    assert {one: signal.getsignal(one) for one in signal.valid_signals()} == before


def test_a_thread_trains_without_handlers(tmp_path: Path) -> None:
    runs: list[RunFolder] = []
    thread = threading.Thread(target=lambda: runs.append(small_runs.run(tmp_path, "model=ngram")))
    thread.start()
    thread.join(timeout=60)
    assert [run.is_finished for run in runs] == [True]


def test_a_forked_child_is_not_kept_alive(tmp_path: Path) -> None:
    with stop_signals(RunFolder(tmp_path / "none")) as stop:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, b".")  # before this, Python may drop a signal in a forked process
            time.sleep(60)
            os._exit(0)
        os.read(reading, 1)
        os.kill(child, signal.SIGTERM)
        assert exit_code(child) == -signal.SIGTERM
        assert stop.received is None
        os.close(reading)
        os.close(writing)
