"""task=adopt: make a model that others trained a run like any other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gardenpath.console import console
from gardenpath.runs.adoption.adopting import adopt, name_of_source
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import AdoptTask
from gardenpath.text import file_stem


def run_adopt(settings: EvaluateSettings, task: AdoptTask) -> None:
    """Write the run folder, and say how to use it."""
    assert settings.model is not None
    model = settings.model
    name = model.name or name_of_source(task.source)
    place = task.run_dir or Path(settings.paths.runs) / "adopted" / file_stem(name)
    found = adopt(
        replace(model, name=name),
        task.source,
        run_dir=place,
        corpus=task.corpus,
        seed=task.seed,
        existing=task.existing,
    )
    for note in found.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    console.print(
        f"{found.path}: {name} is a run now; score it with 'evaluate.py suite=… run={found.path}'",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip
