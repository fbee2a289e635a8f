"""Refuse models whose weights or perplexities are infinite or not numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gardenpath.errors import DivergedError
from gardenpath.store.run_folder import RunFolder

LOWER_RATE = (
    "lower model.optimiser.learning_rate, or clip gradients (trainer.gradient_clip), and start "
    "over with existing=overwrite"
)
_NO_PROBABILITY = (
    "the model gives no probability to a sentence of this split; smooth the model, or train it on "
    "a corpus that covers these words, and start over with existing=overwrite"
)


def require_finite(
    model: Any, metrics: Mapping[str, Mapping[str, float]], folder: RunFolder
) -> None:
    """Refuse a trained network or n-gram model, given its metrics by split."""
    import torch

    is_network = isinstance(model, torch.nn.Module)
    if is_network and not has_finite_weights(model):
        raise DivergedError(
            f"{folder.weights_path}: the weights are infinite or not numbers; {LOWER_RATE}"
        )
    for split, values in metrics.items():
        for name, value in values.items():
            if not math.isfinite(value):
                shown = name.replace("_", " ")
                remedy = LOWER_RATE if is_network else _NO_PROBABILITY
                raise DivergedError(
                    f"{folder.path}: the {shown} of the split {split} is {value}; {remedy}"
                )


def has_finite_weights(network: Any) -> bool:
    """Whether all weights of a network are finite; waits for the device once."""
    import torch

    weights = [torch.isfinite(weight.detach()).all() for weight in network.parameters()]
    return bool(torch.stack(weights).all()) if weights else True
