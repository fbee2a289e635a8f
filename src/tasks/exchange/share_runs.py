"""task=share: write runs to folders for others."""

from __future__ import annotations

from pathlib import Path

from gardenpath.console import console
from gardenpath.errors import ConfigError
from gardenpath.runs.run import Run
from gardenpath.runs.sharing.share import share_run
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import ShareTask
from gardenpath.tasks.asked import asked_runs, conclude
from gardenpath.text import file_stem


def run_share(settings: EvaluateSettings, task: ShareTask) -> None:
    """Write each run to a folder of its own below the output folder."""
    runs = asked_runs(settings)
    folders = [Path(settings.output) / _folder_name(one) for one in runs]
    for folder, one in zip(folders, runs, strict=True):
        if folders.count(folder) > 1:
            raise ConfigError([f"{one.path}: another run has its name; share them one by one"])
    for folder, one in zip(folders, runs, strict=True):
        share_run(one, folder, task.form)
        console.print(f"{one.path}: written to {folder}", highlight=False, soft_wrap=True)
    conclude(runs.skipped, runs.skipped)


def _folder_name(run: Run) -> str:
    name = run.name
    return file_stem(f"{name.corpus}_{name.model}_seed{name.seed}")
