"""Tell apart runs of one model and corpus whose settings differ, such as those of a sweep.

Tables average over the runs of a model. Runs that differ in more than their random seed are
different models, so the settings in which they differ become part of the model's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gardenpath.settings.check import plain
from gardenpath.settings.command.job_names import flat_settings, short_names, written_value

if TYPE_CHECKING:
    from gardenpath.runs.run import Run

# Settings that make another model; others, such as devices or folders, belong to the machine.
_DECISIVE = (
    "model.", "data.min_count", "data.subwords.", "data.cleaning.", "data.max_train_tokens",
    "trainer.max_epochs", "trainer.max_steps", "trainer.early_stopping", "trainer.gradient_clip",
)  # fmt: skip
_MACHINE = ("model.batches.workers",)


def name_variants(runs: Sequence[Run]) -> None:
    """Name the settings in which runs of one model and corpus differ: ``lstm (size=tiny)``."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        settings = run.settings
        groups.setdefault((settings.model.name, settings.data.name), []).append(run)
    for members in groups.values():
        decisive = [_decisive(run) for run in members]
        for run, variant in zip(members, _variants(decisive), strict=True):
            run.variant = variant


def _variants(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = list(dict.fromkeys(key for one in settings for key in one))
    different = [
        key for key in keys if any(one.get(key) != settings[0].get(key) for one in settings)
    ]
    names = short_names(different)
    return [
        ", ".join(f"{names[key]}={written_value(one.get(key))}" for key in different)
        for one in settings
    ]


def _decisive(run: Run) -> dict[str, Any]:
    return {
        name: value
        for name, value in flat_settings(plain(run.settings)).items()
        if name.startswith(_DECISIVE) and name not in _MACHINE
    }
