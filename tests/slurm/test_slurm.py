"""A SLURM cluster of one node, on this machine, without systemd, cgroups and accounting.

Debian's packages ``slurm-wlm`` and ``munge`` suffice. The three daemons run as this user, in a
folder of their own, and end with the block::

    with one_node_cluster() as environment:
        subprocess.run(["sbatch", ...], env=environment)
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.integration.commands import ROOT, start
from tests.no_skips import NEEDS_SLURM

_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo", "scontrol")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
# Seconds until the daemons must be ready.
_PATIENCE = 60

_SETTINGS = """\
# A requeued job waits until its credentials have expired.
ClusterName=gardenpath
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=15
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
MinJobAge=600
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=16000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def is_installed() -> bool:
    """Whether all programs of a cluster are installed."""
    return all(shutil.which(name, path=_PATH) for name in _PROGRAMS)


@contextmanager
def one_node_cluster() -> Iterator[dict[str, str]]:
    """Start the daemons; yield the environment in which the commands of SLURM find them."""
    # Sockets need short paths. Munge accepts only folders that no other user can write.
    folder = Path(tempfile.mkdtemp(prefix="slurm.", dir="/tmp"))
    folder.chmod(0o755)
    daemons: list[subprocess.Popen[bytes]] = []
    environment = {**os.environ, "PATH": _PATH, "SLURM_CONF": str(folder / "slurm.conf")}
    try:
        _write_settings(folder)
        with (folder / "daemons.log").open("wb") as log:
            for command in _commands(folder):
                daemons.append(
                    subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
                )
                time.sleep(0.5)
        _wait_until_idle(environment, folder)
        yield environment
    finally:
        _cancel_all(environment)
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _cancel_all(environment: dict[str, str]) -> None:
    """End jobs that a failed test has left behind."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        everything = ["scancel", "--full", "--signal=KILL", "--user", getpass.getuser()]
        subprocess.run(everything, env=environment, capture_output=True, check=False, timeout=10)


def _write_settings(folder: Path) -> None:
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    text = _SETTINGS.format(
        host=socket.gethostname().partition(".")[0],
        user=getpass.getuser(),
        folder=folder,
        controller_port=_free_port(),
        node_port=_free_port(),
        cpus=os.cpu_count(),
    )
    (folder / "slurm.conf").write_text(text, encoding="utf-8")


def _commands(folder: Path) -> list[list[str]]:
    munge = [
        "munged", "--foreground", "--force", f"--key-file={folder}/munge.key",
        f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid",
        f"--seed-file={folder}/munge.seed", "--num-threads=2",
    ]  # fmt: skip
    found = [munge, ["slurmctld", "-D", "-i"], ["slurmd", "-D"]]
    return [[str(shutil.which(one[0], path=_PATH)), *one[1:]] for one in found]


def _wait_until_idle(environment: dict[str, str], folder: Path) -> None:
    state = ""
    for _ in range(_PATIENCE * 2):
        asked = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        state = asked.stdout.strip()
        if state == "idle":
            return
        time.sleep(0.5)
    logs = "\n".join(
        f"{path.name}: {path.read_text(errors='replace')[-2000:]}" for path in folder.glob("*.log")
    )
    raise RuntimeError(f"the cluster is not ready ({state or 'no answer'}): {logs}")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


# ----------------------------------------------------------------------------
# Sweeps in the queue of a real SLURM: the same results, and jobs that are requeued go on.


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


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(), reason=NEEDS_SLURM)
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


@pytest.mark.slow
@pytest.mark.skipif(not is_installed(), reason=NEEDS_SLURM)
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
