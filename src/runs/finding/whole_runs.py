"""Evaluate several runs, and go on without those that turn out to be damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from gardenpath.errors import DamagedRunError
from gardenpath.store.status.run_status import HARMLESS, RunStatus
from gardenpath.text import plural

if TYPE_CHECKING:
    from gardenpath.runs.run import Run

_Found = TypeVar("_Found")


def each_whole(
    runs: Iterable[Run], act: Callable[[Run], _Found], skipped: list[RunStatus]
) -> list[tuple[Run, _Found]]:
    """Return the result of ``act`` for each run; damaged runs are added to ``skipped``.

    If all runs are damaged, or the only one, the first error is raised.
    """
    found: list[tuple[Run, _Found]] = []
    errors: list[DamagedRunError] = []
    for run in runs:
        try:
            found.append((run, act(run)))
        except DamagedRunError as error:
            errors.append(error)
            skipped.append(RunStatus(folder=run.folder, state="damaged", reason=str(error)))
    if errors and not found:
        raise errors[0]
    return found


def whole_runs(runs: Iterable[Run], skipped: list[RunStatus]) -> list[Run]:
    """Return the runs whose files have their checksums; the others are added to ``skipped``."""
    return [run for run, _ in each_whole(runs, lambda one: one.verify(), skipped)]


def skipped_runs(runs: Iterable[object]) -> list[RunStatus]:
    """Return the runs that were left out when a list of runs was made."""
    return list(getattr(runs, "skipped", ()))


def skip_notes(skipped: Sequence[RunStatus]) -> tuple[str, ...]:
    """Return a note for each skipped run."""
    return tuple(f"skipped ({one.state}): {one.reason}" for one in skipped)


def skip_facts(skipped: Sequence[RunStatus]) -> dict[str, dict[str, str]]:
    """Return what a manifest says of skipped runs; nothing if there are none."""
    facts = {str(one.folder.path): f"{one.state}: {one.reason}" for one in skipped}
    return {"skipped": facts} if facts else {}


def skip_counts(skipped: Sequence[RunStatus]) -> str:
    """Return a text such as ``3 run folders skipped: 1 damaged, 2 unfinished``."""
    counts: Mapping[str, int] = {
        state: sum(one.state == state for one in skipped)
        for state in dict.fromkeys(one.state for one in skipped)
    }
    listed = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    return f"{plural(len(skipped), 'run folder')} skipped: {listed}"


def damaged_among(skipped: Iterable[RunStatus]) -> list[RunStatus]:
    """Return the skipped runs that should have been evaluated."""
    return [one for one in skipped if one.state not in HARMLESS]
