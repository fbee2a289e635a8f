"""Optimiser and learning-rate schedule from plain settings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from torch import nn
from torch.optim import SGD, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from gardenpath.settings.bounds import Fraction, NonNegativeFloat, NonNegativeInt


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserSettings:
    """``plateau`` multiplies the rate by ``decay`` after ``patience`` epochs without progress;
    ``cosine`` falls to zero at the last step; both others may warm up linearly.
    """

    algorithm: Literal["adamw", "sgd"] = "adamw"
    learning_rate: NonNegativeFloat = 1e-3
    weight_decay: NonNegativeFloat = 0.01
    momentum: Fraction = 0.0
    schedule: Literal["constant", "plateau", "cosine"] = "constant"
    warmup_steps: NonNegativeInt = 0
    decay: Fraction = 0.5
    patience: NonNegativeInt = 0

    def mistakes(self) -> list[str]:
        """What is wrong with a combination of settings."""
        if self.schedule == "plateau" and self.warmup_steps:
            return ["schedule=plateau cannot warm up: set warmup_steps=0 or another schedule"]
        return []


def make_optimiser(network: nn.Module, settings: OptimiserSettings) -> Optimizer:
    """The optimiser; weight decay acts on matrices only, not on biases and norms."""
    matrices = [weight for weight in network.parameters() if weight.dim() >= 2]
    others = [weight for weight in network.parameters() if weight.dim() < 2]
    groups: Iterable[dict[str, object]] = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    if settings.algorithm == "sgd":
        return SGD(groups, lr=settings.learning_rate, momentum=settings.momentum)
    # One pass over all weights; on GPUs it would not go with clipping under mixed precision.
    on_cpu = all(weight.device.type == "cpu" for weight in network.parameters())
    return AdamW(groups, lr=settings.learning_rate, fused=on_cpu)


def make_schedule(
    optimiser: Optimizer, settings: OptimiserSettings, *, total_steps: int
) -> LambdaLR | ReduceLROnPlateau:
    """The schedule; :class:`ReduceLROnPlateau` steps once per epoch, others once per step."""
    if settings.schedule == "plateau":
        return ReduceLROnPlateau(
            optimiser, factor=settings.decay, patience=settings.patience, mode="min"
        )

    def factor(step: int) -> float:
        if step < settings.warmup_steps:
            return (step + 1) / settings.warmup_steps
        if settings.schedule == "constant":
            return 1.0
        remaining = max(1, total_steps - settings.warmup_steps)
        progress = min(1.0, (step - settings.warmup_steps) / remaining)
        return 0.5 * (1.0 + math.cos(math.pi * progress))

    return LambdaLR(optimiser, factor)
