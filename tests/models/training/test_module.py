"""Optimisers and learning-rate schedules."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.optim import SGD, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from gardenpath.models.training.settings import OptimiserSettings
from gardenpath.models.training.trainer import make_optimiser, make_schedule


def _network() -> nn.Module:
    return nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3), nn.LayerNorm(3))


def _optimiser(settings: OptimiserSettings) -> Optimizer:
    return make_optimiser(_network(), settings)


def _rates(settings: OptimiserSettings, *, steps: int, total_steps: int = 0) -> list[float]:
    optimiser = _optimiser(settings)
    schedule = make_schedule(optimiser, settings, total_steps=total_steps)
    assert isinstance(schedule, LambdaLR)
    rates = []
    for _ in range(steps):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        schedule.step()
    return rates


def test_constant() -> None:
    settings = OptimiserSettings(learning_rate=0.3, schedule="constant")
    assert _rates(settings, steps=4) == [0.3] * 4


def test_constant_after_a_linear_warm_up() -> None:
    settings = OptimiserSettings(learning_rate=1.0, schedule="constant", warmup_steps=4)
    assert _rates(settings, steps=6) == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_cosine_at_known_steps() -> None:
    settings = OptimiserSettings(learning_rate=2.0, schedule="cosine")
    rates = _rates(settings, steps=14, total_steps=12)
    assert rates[0] == 2.0
    assert rates[3] == pytest.approx(1.0 + math.cos(math.pi / 4))
    assert rates[6] == pytest.approx(1.0)
    assert rates[12:] == pytest.approx([0.0, 0.0])


def test_cosine_after_a_warm_up_reaches_zero_at_the_last_step() -> None:
    settings = OptimiserSettings(learning_rate=1.0, schedule="cosine", warmup_steps=2)
    rates = _rates(settings, steps=7, total_steps=6)
    assert rates[:3] == [0.5, 1.0, 1.0]
    assert rates[4] == pytest.approx(0.5)
    assert rates[6] == pytest.approx(0.0)


def test_a_run_that_is_all_warm_up_has_no_division_by_zero() -> None:
    settings = OptimiserSettings(learning_rate=1.0, schedule="cosine", warmup_steps=4)
    assert _rates(settings, steps=5, total_steps=2) == [0.25, 0.5, 0.75, 1.0, 1.0]


def test_plateau_decays_after_epochs_without_progress() -> None:
    settings = OptimiserSettings(learning_rate=1.0, schedule="plateau", decay=0.1, patience=1)
    optimiser = _optimiser(settings)
    schedule = make_schedule(optimiser, settings, total_steps=0)
    assert isinstance(schedule, ReduceLROnPlateau)
    rates = []
    for loss in (5.0, 4.0, 4.1, 4.2, 3.0, 3.5, 3.5):
        schedule.step(loss)
        rates.append(optimiser.param_groups[0]["lr"])
    assert rates == pytest.approx([1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.01])


def test_weight_decay_acts_on_matrices_only() -> None:
    network = _network()
    optimiser = make_optimiser(network, OptimiserSettings(weight_decay=0.25))
    decayed, others = optimiser.param_groups
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.25, 0.0)
    assert [weight.dim() for weight in decayed["params"]] == [2, 2]
    assert [weight.dim() for weight in others["params"]] == [1, 1, 1]


def test_every_weight_is_trained_once_also_if_tied() -> None:
    network = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5))
    network[1].weight = network[0].weight
    groups = make_optimiser(network, OptimiserSettings()).param_groups
    assert [len(group["params"]) for group in groups] == [1, 1]


@pytest.mark.parametrize(("algorithm", "kind"), [("adamw", AdamW), ("sgd", SGD)])
def test_algorithms(algorithm: str, kind: type[Optimizer]) -> None:
    settings = OptimiserSettings(algorithm=algorithm, learning_rate=0.7)  # type: ignore[arg-type]
    optimiser = _optimiser(settings)
    assert type(optimiser) is kind
    assert optimiser.param_groups[0]["lr"] == 0.7


def test_a_step_of_sgd_by_hand() -> None:
    network = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        network.weight.fill_(2.0)
    settings = OptimiserSettings(algorithm="sgd", learning_rate=0.1, weight_decay=0.5, momentum=0.9)
    optimiser = make_optimiser(network, settings)
    network.weight.grad = torch.tensor([[3.0]])
    optimiser.step()
    assert network.weight.item() == pytest.approx(2.0 - 0.1 * (3.0 + 0.5 * 2.0))
    assert optimiser.param_groups[0]["momentum"] == 0.9


def test_plateau_cannot_warm_up() -> None:
    (mistake,) = OptimiserSettings(schedule="plateau", warmup_steps=3).mistakes()
    assert "warmup_steps=0" in mistake
    assert OptimiserSettings(schedule="cosine", warmup_steps=3).mistakes() == []
    assert OptimiserSettings(schedule="plateau").mistakes() == []
