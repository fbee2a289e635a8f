"""Load trained models from folders: one, or all at or below some folders."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gardenpath.data.sentence import Split
from gardenpath.data.surprisal_forms import TableColumns
from gardenpath.data.words.boundaries import BoundaryChoice
from gardenpath.eval.search.search_settings import SearchSettings
from gardenpath.runs.adoption.adopting import adopted_reference, reference_of
from gardenpath.runs.adoption.opening import open_run
from gardenpath.runs.finding.found_runs import require_usable, runs_below
from gardenpath.runs.finding.variants import name_variants
from gardenpath.runs.finding.whole_runs import each_whole
from gardenpath.runs.given import Given
from gardenpath.runs.run import Run
from gardenpath.settings.bounds import ProcessCount
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
        self,
        text: Given,
        *,
        end: bool = True,
        allow_unknown: bool = False,
        columns: TableColumns = "all",
    ) -> pd.DataFrame:
        """Return the surprisals of all runs in one table; damaged ones are added to ``skipped``.

        Columns of a search are empty for runs without one (see :meth:`Run.surprisal`).
        """
        from gardenpath.runs.surprisals import stacked

        found = each_whole(
            self,
            lambda run: run.surprisal(text, end=end, allow_unknown=allow_unknown, columns=columns),
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
    processes: ProcessCount | None = None,
    unfinished: bool = False,
    boundary: BoundaryChoice = "auto",
) -> Run:
    """Load the run in a folder; one that is not a run, damaged or not finished is refused.

    A model that others trained can be loaded without a run folder by its kind and its source, as in
    ``hf:gpt2``. ``boundary`` says how pieces make words, for models over pieces: ``next``,
    ``leading``, ``none``, or what fits the model (``auto``).
    ``cache`` is a file in which log probabilities are stored, so that nothing is computed twice.
    ``processes`` is the number of processes, of one thread each, that compute them; None computes
    in this process with all its threads, ``auto`` starts processes for long searches on a CPU.
    With ``unfinished``, a run that was stopped is loaded with its best weights so far, unless its
    training diverged; tables mark it.
    """
    run = open_run(
        _folder_of(path, cache),
        device=device,
        search=search,
        store=_store(cache),
        processes=processes,
        boundary=boundary,
    )
    require_usable(run.folder, unfinished=unfinished)
    _ = run.settings
    return run


def find(
    *roots: str | Path,
    device: str = "auto",
    search: SearchSettings | None = None,
    cache: str | Path | None = None,
    processes: ProcessCount | None = None,
    unfinished: bool = False,
    boundary: BoundaryChoice = "auto",
) -> Runs:
    """Return all finished runs at or below folders, sorted by path; at least one in each folder.

    A run that is below two of the folders, and a copy of a run, is returned once. Links to folders
    are followed. ``skipped`` of the returned list names the folders that were left out: unfinished
    runs (included with ``unfinished``, if they have weights), damaged ones and copies. A folder
    that is itself a run must be usable. ``processes``, ``boundary`` and references such as
    ``hf:gpt2`` as in :func:`load`.
    """
    store = _store(cache)

    def make(path: Path) -> Run:
        return open_run(
            path,
            device=device,
            search=search,
            store=store,
            processes=processes,
            boundary=boundary,
        )

    folders = [_folder_of(root, cache) for root in roots]
    found, skipped = runs_below(folders, make, unfinished=unfinished)
    name_variants(found)
    return Runs(found, skipped=skipped)


def _folder_of(root: str | Path, cache: str | Path | None) -> Path:
    """Return a folder of runs; a model that is named by its kind is adopted first.

    Its run folder is next to the stored log probabilities or, if none are stored, temporary.
    """
    if reference_of(root) is None:
        return Path(root)
    place = _temporary_place() if cache is None else Path(cache).parent / "adopted"
    return adopted_reference(str(root), place)


@functools.cache
def _temporary_place() -> Path:
    """A folder that is removed when the process ends."""
    place = Path(tempfile.mkdtemp(prefix="gardenpath-adopted-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def _store(cache: str | Path | None) -> SurprisalStore | None:
    return None if cache is None else SurprisalStore(Path(cache))
