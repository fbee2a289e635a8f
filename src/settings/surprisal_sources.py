"""Settings that name files of surprisals and materials: one path, a list, or paths by corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gardenpath.eval.published.import_settings import SurprisalSet

# One path, several, or one for each training corpus: ``{ctb: FOLDER, xinhua: FOLDER}``.
SurprisalPaths = str | Sequence[str] | Mapping[str, str]
MaterialPaths = str | Sequence[str]


def surprisal_sets(given: SurprisalPaths) -> list[SurprisalSet]:
    """Return the sets of surprisals that a setting names."""
    if isinstance(given, Mapping):
        return [
            SurprisalSet(path, corpus=str(corpus))
            for corpus, paths in given.items()
            for path in material_paths(paths)
        ]
    return [SurprisalSet(path) for path in material_paths(given)]


def material_paths(given: MaterialPaths) -> list[Path]:
    """Return the paths that a setting names."""
    return [Path(given)] if isinstance(given, str) else [Path(one) for one in given]


def shown_paths(given: SurprisalPaths) -> str:
    """Return a setting as text, for reports."""
    return ", ".join(
        f"{one.corpus}: {one.path}" if one.corpus else str(one.path)
        for one in surprisal_sets(given)
    )
