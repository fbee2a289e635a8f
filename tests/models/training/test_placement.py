"""Which of several processes this is, from the variables of torchrun and srun."""

from __future__ import annotations

import pytest

from gardenpath.errors import ConfigError
from gardenpath.models.training.distributed import ALONE, Placement, placed
from gardenpath.models.training.settings import TrainerSettings

TWO = TrainerSettings(devices=2, strategy="ddp")
TORCHRUN = {
    "RANK": "3",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "node7",
    "MASTER_PORT": "29500",
}
SRUN = {
    "SLURM_PROCID": "3",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_NUM_NODES": "2",
    "SLURM_STEP_NODELIST": "gpu[07-08]",
    "SLURM_JOB_ID": "1234",
    "SLURM_STEP_ID": "0",
}
SECOND_OF_SECOND = Placement(rank=3, size=4, local_rank=1, local_size=2, address=("node7", 29500))


def test_torchrun() -> None:
    found = placed(TWO, TORCHRUN)
    assert found == SECOND_OF_SECOND
    assert found.machines == 2
    assert found.as_environment() == TORCHRUN


def test_srun() -> None:
    found = placed(TWO, SRUN)
    assert (found.rank, found.size, found.local_rank, found.local_size) == (3, 4, 1, 2)
    assert found.address is not None
    host, port = found.address
    assert host == "gpu07"
    assert 15000 <= port < 25000
    assert placed(TWO, {**SRUN, "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}).address == (host, port)


def test_torchrun_within_srun() -> None:
    assert placed(TWO, {**SRUN, **TORCHRUN}) == SECOND_OF_SECOND


@pytest.mark.parametrize(
    ("nodes", "host"),
    [
        ("a1", "a1"),
        ("a1,b2", "a1"),
        ("gpu[3,5-7]", "gpu3"),
        ("rack1-gpu[11-13],x", "rack1-gpu11"),
        ("n[4]", "n4"),
    ],
)
def test_first_machine(nodes: str, host: str) -> None:
    assert placed(TWO, {**SRUN, "SLURM_STEP_NODELIST": nodes}).address[0] == host  # type: ignore[index]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        # A batch script, whose processes nobody has started.
        {"SLURM_NTASKS": "2", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_JOB_ID": "5"},
        # A job of one process.
        {**SRUN, "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_NUM_NODES": "1"},
        {"RANK": "1", "WORLD_SIZE": "2"},
    ],
)
@pytest.mark.parametrize("strategy", ["auto", "ddp"])
def test_the_first_process_starts_the_others(environment: dict[str, str], strategy: str) -> None:
    settings = TrainerSettings(devices=2, strategy=strategy)  # type: ignore[arg-type]
    assert placed(settings, environment) == Placement(size=2, local_size=2)


@pytest.mark.parametrize("environment", [TORCHRUN, SRUN])
def test_processes_that_train_different_models(environment: dict[str, str]) -> None:
    """``srun`` may start one training per process."""
    assert placed(TrainerSettings(), environment) is ALONE


@pytest.mark.parametrize("environment", [TORCHRUN, SRUN])
def test_wrong_number_of_devices(environment: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"trainer.devices=4.*set trainer.devices=2"):
        placed(TrainerSettings(devices=4, strategy="ddp"), environment)


def test_uneven_machines() -> None:
    with pytest.raises(ConfigError, match="ntasks-per-node"):
        placed(TWO, {**SRUN, "SLURM_STEP_NUM_TASKS": "5"})
