"""The progress bar of a training."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pytorch_lightning.callbacks import RichProgressBar

from gardenpath.models.training.trainer import EpochBar, epoch_text


@pytest.mark.parametrize(
    ("epoch", "most", "text"),
    [(0, 3, "Epoch 1/3"), (2, 3, "Epoch 3/3"), (4, -1, "Epoch 5"), (4, None, "Epoch 5")],
)
def test_epochs_count_from_one(epoch: int, most: int | None, text: str) -> None:
    assert epoch_text(epoch, most) == text


def test_the_bar_names_the_run_and_the_epoch() -> None:
    bar = EpochBar("runs/demo/rnng/seed1")
    bar._trainer = SimpleNamespace(max_epochs=3)  # type: ignore[assignment]
    assert bar._get_train_description(2) == "runs/demo/rnng/seed1: Epoch 3/3"


def test_numbers_of_the_epoch_before_are_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {"v_num": 0, "loss": 1.5, "train/loss": 2.5, "valid/loss": 2.0}

    def of_lightning(*_: Any) -> dict[str, float]:
        return dict(metrics)

    monkeypatch.setattr(RichProgressBar, "get_metrics", of_lightning)
    found = EpochBar("run").get_metrics(None, None)  # type: ignore[arg-type]
    assert found == {"loss": 1.5, "last train/loss": 2.5, "last valid/loss": 2.0}
