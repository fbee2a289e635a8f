"""Checkpoints from which a training resumes with the same result as without interruption.

One is written after each epoch and, if requested, every few steps; a signal adds one. Each
replaces the one before when it is complete.
"""

from __future__ import annotations

from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Checkpoint

from gardenpath.models.training.divergence import DivergenceGuard
from gardenpath.models.training.stop_signals import StopSignals
from gardenpath.store.run_folder import RunFolder

# Key in a checkpoint: whether no epoch follows, because training was to stop early.
_IS_OVER = "is_over"

# Several processes must agree to stop; they ask each other only every few steps.
_STEPS_BETWEEN_AGREEMENTS = 8


class ResumePoint(Checkpoint):
    """Writes checkpoints, and stops the training after a signal.

    Lightning calls callbacks of this base class last: the state of all others is up to date.
    """

    def __init__(
        self, folder: RunFolder, *, every_steps: int, guard: DivergenceGuard, stop: StopSignals
    ) -> None:
        self._path = folder.checkpoint_path
        self._every_steps = every_steps
        self._guard = guard
        self._stop = stop

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # Lightning has just put its own handler in front, which would end the training without a
        # checkpoint; when it is done, it reinstalls these.
        self._stop.install()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        if trainer.should_stop:  # at the last step, the end of the epoch follows
            return
        is_stopping = self._agree_to_stop(trainer)
        if is_stopping or (self._every_steps and trainer.global_step % self._every_steps == 0):
            self._save(trainer, pl_module)
        if is_stopping:
            raise self._stop.error()

    def on_validation_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        # Processes may have different numbers of these batches, so that they cannot agree here.
        if trainer.world_size > 1 or trainer.should_stop or self._stop.received is None:
            return
        self._save(trainer, pl_module)
        raise self._stop.error()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._save(trainer, pl_module)
        if self._agree_to_stop(trainer, is_asked=True):
            raise self._stop.error()

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        checkpoint[_IS_OVER] = bool(trainer.should_stop)

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        repeat_validation(checkpoint["loops"]["fit_loop"])
        trainer.should_stop = bool(checkpoint.get(_IS_OVER, False))

    def _save(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        self._guard.require_finite_so_far(trainer, module)
        trainer.save_checkpoint(self._path)
        self._stop.has_saved = True

    def _agree_to_stop(self, trainer: pl.Trainer, *, is_asked: bool = False) -> bool:
        """Whether any process has received a signal, as far as known."""
        is_stopping = self._stop.received is not None
        if trainer.world_size == 1:
            return is_stopping
        if not is_asked and trainer.global_step % _STEPS_BETWEEN_AGREEMENTS:
            return False
        agreed = bool(trainer.strategy.reduce_boolean_decision(is_stopping, all=False))
        if agreed:
            self._stop.follow()
        return agreed


def repeat_validation(fit_loop: dict[str, Any]) -> None:
    """Change the saved state of Lightning's loops so that a missing validation is run.

    A checkpoint after the last batch of an epoch is written before or during its validation. From
    such a state, Lightning would continue with the next epoch: without the metrics of this one,
    its best weights, early stopping and the plateau schedule. It runs a validation only if the
    state says that the batch is complete and the validation was interrupted in its first batch.
    """
    epochs = fit_loop["epoch_progress"]["total"]
    batches = fit_loop["epoch_loop.batch_progress"]
    if not batches["is_last_batch"] or epochs["processed"] == epochs["started"]:
        return
    validation = fit_loop["epoch_loop.val_loop.batch_progress"]
    for count in ("total", "current"):
        batches[count]["completed"] = batches[count]["processed"]
        validation[count] |= {"ready": 1, "started": 1, "processed": 0, "completed": 0}
    validation["is_last_batch"] = False
