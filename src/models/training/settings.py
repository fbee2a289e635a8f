"""Settings of optimiser, trainer and loggers, which can be read without torch or Lightning."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from gardenpath.errors import GardenpathError
from gardenpath.settings.schema import (
    Bounds,
    Fraction,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserSettings:
    """Optimiser and learning-rate schedule."""

    algorithm: Literal["adamw", "sgd"] = "adamw"
    """Optimisation algorithm."""
    learning_rate: NonNegativeFloat = 1e-3
    """Maximum learning rate."""
    weight_decay: NonNegativeFloat = 0.01
    """Weight decay of matrices; biases and norms have none."""
    momentum: Fraction = 0.0
    """Momentum of algorithm=sgd."""
    schedule: Literal["constant", "plateau", "cosine"] = "plateau"
    """plateau multiplies the rate by decay after patience epochs without improvement; cosine
    decreases it to zero at the last step."""
    warmup_steps: NonNegativeInt = 0
    """Number of initial steps with a linearly increasing rate (constant and cosine)."""
    decay: Fraction = 0.5
    """Factor by which schedule=plateau reduces the learning rate."""
    patience: NonNegativeInt = 0
    """Number of epochs without improvement that schedule=plateau tolerates."""

    def mistakes(self) -> list[str]:
        """Return the mistakes in a combination of settings."""
        if self.schedule == "plateau" and self.warmup_steps:
            return [
                "schedule=plateau does not support warmup: set warmup_steps=0 or another schedule"
            ]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerSettings:
    """Duration and hardware of training."""

    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    """Hardware; auto uses a GPU if one is available."""
    devices: PositiveInt = 1
    """Number of GPUs of a machine, or of processes on its CPU. Each batch is divided among them, so
    that the model is the same as with one."""
    strategy: Literal["auto", "ddp"] = "auto"
    """auto is distributed training if there are several devices; ddp also with devices=1, for one
    process on each of several machines, which torchrun or srun has started."""
    precision: Literal["auto", "32", "64", "bf16-mixed", "16-mixed"] = "auto"
    """Numerical precision; auto is mixed on a GPU and single elsewhere."""
    max_epochs: PositiveInt = 50
    """Maximum number of epochs."""
    max_steps: Annotated[int, Bounds(-1)] = -1
    """Maximum number of optimiser steps; -1 sets no limit."""
    early_stopping: NonNegativeInt = 5
    """Epochs without a lower validation loss before training stops; 0 never stops early."""
    gradient_clip: NonNegativeFloat = 1.0
    """Maximum norm of the gradient; 0 disables clipping."""
    checkpoint_steps: NonNegativeInt = 0
    """Number of steps between checkpoints within an epoch; 0 saves only after epochs, and when a
    signal ends the training."""
    progress: bool = True
    """Whether to show a progress bar on a terminal."""

    def unavailable(self) -> list[str]:
        """Return what this machine lacks for these settings."""
        if self.accelerator == "cpu" or (self.accelerator == "auto" and self.devices == 1):
            return []
        import torch

        has_cuda, has_mps = torch.cuda.is_available(), torch.backends.mps.is_available()
        if not (has_cuda or has_mps):
            if self.accelerator == "auto":
                return []
            return [
                "accelerator=gpu, but no GPU is available; use trainer=cpu or trainer=auto; for "
                "trainer=ddp on a CPU, set trainer.accelerator=cpu"
            ]
        count = torch.cuda.device_count() if has_cuda else 1
        if self.devices > max(1, count):
            return [f"devices={self.devices}, but this machine has {count} GPU(s) for training"]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class NoLogger:
    """Write metrics to the run folder only."""

    kind: Literal["none"] = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class WandbSettings:
    """Also send metrics to Weights & Biases."""

    kind: Literal["wandb"] = "wandb"
    project: str = "gardenpath"
    """Project at Weights & Biases."""
    group: str | None = None
    """Group of runs within the project."""
    offline: bool = False
    """Whether to write to a local folder, without network or account."""

    def unavailable(self) -> list[str]:
        """Return a mistake if the package is not installed."""
        if importlib.util.find_spec("wandb") is None:
            return ["logger=wandb needs the package wandb: pip install 'gardenpath[wandb]'"]
        return []


LOGGERS = {"none": NoLogger, "wandb": WandbSettings}
LoggerSettings = NoLogger | WandbSettings


# ----------------------------------------------------------------------------
# Optional logging to Weights & Biases, in addition to the files of Gardenpath.


def make_loggers(settings: LoggerSettings, *, folder: Path, config: Mapping[str, Any]) -> list[Any]:
    """Return the Lightning loggers that the settings request; they have begun."""
    if not isinstance(settings, WandbSettings):
        return []
    # Imported here because Lightning takes seconds to load.
    from pytorch_lightning.loggers import WandbLogger

    os.environ.setdefault("WANDB_SILENT", "true")
    logger = WandbLogger(
        project=settings.project, group=settings.group, name="/".join(folder.parts[-3:]),
        save_dir=folder, offline=settings.offline, config=dict(config),
    )  # fmt: skip
    begun_at_wandb(lambda: logger.experiment)
    return [logger]


def begun_at_wandb(begin: Callable[[], Any]) -> Any:
    """Begin a run at Weights & Biases; without an account or a network, say what to do."""
    import wandb

    try:
        return begin()
    except wandb.errors.Error as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        problem = lines[0].rstrip(".")
        raise GardenpathError(
            f"Weights & Biases cannot be reached: {problem}. Log in with 'wandb login', or set "
            "logger.offline=true to write to a local folder, which 'wandb sync' sends later"
        ) from error


def end_loggers(loggers: Sequence[Any]) -> list[str]:
    """End the runs of the loggers, so that the next training begins its own; what to tell users."""
    return [line for logger in loggers if (line := end_at_wandb(logger.experiment))]


def end_at_wandb(run: Any) -> str:
    """End a run at Weights & Biases; return how its local files are sent, if it was offline."""
    folder, is_offline = run.settings.sync_dir, run.offline
    run.finish()
    return f"Weights & Biases: offline; send it with: wandb sync {folder}" if is_offline else ""
