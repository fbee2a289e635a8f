"""Weights & Biases beside the run folder's own metrics file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gardenpath.models.training.training_settings import LoggerSettings, WandbSettings


def make_loggers(settings: LoggerSettings, *, folder: Path, config: Mapping[str, Any]) -> list[Any]:
    """The Lightning loggers that the settings ask for."""
    if not isinstance(settings, WandbSettings):
        return []
    # Here, because Lightning takes seconds to load.
    from pytorch_lightning.loggers import WandbLogger

    os.environ.setdefault("WANDB_SILENT", "true")
    logger = WandbLogger(
        project=settings.project,
        group=settings.group,
        name="/".join(folder.parts[-3:]),
        save_dir=folder,
        offline=settings.offline,
        config=dict(config),
    )
    return [logger]
