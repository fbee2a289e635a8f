"""How much of an input a model knows: sentences in another language or tokenisation are refused.

The words of a model's own test split are mostly known, and those of a related corpus too. If more
than half of the tokens of an input are unknown, it is in another language, in other tokens or in
another case; its surprisals are those of unknown-word classes and say nothing about the words.

Subword pieces cover nearly any word. A word counts as unknown to such a model if it contains a
character that the training corpus did not, or if it is spelled out letter by letter although the
training corpus was not.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gardenpath.errors import GardenpathError
from gardenpath.models.family import AdoptedFamily
from gardenpath.text import plural

if TYPE_CHECKING:
    from gardenpath.runs.run import Run

# Above this share of unknown words an input is refused.
MOST_UNKNOWN = 0.5
# Above this share a warning says so: one in ten words is then a guess about a class of words.
MANY_UNKNOWN = 0.1

_SHOWN = 5
# Unknown words that are listed where there is room.
_LISTED = 40
# Mean number of pieces per word above which a segmentation spells words out anyway.
_FEW_PIECES = 2.0
_SPELLED_OUT = 3
_BOUNDARY = "▁"

Known = Callable[[str], bool]

_PUNCTUATION = re.compile(r"^[\W_]+|[\W_]+$|n't$|'\w+$")
_HAN = re.compile(r"[\u3400-\u9fff]")
_UNSEGMENTED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownWords:
    """The words of an input that a run does not know; ``listed`` are the first ones."""

    run: str
    words: int
    unknown: int
    listed: tuple[str, ...] = ()
    distinct: int = 0
    hint: str = ""

    @property
    def share(self) -> float:
        """The share of unknown words among all tokens."""
        return self.unknown / self.words if self.words else 0.0

    @property
    def is_large(self) -> bool:
        """Whether most words are unknown."""
        return self.share > MOST_UNKNOWN

    @property
    def is_many(self) -> bool:
        """Whether so many words are unknown that readers must be warned."""
        return self.share > MANY_UNKNOWN

    def __str__(self) -> str:
        return self.said(_SHOWN)

    def said(self, most: int = _LISTED) -> str:
        """Say how many words are unknown, and which: at most this number of them."""
        shown = ", ".join(self.listed[:most]) + (", …" if self.distinct > most else "")
        share = f"{self.share:.0%}" if self.share >= 0.01 else f"{self.share:.2%}"
        count = f"{share} of {self.words:,} words are unknown ({shown})"
        return f"{self.run}: {count}" + (f"; {self.hint}" if self.hint else "")


def unknown_words(run: Run, sentences: Iterable[Sequence[str]]) -> UnknownWords:
    """Count the words of an input that a run does not know."""
    counts = Counter(word for words in sentences for word in words)
    knows = _knower(run)
    unknown = {word: count for word, count in counts.items() if not knows(word)}
    return UnknownWords(
        run=str(run.path),
        words=counts.total(),
        unknown=sum(unknown.values()),
        listed=tuple(itertools.islice(unknown, _LISTED)),
        distinct=len(unknown),
        hint=_hint(unknown, knows),
    )


def require_known(found: Iterable[UnknownWords], *, allow_unknown: bool) -> None:
    """Refuse an input of which a run does not know most words, unless that is allowed."""
    if allow_unknown:
        return
    counted = list(found)
    large = [one for one in counted if one.is_large]
    if not large:
        return
    others = f" (and for {plural(len(large) - 1, 'other run')})" if len(large) > 1 else ""
    fitting = [one.run for one in counted if not one.is_large]
    named = ",".join(fitting[:_SHOWN]) + (",…" if len(fitting) > _SHOWN else "")
    which = f"run={named}, which know the words," if fitting else "run="
    raise GardenpathError(
        f"{max(large, key=lambda one: one.share)}{others}. Is the input in the language, the "
        f"tokenisation and the case of the model's corpus? Name other runs with {which} or score "
        "it all the same with task.allow_unknown=true (in Python, allow_unknown=True)"
    )


def _knower(run: Run) -> Known:
    """Return a test of whether a model knows a word."""
    if isinstance(run.family, AdoptedFamily):
        return run.knows
    subwords = run.subwords
    if subwords is None:
        return run.knows
    vocabulary = run.vocabulary
    total = sum(vocabulary.counts)
    starts = sum(
        count
        for piece, count in zip(vocabulary.tokens, vocabulary.counts, strict=True)
        if piece.startswith(_BOUNDARY)
    )
    is_usually_whole = 0 < total <= _FEW_PIECES * starts

    def knows(word: str) -> bool:
        pieces = subwords.split(word)
        if any(piece not in vocabulary.ids for piece in pieces):
            return False
        letters = [piece.removeprefix(_BOUNDARY) for piece in pieces]
        is_spelled = len(word) >= _SPELLED_OUT and all(len(one) <= 1 for one in letters)
        return not (is_usually_whole and is_spelled)

    return knows


def _hint(unknown: dict[str, int], knows: Known) -> str:
    """Say what would make most of the unknown words known; empty if nothing does."""
    causes: dict[str, Callable[[str], bool]] = {
        "most of them are known in lower case": lambda word: knows(word.lower()),
        "most of them are known with a capital letter": lambda word: knows(word.capitalize()),
        "most of them are known without the punctuation attached to them, which the corpus "
        "writes as a word of its own": lambda word: _is_known_inside(word, knows),
        "most of them are long strings of Han characters: separate words by spaces": lambda word: (
            len(word) >= _UNSEGMENTED and _HAN.search(word) is not None
        ),
    }
    total = sum(unknown.values())
    for said, explains in causes.items():
        if 2 * sum(count for word, count in unknown.items() if explains(word)) > total:
            return said
    return ""


def _is_known_inside(word: str, knows: Known) -> bool:
    inside = _PUNCTUATION.sub("", word)
    return bool(inside) and inside != word and (knows(inside) or knows(inside.lower()))
