"""Paths of runs and caches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Folders of runs and caches."""

    runs: str = "runs"
    """Run folders are written below this folder."""
    cache: str = ".cache/corpora"
    """Folder of prepared corpora."""
    surprisals: str = ".cache/surprisals.sqlite"
    """File of computed surprisals, so that no sentence is scored twice."""
