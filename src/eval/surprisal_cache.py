"""Surprisals that were computed before, kept beside the results that rest on them.

A file belongs to one model and one way of searching, which its name identifies; it holds the
sentences that were scored so far. Parses are kept with them where they were asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gardenpath.data.arrays import Words
from gardenpath.store.files import write_json

# For each word the best partial parses, with their posterior shares.
Parses = list[list[tuple[float, str]]]


@dataclass
class ScoredSentences:
    """Surprisal in bits of each word and, last, of the end; NaN where a search failed."""

    surprisal_bits: dict[Words, list[float]] = field(default_factory=dict)
    parses: dict[Words, Parses] = field(default_factory=dict)
    failures: dict[Words, str] = field(default_factory=dict)

    def update(self, other: ScoredSentences) -> None:
        """Add what is new."""
        self.surprisal_bits.update(other.surprisal_bits)
        self.parses.update(other.parses)
        self.failures.update(other.failures)

    def lacking(self, sentences: Iterable[Words], parsed: Iterable[Words]) -> list[Words]:
        """The sentences that are not scored yet, or not parsed though they should be."""
        wanted = set(parsed)
        return [
            words
            for words in dict.fromkeys(sentences)
            if words not in self.surprisal_bits or (words in wanted and words not in self.parses)
        ]


def cache_path(folder: Path, identity: Mapping[str, Any]) -> Path:
    """The file of a model and a way of searching."""
    text = json.dumps(identity, sort_keys=True)
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"


def load(path: Path) -> ScoredSentences:
    """What a file holds; nothing where it is missing or damaged, for it can be made anew."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return ScoredSentences(
            surprisal_bits={
                _words(key): [float(value) for value in values]
                for key, values in content["surprisal_bits"].items()
            },
            parses={_words(key): _parses(value) for key, value in content["parses"].items()},
            failures={_words(key): str(text) for key, text in content["failures"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ScoredSentences()


def save(path: Path, scored: ScoredSentences) -> None:
    """Write everything, as a whole."""
    write_json(
        path,
        {
            "surprisal_bits": {_key(w): values for w, values in scored.surprisal_bits.items()},
            "parses": {_key(w): parses for w, parses in scored.parses.items()},
            "failures": {_key(w): text for w, text in scored.failures.items()},
        },
    )


def _key(words: Words) -> str:
    return " ".join(words)


def _words(key: str) -> Words:
    return tuple(key.split(" "))


def _parses(value: Sequence[Sequence[Sequence[Any]]]) -> Parses:
    return [[(float(share), str(tree)) for share, tree in word] for word in value]
