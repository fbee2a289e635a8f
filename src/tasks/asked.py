"""The runs that the settings of an evaluation ask for."""

from __future__ import annotations

from gardenpath.runs.run import Runs, find
from gardenpath.settings.evaluate_settings import EvaluateSettings


def asked_runs(settings: EvaluateSettings) -> Runs:
    """All finished runs at or below the folder that the settings name; one at least."""
    return find(
        settings.run,
        device=settings.device,
        search=settings.search,
        cache=settings.paths.surprisals,
    )
