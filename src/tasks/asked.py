"""The runs requested by the settings of an evaluation."""

from __future__ import annotations

from gardenpath.runs.run import Runs, find
from gardenpath.settings.evaluate_settings import EvaluateSettings


def asked_runs(settings: EvaluateSettings) -> Runs:
    """Return all finished runs at or below the folders in the settings; at least one in each."""
    return find(
        *settings.run_folders,
        device=settings.device,
        search=settings.search,
        cache=settings.paths.surprisals,
        processes=getattr(settings.task, "processes", None),
    )
