"""One of several processes: its loss is that of the whole batch, its gradient that of its share."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gardenpath.data.batches.tokens import Uncounted
from gardenpath.errors import ConfigError
from gardenpath.models.output import BatchScores
from gardenpath.models.training.distributed import ALONE, Placement, placed
from gardenpath.models.training.settings import OptimiserSettings, TrainerSettings
from gardenpath.models.training.trainer import LanguageModelling


class Line(nn.Module):
    """The log probability of a batch is a multiple of the only weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(2.0))

    def score(self, batch: Any) -> BatchScores:
        return BatchScores({"word": -batch * self.weight}, torch.tensor(3), torch.tensor(1))


def module(monkeypatch: pytest.MonkeyPatch, *, elsewhere: float) -> LanguageModelling:
    """One of two processes; the other one has 5 words, 1 sentence and a log probability."""

    def reduce(sums: Tensor, reduce_op: str) -> Tensor:
        assert (sums.dtype, reduce_op) == (torch.float64, "sum")
        return sums + torch.tensor([elsewhere, 5.0, 1.0], dtype=torch.float64)

    made = LanguageModelling(network=Line(), optimiser=OptimiserSettings(), seed=1)
    trainer: Any = SimpleNamespace(world_size=2, strategy=SimpleNamespace(reduce=reduce))
    made._trainer = trainer
    monkeypatch.setattr(made, "log", lambda *_, **__: None)
    return made


def test_loss_of_the_batch_and_gradient_of_the_share(monkeypatch: pytest.MonkeyPatch) -> None:
    one = module(monkeypatch, elsewhere=-14.0)
    loss = one.training_step(torch.tensor(3.0), 0)
    assert loss.item() == pytest.approx((6.0 + 14.0) / (4 + 6))
    loss.backward()
    weight = one.network.weight
    # The average over two processes: 3 / 10 from this one.
    assert weight.grad.item() / 2 == pytest.approx(3.0 / 10)  # type: ignore[union-attr, operator]


def test_a_process_without_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    one = module(monkeypatch, elsewhere=-12.0)
    loss = one.training_step(Uncounted(torch.tensor(3.0)), 0)
    assert loss.item() == pytest.approx(12.0 / 6)
    loss.backward()
    assert one.network.weight.grad.item() == 0.0  # type: ignore[union-attr, operator]
    assert one.validation_step(Uncounted(torch.tensor(3.0)), 0).item() == pytest.approx(2.0)


@pytest.mark.parametrize("elsewhere", [-torch.inf, torch.nan])
def test_a_loss_that_diverges_elsewhere_diverges_here(
    monkeypatch: pytest.MonkeyPatch, elsewhere: float
) -> None:
    """So that all processes stop at the same step."""
    one = module(monkeypatch, elsewhere=elsewhere)
    assert not torch.isfinite(one.training_step(torch.tensor(3.0), 0))
    assert not torch.isfinite(one.validation_step(torch.tensor(3.0), 0))


# ----------------------------------------------------------------------------
# Which of several processes this is, from the variables of torchrun and srun.


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
