"""Headers of tables of surprisals: a file beside each, or comments of older TSV files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from gardenpath.data.words.boundaries import Boundary
from gardenpath.errors import InputError
from gardenpath.eval.surprisal.surprisal_rows import RunHeader, SentenceFailure, TableHeader
from gardenpath.safe_text import parse_json

_RUN_KEYS = ("run", "model", "vocabulary", "search", "boundary")
_SETTING = "search."


def header_of(content: Mapping[str, Any], path: Path) -> TableHeader:
    """Return a header from its ``asdict`` form."""
    try:
        if content["unit"] != "bits" or content["end_of_sentence"] not in ("row", "none"):
            raise ValueError("unknown unit or end_of_sentence")
        runs = [
            RunHeader(**{**run, "failures": tuple(SentenceFailure(**f) for f in run["failures"])})
            for run in content["runs"]
        ]
        if unknown := [run for run in runs if run.boundary not in (None, *get_args(Boundary))]:
            raise ValueError(f"unknown boundary {unknown[0].boundary!r}")
        return TableHeader(
            runs=tuple(runs),
            end_of_sentence=content["end_of_sentence"],
            skipped=tuple(map(str, content.get("skipped", ()))),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"has no valid header of a surprisal table: {error}", path=path) from error


def content_of_comments(comments: Iterable[str]) -> dict[str, Any]:
    """Return the ``asdict`` form of a header from its comments; other comments are ignored."""
    content: dict[str, Any] = {"runs": [], "skipped": []}
    runs = content["runs"]
    for comment in comments:
        key, _, text = comment.removeprefix("#").strip().partition(": ")
        value = _scalar(text)
        if key == "run":
            runs.append({"run": value, "settings": {}, "failures": []})
        elif key in _RUN_KEYS and runs:
            runs[-1][key] = value
        elif key.startswith(_SETTING) and runs:
            runs[-1]["settings"][key.removeprefix(_SETTING)] = value
        elif key == "failure" and runs:
            runs[-1]["failures"].append(value)
        elif key == "skipped":
            content[key].append(value)
        elif not runs:
            content[key] = value
    return content


def _scalar(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text
