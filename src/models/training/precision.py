"""Numerical precision of training."""

from __future__ import annotations

from typing import Any

import torch
from pytorch_lightning.plugins import DoublePrecision

from gardenpath.models.training.training_settings import TrainerSettings


def precision_arguments(settings: TrainerSettings) -> dict[str, Any]:
    """Return the arguments of Lightning's trainer that concern precision."""
    if settings.precision == "64":
        return {"plugins": [_DoubleWeights()]}
    return {"precision": _precision(settings)}


def _precision(settings: TrainerSettings) -> str:
    if settings.precision != "auto":
        return settings.precision
    on_gpu = settings.accelerator != "cpu" and torch.cuda.is_available()
    if not on_gpu:
        return "32"
    return "bf16-mixed" if torch.cuda.is_bf16_supported() else "16-mixed"


class _DoubleWeights(DoublePrecision):
    """Weights in double precision; batches hold whole numbers, which need no conversion."""

    def convert_input(self, data: Any) -> Any:
        return data
