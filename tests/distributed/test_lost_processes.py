"""Trainings that start their other processes: started by commands, killed and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from gardenpath.errors import DivergedError, RunError
from gardenpath.models.training.trainer import LanguageModelling
from gardenpath.runs import distributed as rank_processes
from gardenpath.runs.distributed import RankProcesses
from gardenpath.runs.training import train
from gardenpath.store.run_folder import RunFolder, read_failure
from gardenpath.util import python_command
from tests import small_runs
from tests.distributed.follower import NEAR, SMALL, places, write_trees
from tests.integration.commands import ROOT, call
from tests.no_skips import NEEDS_PROC

LONG = (*SMALL, "model=lstm", "trainer.early_stopping=0", "trainer.max_epochs=20",
        "trainer.checkpoint_steps=11")  # fmt: skip
SECONDS = 120.0
# The command of the other processes of a training.
OTHER = python_command(rank_processes.__name__, "follow_parent")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_trees(tmp_path / "trees")
    return tmp_path


def started_by(patch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that trainings in this process start from now on."""
    found: list[subprocess.Popen[bytes]] = []
    start: Callable[..., Any] = subprocess.Popen

    def remember(command: Any, **options: Any) -> Any:
        process = start(command, **options)
        if command == OTHER:
            found.append(process)
        return process

    patch.setattr(subprocess, "Popen", remember)
    return found


def children_of(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(one) for one in path.read_text(encoding="utf-8").split()]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def epochs_of(run: RunFolder) -> int:
    return len(small_runs.metrics(run)) if (run / "metrics.csv").exists() else 0


def kill_second_process(settings: list[str]) -> None:
    """Train until a step in the second epoch, after a checkpoint; kill the second process."""
    with pytest.MonkeyPatch.context() as patch:
        processes = started_by(patch)
        step = LanguageModelling.training_step

        def kill(self: LanguageModelling, *args: Any) -> Any:
            if self.global_step == 11:
                processes[0].kill()
            return step(self, *args)

        patch.setattr(LanguageModelling, "training_step", kill)
        with pytest.raises(RunError, match=r"process 2 of 2 was killed \(signal 9\); continue"):
            train(*settings)


def end_first_process(settings: list[str], run: RunFolder, how: signal.Signals) -> None:
    """Start the command, and end it in the middle; the other process ends by itself."""
    before = epochs_of(run)
    command = subprocess.Popen([sys.executable, str(ROOT / "train.py"), *settings], cwd=run.path)
    wait_until(lambda: epochs_of(run) > before + 2)
    (other,) = children_of(command.pid)
    os.kill(command.pid, how)
    expected = -how if how == signal.SIGKILL else 128 + how
    assert command.wait(SECONDS) == expected
    wait_until(lambda: not is_running(other))
    assert not run.is_finished


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason=NEEDS_PROC)
def test_killed_processes_and_the_same_result(folder: Path) -> None:
    run = RunFolder(folder / "two")
    settings = [*LONG, *places(folder, "two")]
    kill_second_process(settings)
    assert epochs_of(run) == 1
    settings.append("existing=resume")
    end_first_process(settings, run, signal.SIGTERM)
    failure = read_failure(run)
    assert failure is not None and "checkpoint written" in failure.message
    end_first_process(settings, run, signal.SIGKILL)
    train(*settings)

    train(*LONG, *places(folder, "one"), "trainer.devices=1")
    one = RunFolder(folder / "one")
    for name in ("step", "train/loss", "valid/loss"):
        expected = small_runs.column(one, name)
        assert len(expected) == 20
        assert small_runs.column(run, name) == pytest.approx(expected, rel=0, abs=NEAR)
    weights, others = load_file(one / "weights.safetensors"), load_file(run / "weights.safetensors")
    assert all((weight - others[name]).abs().max() < NEAR for name, weight in weights.items())


@pytest.mark.slow
def test_all_processes_stop_if_the_loss_is_infinite(folder: Path) -> None:
    exploding = ("model.optimiser.algorithm=sgd", "model.optimiser.learning_rate=1e38")
    with pytest.MonkeyPatch.context() as patch:
        processes = started_by(patch)
        with pytest.raises(DivergedError, match="training diverged at step"):
            train(*LONG, *places(folder, "run"), *exploding, "trainer.gradient_clip=0")
    assert [process.returncode for process in processes] != [0]
    found = {path.name for path in (RunFolder(folder / "run") / "diverged").iterdir()}
    assert found == {"batch.safetensors", "sentences.txt"}


@pytest.mark.slow
def test_sweep(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A job of a sweep starts its processes, and ends them; only the first one prints."""
    with pytest.MonkeyPatch.context() as patch:
        processes = started_by(patch)
        settings = [*SMALL, "model=rnng", "trainer.max_epochs=1", *places(folder, "sweep")]
        settings.append("trainer.strategy=auto")  # several devices suffice
        code = call("train.py", "-m", *settings, f"paths.runs={folder / 'runs'}")
    assert code == 0
    assert [process.returncode for process in processes] == [0]
    assert capsys.readouterr().out.count("test joint perplexity") == 1
    assert RunFolder(folder / "sweep").is_finished


def test_a_process_that_does_not_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('out of memory')"]
    monkeypatch.setattr(rank_processes, "python_command", lambda *_: command)
    with pytest.raises(RunError, match="process 2 of 2 has failed: out of memory; no training"):
        train(*LONG, *places(folder, "run"))


@pytest.mark.parametrize("is_finished", [True, False])
def test_nothing_is_started_without_training(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_finished: bool
) -> None:
    """A model without a network, a refused run and a finished run need no other process."""

    def start(*_: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(RankProcesses, "__init__", start)
    settings = ["model=ngram", "trainer=ddp", "trainer.accelerator=cpu", "data=brackets",
                "data.min_count=1", *places(folder, "run")]  # fmt: skip
    train(*settings)
    if is_finished:
        assert train(*settings, "existing=resume")["test"]["loss"] > 0
    else:
        with pytest.raises(RunError, match="contains a finished run"):
            train(*LONG, *places(folder, "run"))
