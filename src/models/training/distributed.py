"""Training in several processes: the place of each, how they meet, and how scores are summed.

Either ``torchrun`` or ``srun`` has started all processes, and their environment tells which one
this is, or this process is the first and starts the others itself (:mod:`gardenpath.runs`), with
the same variables as torchrun.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from lightning_fabric.plugins import ClusterEnvironment
from pytorch_lightning.strategies import DDPStrategy, Strategy
from pytorch_lightning.utilities import rank_zero_only
from torch import Tensor, distributed
from torch.distributed import (  # type: ignore[attr-defined]
    PrefixStore,
    Store,
    TCPStore,
)

from gardenpath.errors import ConfigError
from gardenpath.models.output import BatchScores
from gardenpath.models.training.settings import TrainerSettings

_TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# Set by srun for the processes it starts. A batch script has SLURM_NTASKS and SLURM_PROCID as well,
# although nobody has started the other processes.
_SRUN = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_NUM_NODES")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Number of this process (rank) and of all processes, on this machine and on all machines.

    ``address`` is the host and the port at which the processes meet; None if this process starts
    the others and chooses the port.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    address: tuple[str, int] | None = None

    @property
    def machines(self) -> int:
        return self.size // self.local_size

    def as_environment(self) -> dict[str, str]:
        """Return the variables that torchrun would set."""
        assert self.address is not None
        values = (self.rank, self.size, self.local_rank, self.local_size, *self.address)
        return dict(zip(_TORCHRUN, map(str, values), strict=True))


ALONE = Placement()


def placed(settings: TrainerSettings, environment: Mapping[str, str] = os.environ) -> Placement:
    """Return the place of this process; a contradiction to the settings is an error.

    With one device, the environment is not read: ``srun`` may have started several trainings.
    """
    if settings.devices == 1 and settings.strategy == "auto":
        return ALONE
    placement = _from_torchrun(environment) or _from_srun(environment) or ALONE
    if placement.size == 1:
        return Placement(size=settings.devices, local_size=settings.devices)
    if placement.local_size != settings.devices:
        raise ConfigError([
            f"trainer.devices={settings.devices}, but {placement.local_size} processes were "
            f"started on this machine: set trainer.devices={placement.local_size}, or start one "
            "process, which starts the others"
        ])  # fmt: skip
    return placement


def _from_torchrun(environment: Mapping[str, str]) -> Placement | None:
    if not all(environment.get(name) for name in _TORCHRUN):
        return None
    *numbers, host, port = (environment[name] for name in _TORCHRUN)
    rank, size, local_rank, local_size = map(int, numbers)
    return Placement(
        rank=rank, size=size, local_rank=local_rank, local_size=local_size,
        address=(host, int(port)),
    )  # fmt: skip


def _from_srun(environment: Mapping[str, str]) -> Placement | None:
    if not all(environment.get(name) for name in _SRUN):
        return None
    rank, size, local_rank, machines = (int(environment[name]) for name in _SRUN)
    if size % machines:
        raise ConfigError([
            f"srun started {size} processes on {machines} machines; start equally many on each "
            "(--ntasks-per-node)"
        ])  # fmt: skip
    return Placement(
        rank=rank, size=size, local_rank=local_rank, local_size=size // machines,
        address=_address_of_job(environment),
    )  # fmt: skip


def _address_of_job(environment: Mapping[str, str]) -> tuple[str, int]:
    """Return the first machine of a job, and a port that follows from the number of the job."""
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_NODELIST", "127.0.0.1")
    # host[05-07,09],other → host05
    first = re.sub(r"\[([^],-]*)[^]]*\]", r"\1", nodes).split(",")[0]
    job, step = (int(environment.get(name, "0")) for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
    port = 15000 + (job * 7 + step) % 10000
    return environment.get("MASTER_ADDR") or first, int(environment.get("MASTER_PORT") or port)


# ----------------------------------------------------------------------------
# All processes plan the same batches and take a share of each. DDP averages the gradients over the
# processes; the loss of a share is therefore divided by the number of events of the whole batch and
# multiplied by the number of processes, which gives the gradient of the whole batch. The sums of
# each batch are exchanged in every step, so that all processes know the same loss and take the same
# decisions.

# How long a process waits for the others: to start, and in each step.
PATIENCE = timedelta(minutes=10)


@functools.cache
def store_at(placement: Placement) -> TCPStore:
    """Return the store of processes that were started elsewhere.

    It is kept, because the others may wait for the next training while the first one still scores.
    """
    return open_store(placement)


def open_store(placement: Placement) -> TCPStore:
    """Open a store through which the processes meet; the first process holds it.

    Without an address, the operating system chooses a free port.
    """
    host, port = placement.address or ("127.0.0.1", 0)
    # torchrun may hold the store itself.
    is_elsewhere = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    is_held = placement.rank == 0 and not (placement.address and is_elsewhere)
    return TCPStore(
        host, port, is_master=is_held, wait_for_workers=False, timeout=PATIENCE, multi_tenant=True
    )


def part_of(store: Store, name: str) -> Store:
    """Return a part of a store, in which keys are not those of other parts."""
    return PrefixStore(name, store)


@contextmanager
def joined(placement: Placement, store: Store, trainer: TrainerSettings) -> Iterator[None]:
    """Connect this process with the others while the block runs."""
    on_gpu = trainer.accelerator != "cpu" and torch.cuda.is_available()
    threads, variable = torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")
    distributed.init_process_group(
        "nccl" if on_gpu else "gloo", store=PrefixStore("group", store), rank=placement.rank,
        world_size=placement.size, timeout=PATIENCE,
    )  # fmt: skip
    try:
        yield
        # Nobody leaves while another still waits for an answer.
        distributed.barrier(device_ids=[placement.local_rank] if on_gpu else None)
    finally:
        distributed.destroy_process_group()
        # Lightning shares the cores among the processes of a machine.
        torch.set_num_threads(threads)
        if variable is None:
            os.environ.pop("OMP_NUM_THREADS", None)


def lightning_arguments(placement: Placement) -> dict[str, Any]:
    """Return the arguments of Lightning's trainer that concern processes.

    Lightning would otherwise read the environment, where it finds several processes even if they
    train different models.
    """
    rank_zero_only.rank = placement.rank  # type: ignore[attr-defined]
    return {
        "devices": placement.local_size,
        "num_nodes": placement.machines,
        # Buffers are constants.
        "strategy": DDPStrategy(timeout=PATIENCE, broadcast_buffers=False)
        if placement.size > 1
        else "auto",
        "plugins": [_Placed(placement)],
    }


def summed(scores: BatchScores, strategy: Strategy) -> BatchScores:
    """Return the scores of a whole batch, in double precision: the sum over all processes."""
    names = sorted(scores.log_prob)
    parts = [*(scores.log_prob[name] for name in names), scores.words, scores.sentences]
    # Apple GPUs have no double precision.
    kind = torch.float32 if scores.words.device.type == "mps" else torch.float64
    sums = strategy.reduce(torch.stack([part.detach().to(kind) for part in parts]), reduce_op="sum")
    assert isinstance(sums, Tensor)
    *log_probs, words, sentences = sums.unbind()
    return BatchScores(
        log_prob=dict(zip(names, log_probs, strict=True)), words=words, sentences=sentences
    )


class _Placed(ClusterEnvironment):
    """Tells Lightning the place of this process; all processes are running already."""

    def __init__(self, placement: Placement) -> None:
        super().__init__()
        self._placement = placement

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return self._placement.address[0] if self._placement.address else "127.0.0.1"

    @property
    def main_port(self) -> int:
        return self._placement.address[1] if self._placement.address else 0

    @staticmethod
    def detect() -> bool:
        return False

    def world_size(self) -> int:
        return self._placement.size

    def set_world_size(self, size: int) -> None:
        assert size == self._placement.size

    def global_rank(self) -> int:
        return self._placement.rank

    def set_global_rank(self, rank: int) -> None:
        assert rank == self._placement.rank

    def local_rank(self) -> int:
        return self._placement.local_rank

    def node_rank(self) -> int:
        return self._placement.rank // self._placement.local_size
