"""Results at Weights & Biases: tables, figures and report of an evaluation."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from gardenpath.console import console
from gardenpath.errors import ConfigError

Settings = Mapping[str, Any]


def publish(folder: Path, settings: Settings) -> None:
    """Send what an evaluation wrote into a folder, where ``logger=wandb`` asks for it."""
    logger = settings["logger"]
    if logger["kind"] != "wandb":
        return
    if importlib.util.find_spec("wandb") is None:
        raise ConfigError(["logger=wandb needs the package wandb: pip install -e '.[wandb]'"])
    os.environ.setdefault("WANDB_SILENT", "true")
    import wandb

    run = wandb.init(
        project=logger["project"],
        group=logger["group"],
        name=f"evaluate/{folder.name}",
        job_type="evaluation",
        dir=folder,
        mode="offline" if logger["offline"] else "online",
        config=dict(settings),
    )
    for path in sorted(folder.glob("*.csv")):
        run.log({path.stem: wandb.Table(dataframe=pd.read_csv(path))})
    for path in sorted((folder / "figures").glob("*.png")):
        run.log({f"figures/{path.stem}": wandb.Image(str(path))})
    report = folder / "report.html"
    if report.is_file():
        run.log({"report": wandb.Html(report.read_text(encoding="utf-8"), inject=False)})
    run.finish()
    console.print(f"Sent to Weights & Biases: project {logger['project']}, {run.name}")
