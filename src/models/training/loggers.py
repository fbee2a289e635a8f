"""Optional logging to Weights & Biases, in addition to the metrics file of the run folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gardenpath.models.training.training_settings import LoggerSettings, WandbSettings


def make_loggers(settings: LoggerSettings, *, folder: Path, config: Mapping[str, Any]) -> list[Any]:
    """Return the Lightning loggers that the settings request."""
    if not isinstance(settings, WandbSettings):
        return []
    # Imported here because Lightning takes seconds to load.
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
