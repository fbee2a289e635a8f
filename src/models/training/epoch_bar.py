"""The progress bar of a training: the run, the epoch counted from 1, and the batches."""

from __future__ import annotations

from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import RichProgressBar

# Beginnings of the names of metrics that are known only after an epoch.
_OF_EPOCHS = ("train/", "valid/")


class EpochBar(RichProgressBar):
    """Says ``runs/toy_english/rnng/seed1: Epoch 3/3`` in the third of three epochs.

    The loss beside it is that of the batch; numbers of the epoch before are named so.
    """

    def __init__(self, run: str) -> None:
        super().__init__(leave=False)
        self._run = run

    def get_metrics(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> Any:
        """Return the metrics beside the bar."""
        found = super().get_metrics(trainer, pl_module)
        found.pop("v_num", None)  # the number of a logger's folder
        return {
            f"last {name}" if name.startswith(_OF_EPOCHS) else name: value
            for name, value in found.items()
        }

    def _get_train_description(self, current_epoch: int) -> str:
        return f"{self._run}: {epoch_text(current_epoch, self.trainer.max_epochs)}"


def epoch_text(epoch: int, most: int | None) -> str:
    """Return ``Epoch 3/3`` for the third of three epochs, which Lightning counts from 0."""
    limit = "" if most is None or most < 0 else f"/{most}"
    return f"Epoch {epoch + 1}{limit}"
