"""Train one network on one corpus with Lightning's trainer: its callbacks, precision, progress bar.

:func:`train_network` is called by the training of runs, in each of its processes.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, EarlyStopping, RichProgressBar
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins import DoublePrecision
from rich.console import Console

from gardenpath.models.training.checkpoints import (
    DivergenceGuard,
    ResumePoint,
    StopSignals,
    WholeCheckpoints,
)
from gardenpath.models.training.distributed import ALONE, Placement, lightning_arguments
from gardenpath.models.training.module import CorpusDataModule, LanguageModelling
from gardenpath.models.training.settings import TrainerSettings
from gardenpath.models.weights import save_weights
from gardenpath.store.run_folder import CHECKPOINT_FILE, METRICS_FILE, WEIGHTS_FILE, RunFolder
from gardenpath.store.tables import write_table
from gardenpath.util import is_parallel_job

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
        metrics = super().get_metrics(trainer, pl_module)
        metrics.pop("v_num", None)  # the number of a logger's folder
        return {
            f"last {name}" if name.startswith(_OF_EPOCHS) else name: value
            for name, value in metrics.items()
        }

    def _get_train_description(self, current_epoch: int) -> str:
        return f"{self._run}: {epoch_text(current_epoch, self.trainer.max_epochs)}"


def epoch_text(epoch: int, most: int | None) -> str:
    """Return ``Epoch 3/3`` for the third of three epochs, which Lightning counts from 0."""
    limit = "" if most is None or most < 0 else f"/{most}"
    return f"Epoch {epoch + 1}{limit}"


# ----------------------------------------------------------------------------
# Numerical precision of training.


def precision_arguments(settings: TrainerSettings) -> dict[str, Any]:
    """Return the arguments of Lightning's trainer that concern precision."""
    if settings.precision == "64":
        return {"plugins": [_DoubleWeights()]}
    if settings.precision != "auto":
        return {"precision": settings.precision}
    if settings.accelerator == "cpu" or not torch.cuda.is_available():
        return {"precision": "32"}
    return {"precision": "bf16-mixed" if torch.cuda.is_bf16_supported() else "16-mixed"}


class _DoubleWeights(DoublePrecision):
    """Weights in double precision; batches hold whole numbers, which need no conversion."""

    def convert_input(self, data: Any) -> Any:
        return data


# ----------------------------------------------------------------------------
# Train one model on one corpus with Lightning's trainer.


log = logging.getLogger(__name__)

# Lightning sets its own level when it is loaded; its messages about hardware are not needed.
logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)


def train_network(
    *,
    module: LanguageModelling,
    data: CorpusDataModule,
    folder: RunFolder,
    settings: TrainerSettings,
    resume: bool,
    stop: StopSignals,
    loggers: Sequence[Logger] = (),
    placement: Placement = ALONE,
) -> None:
    """Train, and save the best weights in the run folder.

    A signal ends the training after the current batch, with a checkpoint. With a ``placement``
    among several processes, which must be connected already, all of them call this function, and
    the first one writes.
    """
    last = folder / CHECKPOINT_FILE
    checkpoint = last if resume and last.exists() else None
    module.step_limit = settings.max_steps
    # A progress bar would clutter log files, and those of parallel jobs would mix.
    progress = settings.progress and Console().is_terminal and not is_parallel_job()
    guard = DivergenceGuard(folder)
    callbacks: list[Callback] = [
        guard,
        StepLimit(settings.max_steps),
        BestWeights(folder),
        EpochMetrics(folder),
    ]
    if settings.early_stopping:
        callbacks.append(EarlyStopping("valid/loss", patience=settings.early_stopping))
    callbacks.append(
        ResumePoint(folder, every_steps=settings.checkpoint_steps, guard=guard, stop=stop)
    )
    if progress:
        callbacks.append(EpochBar(str(folder.path)))
    processes, precision = lightning_arguments(placement), precision_arguments(settings)
    plugins = [WholeCheckpoints(), *processes.pop("plugins"), *precision.pop("plugins", [])]
    trainer = pl.Trainer(
        accelerator=settings.accelerator,
        **processes,
        **precision,
        plugins=plugins,
        max_epochs=settings.max_epochs,
        gradient_clip_val=settings.gradient_clip or None,
        num_sanity_val_steps=0,
        # The number of batches varies slightly from epoch to epoch.
        reload_dataloaders_every_n_epochs=1,
        use_distributed_sampler=False,
        callbacks=callbacks,
        logger=list(loggers) or False,
        enable_progress_bar=progress,
        enable_model_summary=False,
        default_root_dir=folder.path,
    )
    with stop.deferred():
        trainer.fit(module, data, ckpt_path=checkpoint, weights_only=True)


class StepLimit(Callback):
    """Ends a run at ``max_steps``, also within an epoch, with a final validation.

    Lightning's own limit changes how it counts epochs when it resumes.
    """

    def __init__(self, max_steps: int) -> None:
        self._max_steps = max_steps

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._stop_at_limit(trainer)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        self._stop_at_limit(trainer)

    def _stop_at_limit(self, trainer: pl.Trainer) -> None:
        if trainer.global_step == self._max_steps:
            trainer.should_stop = True


class BestWeights(Callback):
    """Writes the weights to the run folder whenever the validation loss reaches a new low."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._best = float("inf")

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, LanguageModelling)
        loss = pl_module.totals["valid"].loss
        if trainer.state.fn == "fit" and loss < self._best:
            self._best = loss
            if trainer.is_global_zero:
                save_weights(pl_module.network, self._folder / WEIGHTS_FILE)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._best = state_dict["best"]


class EpochMetrics(Callback):
    """Writes one row of metrics per epoch to ``metrics.csv`` and one line to the log."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._rows: list[dict[str, Any]] = []
        self._began = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._began = time.monotonic()

    # A run that is resumed within an epoch does not start an epoch.
    on_train_epoch_start = on_train_start

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        metrics = {
            name: float(value)
            for name, value in trainer.callback_metrics.items()
            if name.startswith(("train/", "valid/"))
        }
        row = {
            "epoch": trainer.current_epoch,
            "step": trainer.global_step,
            "learning_rate": trainer.optimizers[0].param_groups[0]["lr"],
            **metrics,
            "seconds": round(time.monotonic() - self._began, 2),
        }
        self._rows.append(row)
        if trainer.is_global_zero:
            write_table(self._folder / METRICS_FILE, self._rows)
            log.info(
                "%s: %s: train loss %.4f, validation loss %.4f (%.1f s)",
                self._folder.path,
                epoch_text(trainer.current_epoch, trainer.max_epochs).lower(),
                metrics.get("train/loss", float("nan")),
                metrics.get("valid/loss", float("nan")),
                row["seconds"],
            )

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self._rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._rows = list(state_dict["rows"])


def seed_everything(seed: int) -> None:
    """Seed the random generators of Python, NumPy and torch, for the initial weights."""
    pl.seed_everything(seed, workers=True, verbose=False)
    # Some CUDA operations are only reproducible if this is set before the first of them.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
