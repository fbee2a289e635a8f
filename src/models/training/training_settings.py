"""Settings of training. They are read without torch or Lightning."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Annotated, Literal

from gardenpath.settings.bounds import (
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
    """Highest learning rate."""
    weight_decay: NonNegativeFloat = 0.01
    """Weight decay of matrices; biases and norms have none."""
    momentum: Fraction = 0.0
    """Momentum of sgd."""
    schedule: Literal["constant", "plateau", "cosine"] = "plateau"
    """plateau multiplies the rate by decay after patience epochs without progress; cosine falls
    to zero at the last step."""
    warmup_steps: NonNegativeInt = 0
    """Steps over which the rate rises linearly at first (constant and cosine)."""
    decay: Fraction = 0.5
    """Factor of schedule=plateau."""
    patience: NonNegativeInt = 0
    """Epochs without progress that schedule=plateau tolerates."""

    def mistakes(self) -> list[str]:
        """What is wrong with a combination of settings."""
        if self.schedule == "plateau" and self.warmup_steps:
            return ["schedule=plateau cannot warm up: set warmup_steps=0 or another schedule"]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerSettings:
    """How long and on which hardware to train."""

    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    """Hardware; auto takes a GPU if one is available."""
    devices: PositiveInt = 1
    """Number of GPUs, or of processes on a CPU."""
    strategy: Literal["auto", "ddp"] = "auto"
    """ddp shares the batches among several devices."""
    precision: Literal["auto", "32", "64", "bf16-mixed", "16-mixed"] = "auto"
    """Numerical precision; auto is mixed on a GPU and single elsewhere."""
    max_epochs: PositiveInt = 50
    """Most epochs."""
    max_steps: Annotated[int, Bounds(-1)] = -1
    """Most optimiser steps; -1 sets no limit."""
    early_stopping: NonNegativeInt = 5
    """Epochs without a lower validation loss after which training stops; 0 never stops early."""
    gradient_clip: NonNegativeFloat = 1.0
    """Largest norm of the gradient; 0 does not clip."""
    checkpoint_steps: NonNegativeInt = 0
    """Steps between checkpoints within an epoch; 0 saves only after epochs."""
    progress: bool = True
    """Whether a progress bar is shown on a terminal."""

    def unavailable(self) -> list[str]:
        """What this machine lacks for these settings."""
        if self.accelerator != "gpu":
            return []
        import torch

        if not (torch.cuda.is_available() or torch.backends.mps.is_available()):
            return ["accelerator=gpu, but there is no GPU; use trainer=cpu or trainer=auto"]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class NoLogger:
    """Metrics are written to the run folder only."""

    kind: Literal["none"] = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class WandbSettings:
    """Metrics are sent to Weights & Biases too."""

    kind: Literal["wandb"] = "wandb"
    project: str = "gardenpath"
    """Project at Weights & Biases."""
    group: str | None = None
    """Group of runs within the project."""
    offline: bool = False
    """Whether to write to a local folder, without network or account."""

    def unavailable(self) -> list[str]:
        """Whether the package is installed."""
        if importlib.util.find_spec("wandb") is None:
            return ["logger=wandb needs the package wandb: pip install 'gardenpath[wandb]'"]
        return []


LOGGERS = {"none": NoLogger, "wandb": WandbSettings}
LoggerSettings = NoLogger | WandbSettings
