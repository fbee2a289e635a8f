"""Open a run folder as what it is: a model that was trained here, or one that was adopted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gardenpath.errors import RunError
from gardenpath.models.families import ADOPTED
from gardenpath.runs.adoption.adopted_run import AdoptedRun
from gardenpath.runs.run import Run
from gardenpath.store.run_folder import RunFolder


def open_run(path: str | Path, **settings: Any) -> Run:
    """Return the run in a folder; ``settings`` are those of :class:`Run`.

    Nothing is verified: a damaged run is reported when it is used.
    """
    kind = AdoptedRun if _family(RunFolder(Path(path))) in ADOPTED else Run
    return kind(path, **settings)


def _family(folder: RunFolder) -> str | None:
    try:
        model = folder.config().get("model") if folder.is_begun else None
    except RunError:
        return None
    return model.get("family") if isinstance(model, dict) else None
