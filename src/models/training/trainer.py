"""Train one model on one corpus with Lightning's trainer."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import (
    Callback,
    EarlyStopping,
    ModelCheckpoint,
    RichProgressBar,
)
from pytorch_lightning.loggers import Logger
from rich.console import Console

from gardenpath.errors import RunError
from gardenpath.models.training.data_module import CorpusDataModule
from gardenpath.models.training.lightning_module import LanguageModelling
from gardenpath.models.training.training_settings import TrainerSettings
from gardenpath.models.weights import save_weights
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.tables import write_table

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
    loggers: Sequence[Logger] = (),
) -> None:
    """Train, and save the best weights in the run folder."""
    checkpoint = folder.checkpoint_path if resume and folder.checkpoint_path.exists() else None
    if checkpoint is not None:
        _require_readable(folder)
    trainer = _make_trainer(settings, folder, loggers)
    try:
        trainer.fit(module, data, ckpt_path=checkpoint, weights_only=True)
    except SystemExit:  # raised by Lightning on Ctrl-C
        raise RunError(f"{folder.path}: interrupted; continue with existing=resume") from None


def _make_trainer(
    settings: TrainerSettings, folder: RunFolder, loggers: Sequence[Logger]
) -> pl.Trainer:
    # A progress bar would only clutter log files.
    progress = settings.progress and Console().is_terminal
    callbacks = _make_callbacks(settings, folder)
    if progress:
        callbacks.append(RichProgressBar(leave=False))
    return pl.Trainer(
        accelerator=settings.accelerator,
        devices=settings.devices,
        strategy=settings.strategy,
        precision=_precision(settings),
        max_epochs=settings.max_epochs,
        max_steps=settings.max_steps,
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


def _make_callbacks(settings: TrainerSettings, folder: RunFolder) -> list[Callback]:
    callbacks: list[Callback] = [StepLimit(), BestWeights(folder), EpochMetrics(folder)]
    if settings.early_stopping:
        callbacks.append(EarlyStopping("valid/loss", patience=settings.early_stopping))
    callbacks.append(_resume_point(folder, every_n_epochs=1))
    if settings.checkpoint_steps:
        callbacks.append(_resume_point(folder, every_n_train_steps=settings.checkpoint_steps))
    return callbacks


def _precision(settings: TrainerSettings) -> Any:
    if settings.precision != "auto":
        return settings.precision
    on_gpu = settings.accelerator != "cpu" and torch.cuda.is_available()
    if not on_gpu:
        return "32"
    return "bf16-mixed" if torch.cuda.is_bf16_supported() else "16-mixed"


def _resume_point(folder: RunFolder, **when: int) -> ModelCheckpoint:
    path = folder.checkpoint_path
    return ModelCheckpoint(
        dirpath=path.parent,
        filename=path.stem,
        save_top_k=1,
        enable_version_counter=False,
        save_on_train_epoch_end="every_n_epochs" in when,
        **when,  # type: ignore[arg-type]
    )


def _require_readable(folder: RunFolder) -> None:
    path = folder.checkpoint_path
    try:
        torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many exceptions for a damaged file
        raise RunError(
            f"{path}: the checkpoint cannot be read ({type(error).__name__}); delete it to start "
            "over, or restore it from a copy"
        ) from error


class StepLimit(Callback):
    """Adds a final validation to a run that reaches ``max_steps`` within an epoch."""

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        if trainer.global_step == trainer.max_steps:
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
                save_weights(pl_module.network, self._folder.weights_path)

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
        self._began = time.monotonic()  # a run resumed within an epoch does not start an epoch

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._began = time.monotonic()

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
            write_table(self._folder.metrics_path, self._rows)
            log.info(
                "epoch %d: train loss %.4f, validation loss %.4f (%.1f s)",
                row["epoch"],
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
