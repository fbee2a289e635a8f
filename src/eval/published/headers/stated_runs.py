"""What the header of a table of ours says about the surprisals of each run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gardenpath.eval.published.surprisal_files import read_lines
from gardenpath.safe_text import parse_json
from gardenpath.store.headers.side_cars import read_side_car, side_car

_NOT_SEARCHED = ("none", None)


@dataclass(frozen=True, slots=True)
class StatedRun:
    """How words were made of pieces, and whether the surprisals come from a search."""

    boundary: str | None = None
    is_searched: bool = False


def stated_runs(path: Path) -> dict[str, StatedRun]:
    """Return what is stated of each run of a table; empty if the file has no header of ours."""
    if side_car(path).is_file():
        runs = read_side_car(path).get("runs", ())
        return {
            str(run["run"]): StatedRun(run.get("boundary"), run.get("search") not in _NOT_SEARCHED)
            for run in (runs if isinstance(runs, list) else ())
            if isinstance(run, Mapping) and "run" in run
        }
    found: dict[str, StatedRun] = {}
    last = ""
    for line in read_lines(path):
        if not line.startswith("#"):
            break
        key, _, text = line.removeprefix("#").strip().partition(": ")
        value = str(_scalar(text))
        if key == "run":
            last = value
            found[last] = StatedRun()
        elif key == "boundary" and last:
            found[last] = replace(found[last], boundary=value)
        elif key == "search" and last:
            found[last] = replace(found[last], is_searched=value not in _NOT_SEARCHED)
    return found


def _scalar(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text
