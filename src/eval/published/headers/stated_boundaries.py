"""How words were made of pieces in a table of ours, as its header says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gardenpath.eval.published.surprisal_files import read_lines
from gardenpath.safe_text import parse_json
from gardenpath.store.headers.side_cars import read_side_car, side_car


def stated_boundaries(path: Path) -> dict[str, str | None]:
    """Return the boundary of each run of a table; empty if the file has no header of ours."""
    if side_car(path).is_file():
        runs = read_side_car(path).get("runs", ())
        return {
            str(run["run"]): run.get("boundary")
            for run in (runs if isinstance(runs, list) else ())
            if isinstance(run, Mapping) and "run" in run
        }
    found: dict[str, str | None] = {}
    last = ""
    for line in read_lines(path):
        if not line.startswith("#"):
            break
        key, _, value = line.removeprefix("#").strip().partition(": ")
        if key == "run":
            last = str(_scalar(value))
            found[last] = None
        elif key == "boundary" and last:
            found[last] = str(_scalar(value))
    return found


def _scalar(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text
