"""The place of this process among the processes of a distributed training.

Either ``torchrun`` or ``srun`` has started all processes, and their environment tells which one
this is, or this process is the first and starts the others itself (:mod:`rank_processes`), with the
same variables as torchrun.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gardenpath.errors import ConfigError
from gardenpath.models.training.training_settings import TrainerSettings

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
        """Number of machines."""
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
    found = _from_torchrun(environment) or _from_srun(environment) or ALONE
    if found.size == 1:
        return Placement(size=settings.devices, local_size=settings.devices)
    if found.local_size != settings.devices:
        raise ConfigError(
            [
                f"trainer.devices={settings.devices}, but {found.local_size} processes were "
                f"started on this machine: set trainer.devices={found.local_size}, or start one "
                "process, which starts the others"
            ]
        )
    return found


def _from_torchrun(environment: Mapping[str, str]) -> Placement | None:
    if not all(environment.get(name) for name in _TORCHRUN):
        return None
    rank, size, local_rank, local_size, host, port = (environment[name] for name in _TORCHRUN)
    return Placement(
        rank=int(rank),
        size=int(size),
        local_rank=int(local_rank),
        local_size=int(local_size),
        address=(host, int(port)),
    )


def _from_srun(environment: Mapping[str, str]) -> Placement | None:
    if not all(environment.get(name) for name in _SRUN):
        return None
    rank, size, local_rank, machines = (int(environment[name]) for name in _SRUN)
    if size % machines:
        raise ConfigError(
            [
                f"srun started {size} processes on {machines} machines; start equally many on each "
                "(--ntasks-per-node)"
            ]
        )
    return Placement(
        rank=rank,
        size=size,
        local_rank=local_rank,
        local_size=size // machines,
        address=_address_of_job(environment),
    )


def _address_of_job(environment: Mapping[str, str]) -> tuple[str, int]:
    """Return the first machine of a job, and a port that follows from the number of the job."""
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_NODELIST", "127.0.0.1")
    # host[05-07,09],other → host05
    first = re.sub(r"\[([^],-]*)[^]]*\]", r"\1", nodes).split(",")[0]
    job, step = (int(environment.get(name, "0")) for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
    port = 15000 + (job * 7 + step) % 10000
    return environment.get("MASTER_ADDR") or first, int(environment.get("MASTER_PORT") or port)
