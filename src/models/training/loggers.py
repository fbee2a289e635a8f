"""Loggers beside the run folder's own metrics file."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gardenpath.errors import ConfigError

LOGGERS = ("none", "wandb")


def make_loggers(
    settings: Mapping[str, Any], *, folder: Path, config: Mapping[str, Any]
) -> list[Any]:
    """The Lightning loggers that the settings ask for."""
    if settings["kind"] == "none":
        return []
    arguments = {key: value for key, value in settings.items() if key != "kind"}
    return [make_wandb(**arguments, folder=folder, config=config)]


def make_wandb(
    *,
    project: str,
    offline: bool,
    group: str | None = None,
    folder: Path,
    config: Mapping[str, Any],
) -> Any:
    """A run at Weights & Biases, or in a local folder when offline."""
    if importlib.util.find_spec("wandb") is None:
        raise ConfigError(["logger=wandb needs the package wandb: pip install -e '.[wandb]'"])
    # Here, because Lightning takes seconds to load and settings are read without it.
    from pytorch_lightning.loggers import WandbLogger

    os.environ.setdefault("WANDB_SILENT", "true")
    return WandbLogger(
        project=project,
        group=group,
        name="/".join(folder.parts[-3:]),
        save_dir=folder,
        offline=offline,
        config=dict(config),
    )
