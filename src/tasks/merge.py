"""task=merge: put the surprisals of several files into one."""

from __future__ import annotations

from pathlib import Path

from gardenpath.console import console
from gardenpath.errors import InputError
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import MergeTask
from gardenpath.store.surprisal_store import SurprisalStore
from gardenpath.text import plural


def run_merge(settings: EvaluateSettings, task: MergeTask) -> None:
    """Add all entries to the file of the settings; damaged files are refused, not copied."""
    target = SurprisalStore(Path(settings.paths.surprisals))
    sources = [SurprisalStore(Path(one)) for one in task.stores]
    for one in sources:
        if not one.path.is_file():
            raise InputError("does not exist", path=one.path, remedy="name others with stores=")
        if target.path.exists() and one.path.samefile(target.path):
            raise InputError(
                "is the file to merge into", path=one.path, remedy="set another paths.surprisals="
            )
    count = sum(target.add_from(one) for one in sources)
    console.print(
        f"{plural(count, 'sentence')} from {plural(len(sources), 'file')}: {target.path}",
        highlight=False,
        soft_wrap=True,
    )
