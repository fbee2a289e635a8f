"""Sweeps in parallel processes and in queues: own folders, own failures, the same results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gardenpath import sweeps as launching
from gardenpath.errors import ConfigError
from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.integration.commands import ROOT, call, start

LSTM = ("model=lstm", *small_runs.NEURAL, "trainer.max_epochs=2")
LOCAL = ("hydra/launcher=local", "hydra.launcher.n_jobs=2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a corpus."""
    small_runs.write_corpus(tmp_path / "corpus")
    return tmp_path


def _run_path(folder: Path, rate: str) -> Path:
    return folder / "runs" / "text" / "lstm" / f"learning_rate={rate}" / "seed1"


def _require_same(one: Path, other: Path) -> None:
    for name in ("weights.safetensors", "vocabulary.json", "result.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert small_runs.metrics(RunFolder(one)) == small_runs.metrics(RunFolder(other))


def test_parallel_jobs_write_their_own_folders_and_fail_alone(folder: Path) -> None:
    """Two learning rates at once equal each alone; a third job is refused, and stops neither."""
    taken = _run_path(folder, "0.5")
    small_runs.run(folder, "model=unigram", f"run_dir={taken}")
    before = (taken / "weights.safetensors").read_bytes()
    given = small_runs.arguments(folder, *LSTM, "model.optimiser.learning_rate=0.5,1e-2,1e-5")
    done = start("train.py", "-m", *given, *LOCAL, folder=folder)
    assert done.returncode == 1, done.stderr
    assert "3 runs: 2 done, 1 failed" in done.stdout
    assert f"failed: {taken} contains a finished run with other settings: " in done.stdout
    assert "Traceback" not in done.stderr
    assert (taken / "weights.safetensors").read_bytes() == before
    for rate in ("0.01", "1e-5"):
        alone = folder / "alone" / rate
        chosen = f"model.optimiser.learning_rate={rate}"
        small_runs.run(folder, *LSTM, chosen, f"run_dir={alone}")
        _require_same(_run_path(folder, rate), alone)


def _owner(path: Path, seconds: int = 120) -> int:
    """The process that is training in a run folder, once it has trained for an epoch."""
    for _ in range(seconds * 10):
        if (path / "metrics.csv").is_file():
            return int(json.loads((path / ".lock.json").read_text(encoding="utf-8"))["pid"])
        time.sleep(0.1)
    raise AssertionError(f"nothing is training in {path}")


def test_a_job_whose_process_is_killed_fails_alone_and_is_resumed(folder: Path) -> None:
    many = (*LSTM, "trainer.max_epochs=30", "trainer.early_stopping=0")
    given = small_runs.arguments(folder, *many, "model.optimiser.learning_rate=1e-3,1e-4")
    command = [sys.executable, str(ROOT / "train.py"), "-m", *given, *LOCAL]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True) as sweep:
        os.kill(_owner(_run_path(folder, "0.001")), signal.SIGKILL)
        output, _ = sweep.communicate(timeout=240)
    assert sweep.returncode == 1
    assert "2 runs: 1 done, 1 failed" in output
    assert "its process ended unexpectedly (SIGKILL" in output
    # The same command again, in this process: one is skipped, the other is continued.
    untouched = (_run_path(folder, "0.0001") / "result.json").stat().st_mtime_ns
    assert call("train.py", "-m", *given) == 0
    assert (_run_path(folder, "0.0001") / "result.json").stat().st_mtime_ns == untouched
    alone = folder / "alone"
    small_runs.run(folder, *many, "model.optimiser.learning_rate=1e-3", f"run_dir={alone}")
    _require_same(_run_path(folder, "0.001"), alone)


def test_submitit_runs_jobs_in_its_local_queue(folder: Path) -> None:
    given = small_runs.arguments(folder, "model=unigram,ngram")
    wrong = "data.min_count=1,2"
    small_runs.run(folder, "model=ngram", f"run_dir={folder}/runs/text/unigram/min_count=2/seed1")
    done = start("train.py", "-m", *given, wrong, "hydra/launcher=submitit_local", folder=folder)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "4 jobs submitted" in done.stdout and "4 runs: 3 done, 1 failed" in done.stdout
    alone = folder / "alone"
    small_runs.run(folder, "model=ngram", "data.min_count=2", f"run_dir={alone}")
    path = folder / "runs" / "text" / "ngram" / "min_count=2" / "seed1"
    assert (path / "weights.safetensors").read_bytes() == (
        alone / "weights.safetensors"
    ).read_bytes()


@pytest.mark.parametrize(
    ("launcher", "package"),
    [("local", "hydra-joblib-launcher"), ("slurm", "hydra-submitit-launcher")],
)
def test_a_launcher_that_is_not_installed_is_named(
    launcher: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    launching.require_launcher([f"hydra/launcher={launcher}"])
    monkeypatch.setattr(launching, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=rf"{package}: pip install 'gardenpath\[launchers\]'"):
        launching.require_launcher([f"hydra/launcher={launcher}"])
