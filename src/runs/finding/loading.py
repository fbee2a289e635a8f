"""Load trained models from folders: one, or all at or below some folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gardenpath.data.sentence import Split
from gardenpath.eval.search.search_settings import SearchSettings
from gardenpath.runs.finding.found_runs import require_usable, runs_below
from gardenpath.runs.finding.variants import name_variants
from gardenpath.runs.finding.whole_runs import each_whole
from gardenpath.runs.given import Given
from gardenpath.runs.run import Run
from gardenpath.store.status.run_status import RunStatus
from gardenpath.store.surprisal_store import SurprisalStore

if TYPE_CHECKING:
    import pandas as pd

    from gardenpath.data.data_settings import DataSettings


class Runs(list[Run]):
    """A list of runs, whose tables are concatenated.

    ``skipped`` are the run folders that were left out, with the reason.
    """

    def __init__(self, runs: Iterable[Run] = (), *, skipped: Iterable[RunStatus] = ()) -> None:
        super().__init__(runs)
        self.skipped = list(skipped)

    def surprisal(
        self, text: Given, *, end: bool = True, allow_unknown: bool = False
    ) -> pd.DataFrame:
        """Return the surprisals of all runs in one table; damaged ones are added to ``skipped``."""
        from gardenpath.runs.surprisals import stacked

        found = each_whole(
            self,
            lambda run: run.surprisal(text, end=end, allow_unknown=allow_unknown),
            self.skipped,
        )
        return stacked([frame for _, frame in found])

    def perplexity(
        self,
        split: Split = "test",
        *,
        marginal_sentences: int | None = None,
        data: DataSettings | None = None,
        allow_unknown: bool = False,
    ) -> pd.DataFrame:
        """Return the perplexities of all runs in one table, on their own corpora or on ``data``."""
        from gardenpath.runs.perplexities import perplexities_of_runs

        return perplexities_of_runs(
            self,
            split=split,
            marginal_sentences=marginal_sentences,
            corpora=[] if data is None else [data],
            allow_unknown=allow_unknown,
        )


def load(
    path: str | Path,
    *,
    device: str = "auto",
    search: SearchSettings | None = None,
    cache: str | Path | None = None,
    processes: int | None = None,
    unfinished: bool = False,
) -> Run:
    """Load the run in a folder; one that is not a run, damaged or not finished is refused.

    ``cache`` is a file in which log probabilities are stored, so that nothing is computed twice.
    ``processes`` is the number of processes, of one thread each, that compute them; None computes
    in this process with all its threads. With ``unfinished``, a run that was stopped is loaded with
    its best weights so far, unless its training diverged; tables mark it.
    """
    run = Run(path, device=device, search=search, store=_store(cache), processes=processes)
    require_usable(run.folder, unfinished=unfinished)
    _ = run.settings
    return run


def find(
    *roots: str | Path,
    device: str = "auto",
    search: SearchSettings | None = None,
    cache: str | Path | None = None,
    processes: int | None = None,
    unfinished: bool = False,
) -> Runs:
    """Return all finished runs at or below folders, sorted by path; at least one in each folder.

    A run that is below two of the folders, and a copy of a run, is returned once. Links to folders
    are followed. ``skipped`` of the returned list names the folders that were left out: unfinished
    runs (included with ``unfinished``, if they have weights), damaged ones and copies. A folder
    that is itself a run must be usable. ``processes`` as in :func:`load`.
    """
    store = _store(cache)

    def make(path: Path) -> Run:
        return Run(path, device=device, search=search, store=store, processes=processes)

    found, skipped = runs_below([Path(root) for root in roots], make, unfinished=unfinished)
    name_variants(found)
    return Runs(found, skipped=skipped)


def _store(cache: str | Path | None) -> SurprisalStore | None:
    return None if cache is None else SurprisalStore(Path(cache))
