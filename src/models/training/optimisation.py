"""Optimiser and learning-rate schedule from plain settings."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch import nn
from torch.optim import SGD, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from gardenpath.models.training.training_settings import OptimiserSettings


def make_optimiser(network: nn.Module, settings: OptimiserSettings) -> Optimizer:
    """Return the optimiser; weight decay applies to matrices only, not to biases and norms."""
    matrices = [weight for weight in network.parameters() if weight.dim() >= 2]
    others = [weight for weight in network.parameters() if weight.dim() < 2]
    groups: Iterable[dict[str, object]] = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    if settings.algorithm == "sgd":
        return SGD(groups, lr=settings.learning_rate, momentum=settings.momentum)
    # fused: one pass over all weights; on GPUs it conflicts with clipping under mixed precision.
    on_cpu = all(weight.device.type == "cpu" for weight in network.parameters())
    return AdamW(groups, lr=settings.learning_rate, fused=on_cpu)


def make_schedule(
    optimiser: Optimizer, settings: OptimiserSettings, *, total_steps: int
) -> LambdaLR | ReduceLROnPlateau:
    """Return the schedule; :class:`ReduceLROnPlateau` steps once per epoch, others per step."""
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
