"""How to train: settings of their own, which are read without loading Lightning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch

from gardenpath.settings.bounds import Bounds, NonNegativeFloat, NonNegativeInt, PositiveInt


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerSettings:
    """How long, on what and how carefully to train.

    Training stops after ``max_epochs``, or when the validation loss has not improved for
    ``early_stopping`` epochs. ``precision: auto`` is mixed on a GPU and single elsewhere.
    ``checkpoint_steps`` saves the state for resuming within an epoch too (0: only after epochs).
    """

    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    devices: PositiveInt = 1
    strategy: Literal["auto", "ddp"] = "auto"
    precision: Literal["auto", "32", "64", "bf16-mixed", "16-mixed"] = "auto"
    max_epochs: PositiveInt = 50
    max_steps: Annotated[int, Bounds(-1)] = -1
    early_stopping: NonNegativeInt = 5
    gradient_clip: NonNegativeFloat = 1.0
    checkpoint_steps: NonNegativeInt = 0
    progress: bool = True

    def mistakes(self) -> list[str]:
        """What is wrong with a combination of settings, on this machine."""
        if self.accelerator == "gpu" and not torch.accelerator.is_available():
            return ["accelerator=gpu, but there is no GPU; use trainer=cpu or trainer=auto"]
        return []
