"""The runs requested by the settings of an evaluation, and those that were skipped."""

from __future__ import annotations

from collections.abc import Sequence

from gardenpath.console import console, track_runs
from gardenpath.errors import SkippedRunsError
from gardenpath.runs.finding.found_runs import require_named
from gardenpath.runs.finding.loading import Runs, find
from gardenpath.runs.finding.variants import name_variants
from gardenpath.runs.finding.whole_runs import damaged_among, skip_counts, skip_notes, whole_runs
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.store.status.run_status import RunStatus


def asked_runs(settings: EvaluateSettings) -> Runs:
    """Return all usable runs at or below the folders in the settings; at least one in each.

    The others are named. All files are compared with their checksums before the first is scored.
    """
    found = find(
        *settings.run_folders,
        device=settings.device,
        search=settings.search,
        cache=settings.paths.surprisals,
        unfinished=settings.unfinished == "include",
        boundary=settings.boundary,
        processes=getattr(settings.task, "processes", None),
    )
    whole = whole_runs(track_runs(found, "verifying runs"), found.skipped)
    require_named(settings.run_folders, found.skipped)
    print_skipped(found.skipped)
    name_variants(whole)  # a setting in which only skipped runs differ is no part of names
    return Runs(whole, skipped=found.skipped)


def print_skipped(skipped: Sequence[RunStatus]) -> None:
    """Name run folders that are skipped, with the reasons."""
    for note in skip_notes(skipped):
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def conclude(skipped: Sequence[RunStatus], named: Sequence[RunStatus] = ()) -> None:
    """Count the skipped run folders after the results are written; damaged ones are an error.

    ``named`` are those that are on the terminal already.
    """
    if not skipped:
        return
    print_skipped([one for one in skipped if one not in named])
    console.print(skip_counts(skipped), markup=False, highlight=False, soft_wrap=True)
    if damaged := damaged_among(skipped):
        listed = "".join(f"\n  - {one.reason}" for one in damaged)
        raise SkippedRunsError(
            f"the results do not contain all runs; those of the others are written:{listed}"
        )
