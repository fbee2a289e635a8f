"""Write the results of an evaluation, and publish them to Weights & Biases."""

from __future__ import annotations

import os
from pathlib import Path

from gardenpath.console import console
from gardenpath.models.training.loggers import begun_at_wandb, end_at_wandb
from gardenpath.models.training.training_settings import WandbSettings
from gardenpath.runs.results import Results
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.tasks.printing import print_analyses, print_too_few


def write_results(
    results: Results, folder: Path, settings: EvaluateSettings, *, report: bool
) -> None:
    """Write results and print where they are."""
    if report:
        print_analyses(results.shown_analyses())
        print_too_few(results)
        path = results.report(folder)
        console.print(f"Tables: {folder}")
        console.print(f"Report: {path}")
    else:
        console.print(f"Tables: {results.write(folder)}")
    publish(folder, settings)


def publish(folder: Path, settings: EvaluateSettings) -> None:
    """Send the files of a results folder to Weights & Biases if ``logger=wandb`` is set."""
    logger = settings.logger
    if not isinstance(logger, WandbSettings):
        return
    import pandas as pd

    os.environ.setdefault("WANDB_SILENT", "true")
    import wandb

    run = begun_at_wandb(
        lambda: wandb.init(
            project=logger.project,
            group=logger.group,
            name=f"evaluate/{folder.name}",
            job_type="evaluation",
            dir=folder.parent,
            # None leaves the choice to the environment variable WANDB_MODE.
            mode="offline" if logger.offline else None,
            config=plain(settings),
        )
    )
    for path in sorted(folder.glob("*.csv")):
        run.log({path.stem: wandb.Table(dataframe=pd.read_csv(path))})
    for path in sorted((folder / "figures").glob("*.png")):
        run.log({f"figures/{path.stem}": wandb.Image(str(path))})
    report = folder / "report.html"
    if report.is_file():
        run.log({"report": wandb.Html(report.read_text(encoding="utf-8"), inject=False)})
    sent = f"Sent to Weights & Biases: project {logger.project}, {run.name}"
    console.print(end_at_wandb(run) or sent, highlight=False, soft_wrap=True)
