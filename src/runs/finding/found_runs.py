"""Find the runs at or below folders that can be evaluated, and name the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gardenpath.errors import DamagedRunError, RunError
from gardenpath.settings.check import nearest
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.status.run_status import RunStatus, is_run_like, run_status
from gardenpath.store.status.run_tree import find_statuses, real_place

if TYPE_CHECKING:
    from gardenpath.runs.run import Run

# Skipped folders that an error message lists.
_MOST_LISTED = 5


def runs_below(
    roots: Sequence[Path], make: Callable[[Path], Run], *, unfinished: bool
) -> tuple[list[Run], list[RunStatus]]:
    """Return the runs at or below folders, and the folders that were skipped.

    With ``unfinished``, runs that were stopped are included if they have weights. There must be a
    run in each folder. A folder that is itself a run must be usable.
    """
    runs: list[Run] = []
    skipped: list[RunStatus] = []
    for status in find_statuses(*roots, partial=unfinished):
        if status.state != "done" and not (unfinished and status.is_partial):
            skipped.append(status)
            continue
        run = make(status.folder.path)
        try:
            _ = run.settings
        except DamagedRunError as error:
            skipped.append(replace(status, state="damaged", reason=str(error)))
        else:
            runs.append(run)
    for root in roots:
        _require_any(root, runs, skipped)
    return runs, skipped


def require_usable(folder: RunFolder, *, unfinished: bool) -> None:
    """Raise an error if a run cannot be evaluated."""
    if not is_run_like(folder.path):
        raise DamagedRunError(f"{folder.path}: not a run folder: it has no config.yaml of a run")
    status = run_status(folder)
    if status.state != "done" and not (unfinished and status.is_partial):
        raise _unusable(status)


def require_named(roots: Sequence[str | Path], skipped: Sequence[RunStatus]) -> None:
    """Raise an error if a folder that was named is itself a run, and was skipped."""
    places = {real_place(Path(root)) for root in roots}
    for one in skipped:
        if real_place(one.folder.path) in places and one.state != "copy":
            raise _unusable(one)


def _require_any(root: Path, runs: Sequence[Run], skipped: Sequence[RunStatus]) -> None:
    require_named([root], skipped)
    if any(_is_below(run.path, root) for run in runs):
        return
    if any(one.state == "copy" and _is_below(one.folder.path, root) for one in skipped):
        return
    if any(one.state == "done" for one in find_statuses(root)):
        return  # a link to a run below another folder
    if not root.is_dir():
        problem = "is not a folder" if root.exists() else "does not exist"
        raise RunError(
            f"{root}: no finished runs at or below this folder: it {problem}{_beside(root)}; train "
            "one with 'python train.py', or name another folder (run=)"
        )
    reasons = [one.reason for one in skipped if _is_below(one.folder.path, root)]
    listed = "".join(f"\n  - {reason}" for reason in reasons[:_MOST_LISTED])
    more = f"\n  - … {len(reasons) - _MOST_LISTED} more" * (len(reasons) > _MOST_LISTED)
    raise RunError(
        f"{root}: no finished runs at or below this folder; train one with 'python train.py', or "
        f"name another folder (run=){listed}{more}"
    )


def _beside(root: Path) -> str:
    """Return the folder that was probably meant, or those where the path goes wrong."""
    folder = next((one for one in root.parents if one.is_dir()), None)
    if folder is None:
        return ""
    names = sorted(one.name for one in folder.iterdir() if one.is_dir() and one.name[0] != ".")
    wrong = root.relative_to(folder).parts[0]
    shown = names[:_MOST_LISTED]
    hint = nearest(wrong, names, otherwise=[*shown, "…"] if len(names) > len(shown) else shown)
    return f" ({folder} has no {wrong!r}; {hint})" if names else ""


def _is_below(path: Path, root: Path) -> bool:
    """Whether a path is below a folder, by its name or by its real place."""
    return path.is_relative_to(root) or Path(real_place(path)).is_relative_to(real_place(root))


def _unusable(status: RunStatus) -> RunError:
    kind = DamagedRunError if status.state == "damaged" else RunError
    return kind(status.reason)
