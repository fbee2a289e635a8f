"""Headers of tables of surprisals: comments of TSV files, or a file beside other tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
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


def header_items(header: TableHeader) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of the comments; entries after a ``run`` belong to that run."""
    yield "unit", header.unit
    yield "end_of_sentence", header.end_of_sentence
    yield from (("measure", header.measure) for _ in range(header.measure != "surprisal"))
    yield from (("skipped", reason) for reason in header.skipped)
    for run in header.runs:
        known = ((key, getattr(run, key)) for key in _RUN_KEYS)
        yield from ((key, value) for key, value in known if (key, value) != ("boundary", None))
        yield from ((f"{_SETTING}{key}", value) for key, value in run.settings.items())
        yield from (("failure", asdict(failure)) for failure in run.failures)


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


def scalar_text(value: Any) -> str:
    """Return plain text if it cannot be mistaken for JSON, otherwise JSON."""
    if isinstance(value, str) and value.isprintable() and value.strip() == value != "":
        try:
            parse_json(value)
        except ValueError:
            return value
    return json.dumps(value, ensure_ascii=False)


def _scalar(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text
