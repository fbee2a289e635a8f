"""A signal ends a whole sweep with one message, leaves no process behind, and a repeat goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gardenpath.errors import SweepStoppedError, TrainingStoppedError
from gardenpath.models.training.checkpoints import stop_signals
from gardenpath.store.run_claim import read_failure
from gardenpath.store.run_folder import RunFolder
from gardenpath.sweeps import stopped_as_a_whole
from tests import small_runs
from tests.integration.commands import ROOT

LONG = ("model=lstm", *small_runs.NEURAL, "trainer.max_epochs=100000", "trainer.early_stopping=0")
LOCAL = ("hydra/launcher=local", "hydra.launcher.n_jobs=2")


def _sweep(folder: Path, *launcher: str) -> subprocess.Popen[str]:
    small_runs.write_corpus(folder / "corpus")
    given = small_runs.arguments(folder, *LONG, "seed=1,2,3")
    return subprocess.Popen(
        [sys.executable, str(ROOT / "train.py"), "-m", *given, *launcher],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _seed(folder: Path, number: int) -> RunFolder:
    return RunFolder(folder / "runs" / "text" / "lstm" / f"seed{number}")


def _trained_by(run: RunFolder) -> int:
    """The process that trains a run, once it has trained for an epoch."""
    for _ in range(400):
        if run.metrics_path.is_file():
            return int(json.loads((run.path / ".lock.json").read_text(encoding="utf-8"))["pid"])
        time.sleep(0.1)
    raise AssertionError(f"nothing is training in {run.path}")


def _require_ended(process: int) -> None:
    for _ in range(600):
        state = Path(f"/proc/{process}/stat")
        if not state.exists() or state.read_text(encoding="utf-8").split(")")[1].split()[0] == "Z":
            return
        time.sleep(0.1)
    raise AssertionError(f"process {process} goes on")


@pytest.mark.parametrize("launcher", [(), LOCAL])
def test_a_signal_ends_all_jobs(tmp_path: Path, launcher: tuple[str, ...]) -> None:
    """The jobs that run write their checkpoints, and the last one does not begin."""
    running = [1, 2] if launcher else [1]
    with _sweep(tmp_path, *launcher) as sweep:
        processes = [_trained_by(_seed(tmp_path, number)) for number in running]
        sweep.send_signal(signal.SIGTERM)
        _, errors = sweep.communicate(timeout=120)
    assert sweep.returncode == 128 + signal.SIGTERM
    assert errors.splitlines()[-1] == (
        "the sweep was stopped by SIGTERM; run the same command again to continue it"
    )
    assert "Traceback" not in errors
    for process in processes:
        _require_ended(process)
    for number in running:
        failure = read_failure(_seed(tmp_path, number))
        assert failure is not None and failure.kind == "interrupted"
        assert "checkpoint written" in failure.message
    assert not _seed(tmp_path, 3).is_begun


def test_jobs_end_with_a_sweep_that_is_killed(tmp_path: Path) -> None:
    """They write their checkpoints, so that they do not block the next attempt."""
    with _sweep(tmp_path, *LOCAL) as sweep:
        processes = [_trained_by(_seed(tmp_path, number)) for number in (1, 2)]
        sweep.kill()
        for process in processes:
            _require_ended(process)
    for number in (1, 2):
        failure = read_failure(_seed(tmp_path, number))
        assert failure is not None and failure.kind == "interrupted"


def test_a_signal_between_jobs_and_one_within(tmp_path: Path) -> None:
    with pytest.raises(SweepStoppedError, match="SIGTERM"), stopped_as_a_whole():
        os.kill(os.getpid(), signal.SIGTERM)
    with (
        pytest.raises(SweepStoppedError, match="SIGUSR2"),
        stopped_as_a_whole(),
        stop_signals(RunFolder(tmp_path)),
    ):
        os.kill(os.getpid(), signal.SIGUSR2)
    with pytest.raises(SweepStoppedError, match="SIGTERM"), stopped_as_a_whole():
        raise TrainingStoppedError("another process was stopped", signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_sweep_that_is_a_job_of_slurm_is_requeued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "scontrol"
    command.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/requeued\n', encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.delenv("SLURM_ARRAY_JOB_ID", raising=False)
    for sent in (signal.SIGTERM, signal.SIGUSR1):
        with pytest.raises(SweepStoppedError), stopped_as_a_whole():
            os.kill(os.getpid(), sent)
    assert (tmp_path / "requeued").read_text(encoding="utf-8") == "requeue 12\n"


@pytest.mark.parametrize("code", [-signal.SIGTERM, 1])
def test_slurm_may_end_the_command_that_requeues_a_job(tmp_path: Path, code: int) -> None:
    """The handler of submitit then raises an error, but the job is requeued all the same."""

    def handler(_number: int, _frame: object) -> None:
        raise subprocess.CalledProcessError(code, ["scontrol", "requeue", "3"])

    before = signal.signal(signal.SIGUSR1, handler)
    expected = TrainingStoppedError if code < 0 else subprocess.CalledProcessError
    try:
        with pytest.raises(expected), stop_signals(RunFolder(tmp_path)):
            os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
