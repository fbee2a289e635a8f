"""Optional logging to Weights & Biases, in addition to the files of Gardenpath."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gardenpath.errors import GardenpathError
from gardenpath.models.training.training_settings import LoggerSettings, WandbSettings


def make_loggers(settings: LoggerSettings, *, folder: Path, config: Mapping[str, Any]) -> list[Any]:
    """Return the Lightning loggers that the settings request; they have begun."""
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
    return [told for logger in loggers if (told := end_at_wandb(logger.experiment))]


def end_at_wandb(run: Any) -> str:
    """End a run at Weights & Biases; return how its local files are sent, if it was offline."""
    folder, is_offline = run.settings.sync_dir, run.offline
    run.finish()
    return f"Weights & Biases: offline; send it with: wandb sync {folder}" if is_offline else ""
