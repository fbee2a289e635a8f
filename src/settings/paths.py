"""Paths of runs, corpora and caches, and how these are filled."""

from __future__ import annotations

from dataclasses import dataclass

from gardenpath.settings.bounds import PositiveInt


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Folders of runs, corpora and caches."""

    runs: str = "runs"
    """Run folders are written below this folder."""
    corpora: str = "corpora"
    """Corpora are read below this folder, each in a folder of its name, unless data.root is set."""
    cache: str = ".cache/corpora"
    """Folder of prepared corpora."""
    surprisals: str = ".cache/surprisals.sqlite"
    """File of computed surprisals, so that no sentence is scored twice."""
    preparation_processes: PositiveInt | None = None
    """Number of processes that read and clean a new corpus; null uses all cores for large
    corpora. The result is the same."""
