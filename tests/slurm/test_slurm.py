"""Sweeps in the queue of a real SLURM: the same results, and jobs that are requeued go on."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.integration.commands import ROOT, start
from tests.no_skips import NEEDS_SLURM
from tests.slurm.cluster import is_installed, one_node_cluster

pytestmark = pytest.mark.slow

pytestmark = pytest.mark.skipif(not is_installed(), reason=NEEDS_SLURM)

SLURM = ("hydra/launcher=slurm", "hydra.launcher.mem_gb=1", "hydra.launcher.timeout_min=10")
LSTM = ("model=lstm", *small_runs.NEURAL)


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    """The environment of commands that use the cluster."""
    with one_node_cluster() as environment:
        yield environment


def _require_same(one: Path, other: Path) -> None:
    for name in ("weights.safetensors", "vocabulary.json", "result.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert small_runs.metrics(RunFolder(one)) == small_runs.metrics(RunFolder(other))


def test_a_sweep_in_the_queue_equals_jobs_run_here(cluster: dict[str, str], tmp_path: Path) -> None:
    small_runs.write_corpus(tmp_path / "corpus")
    rates = "model.optimiser.learning_rate=1e-2,1e-5"
    given = small_runs.arguments(tmp_path, *LSTM)
    done = start("train.py", "-m", *given, rates, *SLURM, folder=tmp_path, **cluster)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 jobs submitted" in done.stdout and "2 runs: 2 done" in done.stdout
    for rate in ("0.01", "1e-5"):
        alone = tmp_path / "alone" / rate
        one = f"model.optimiser.learning_rate={rate}"
        small_runs.run(tmp_path, *LSTM, one, f"run_dir={alone}")
        _require_same(
            tmp_path / "runs" / "text" / "lstm" / f"learning_rate={rate}" / "seed1", alone
        )


def _wait_for(path: Path, lines: int, seconds: int = 120) -> None:
    for _ in range(seconds * 10):
        if path.is_file() and len(path.read_text(encoding="utf-8").splitlines()) >= lines:
            return
        time.sleep(0.1)
    raise AssertionError(f"{path} has fewer than {lines} lines")


def _sent(cluster: dict[str, str], *command: str) -> str:
    done = subprocess.run(command, env=cluster, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_job_whose_time_ends_is_requeued_and_goes_on(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    """SLURM announces the end of a job's time by a signal, here sent by hand.

    The signal may arrive at any batch: training finishes the batch and writes a checkpoint, the
    launcher requeues the job, and the second attempt continues the run.
    """
    small_runs.write_corpus(tmp_path / "corpus", train_sentences=400)
    epochs = ("trainer.max_epochs=12", "trainer.early_stopping=0")
    given = small_runs.arguments(tmp_path, *LSTM, *epochs)
    path = tmp_path / "runs" / "text" / "lstm" / "seed1"
    waiting = _in_background(tmp_path, cluster, "-m", *given, *SLURM)
    try:
        _wait_for(path / "metrics.csv", lines=3)
        (job,) = set(_sent(cluster, "squeue", "--noheader", "--format=%A").split())
        _sent(cluster, "scancel", "--signal=USR1", job)
        output, _ = waiting.communicate(timeout=240)
    finally:
        waiting.kill()
    assert waiting.returncode == 0, output
    assert "Restarts=1" in _sent(cluster, "scontrol", "show", "job", job)
    alone = tmp_path / "alone"
    small_runs.run(tmp_path, *LSTM, *epochs, f"run_dir={alone}")
    _require_same(path, alone)


def _in_background(
    folder: Path, environment: dict[str, str], *arguments: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "train.py"), *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
