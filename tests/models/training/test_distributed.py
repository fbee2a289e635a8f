"""One of several processes: its loss is that of the whole batch, its gradient that of its share."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gardenpath.data.batches.tokens import Uncounted
from gardenpath.models.scores import BatchScores
from gardenpath.models.training.module import LanguageModelling
from gardenpath.models.training.settings import OptimiserSettings


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
