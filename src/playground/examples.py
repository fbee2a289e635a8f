"""Sentences to start from, and which of them the chosen models know."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gardenpath.errors import GardenpathError
from gardenpath.playground.word_events import sentences_for
from gardenpath.runs.known_words import unknown_words
from gardenpath.runs.run import Run
from gardenpath.safe_text import parse_yaml

EXAMPLES = Path(__file__).with_name("assets") / "examples.yaml"

# The rank of examples in other languages, after those with unknown words.
_LAST = 1_000


@dataclass(frozen=True, kw_only=True)
class Example:
    """Two variants of a sentence, and what to look at."""

    title: str
    language: str
    first: str
    second: str
    note: str


@functools.cache
def all_examples() -> tuple[Example, ...]:
    """Return the examples in order, garden paths first."""
    content: Sequence[Mapping[str, str]] = parse_yaml(EXAMPLES.read_text(encoding="utf-8"))
    return tuple(Example(**one) for one in content)


def examples_for(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """Return all examples; those whose words all models know, in their language, come first.

    ``unknown`` is the largest number of words that a model does not know; None: other language.
    """
    asked = list(runs)
    found = [{**asdict(one), "unknown": _unknown(one, asked)} for one in all_examples()]
    return sorted(found, key=lambda one: _LAST if one["unknown"] is None else one["unknown"])


def _unknown(example: Example, runs: Sequence[Run]) -> int | None:
    if any(run.language not in (None, example.language) for run in runs):
        return None
    return max((_unknown_to(run, example) for run in runs), default=0)


def _unknown_to(run: Run, example: Example) -> int:
    # A model that reads text knows all of it; its tokeniser need not be loaded yet.
    if run.reads_text:
        return 0
    try:
        words = [one.words for one in sentences_for(run, (example.first, example.second))]
        return unknown_words(run, words).unknown
    except GardenpathError:
        return 0  # the model itself tells what is wrong when it is asked
