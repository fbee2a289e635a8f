"""Tell apart runs of one model and corpus whose settings differ, such as those of a sweep.

Tables average over the runs of a model. Runs that differ in more than their random seed are
different models, so the settings in which they differ become part of the model's name. Folders of
corpora differ between machines and say nothing, but the vocabulary counts the words of the training
split: runs with the same settings and different vocabularies were trained on different corpora.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gardenpath.errors import RunError
from gardenpath.settings.check import plain
from gardenpath.settings.command.job_names import flat_settings, short_names, written_value

if TYPE_CHECKING:
    from gardenpath.runs.run import Run

# Settings that make another model; others, such as devices or folders, belong to the machine.
_DECISIVE = (
    "model.", "data.min_count", "data.subwords.", "data.cleaning.", "data.max_train_tokens",
    "data.reader.", "trainer.max_epochs", "trainer.max_steps", "trainer.early_stopping",
    "trainer.gradient_clip",
)  # fmt: skip
_MACHINE = ("model.batches.workers",)
_FOLDER = "root"
# Digits of the hash of a vocabulary, where nothing else tells two corpora apart.
_HASH_LENGTH = 8


def name_variants(runs: Sequence[Run]) -> None:
    """Name the settings in which runs of one model and corpus differ: ``lstm (size=tiny)``."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        settings = run.settings
        groups.setdefault((settings.model.name, settings.data.name), []).append(run)
    for members in groups.values():
        decisive = [_decisive(run) for run in members]
        if len(members) > 1:
            _tell_corpora_apart(members, decisive)
        for run, variant in zip(members, _variants(decisive), strict=True):
            run.variant = variant


def _tell_corpora_apart(runs: Sequence[Run], settings: Sequence[dict[str, Any]]) -> None:
    """Add the folders of corpora, or else vocabularies, where equal settings hide different ones.

    Runs whose vocabulary cannot be read are reported and left out elsewhere.
    """
    folders: dict[str, dict[str, str]] = {}
    known = [_vocabulary(run) for run in runs]
    for run, one, vocabulary in zip(runs, settings, known, strict=True):
        found = folders.setdefault(repr(one), {})
        if vocabulary:
            found.setdefault(vocabulary, str(run.settings.data.root))
    for one, vocabulary in zip(settings, known, strict=True):
        found = folders[repr(one)]
        if len(found) < 2 or not vocabulary:
            continue
        if len(set(found.values())) == len(found):
            one[f"data.{_FOLDER}"] = found[vocabulary]
        else:
            one["vocabulary"] = vocabulary[:_HASH_LENGTH]


def _vocabulary(run: Run) -> str:
    try:
        return run.vocabulary_hash
    except RunError:
        return ""


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
        if name.startswith(_DECISIVE)
        and name not in _MACHINE
        and name.rpartition(".")[2] != _FOLDER
    }
