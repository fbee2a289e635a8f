"""Whether numbers belong to their words, by the beginnings of sentences.

A left-to-right model gives a word the same surprisal wherever it follows the same words. Files in
which equal beginnings of sentences have different surprisals are shuffled, shifted or mixed; if
words that differ after equal beginnings have equal surprisals throughout, the numbers are shifted
by one word. Files of one run must agree with each other in the same way, and the probabilities of
different words after the same words cannot sum to more than 1, which they do if numbers in nats or
to the base 10 are taken for bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.surprisal_files import ScoredSentence
from gardenpath.store.keys import digest

# Equal beginnings: tolerated difference in bits and share of words, and the share of equal
# surprisals of different words from which on numbers are shifted. In the published layouts, no
# beginning may differ, and none does in the released files.
_SAME_BITS = 0.02
MOST_DIFFERENT = 0.01
_SHIFTED = 0.5
_FEWEST_PLACES = 20

# Files of one run: fewest equal beginnings, and the share with different surprisals from which on
# the files are of different models. Files of one model differ in less than a hundredth.
_FEWEST_SHARED = 3
_OTHER_MODEL = 0.5

# Largest sum of probabilities after the same words; above 1 because numbers are rounded.
_LARGEST_SUM = 1.02


def check_beginnings(
    sentences: Sequence[ScoredSentence],
    path: Path,
    *,
    shifts: bool = True,
    most_different: float = MOST_DIFFERENT,
) -> None:
    """Refuse numbers that do not belong to the words (see the module).

    ``shifts=False`` accepts equal surprisals of different words, as in small artificial grammars.
    ``most_different`` is the share of equal beginnings that may have different surprisals.
    """
    # Every word is reduced to the number of its beginning, the words up to and including it.
    after: dict[tuple[int, str], int] = {}
    first: list[tuple[float, ScoredSentence, int]] = []
    compared = different = branches = equal = 0
    example: tuple[ScoredSentence, ScoredSentence, int] | None = None
    branching: dict[int, float] = {}
    for sentence in sentences:
        before = -1
        for place, (token, value) in enumerate(zip(sentence.tokens, sentence.values, strict=True)):
            key = (before, token.lower())
            known = after.get(key)
            if known is None:
                known = after[key] = len(first)
                first.append((value, sentence, place))
                if before in branching:
                    branches += 1
                    equal += branching[before] == value
                else:
                    branching[before] = value
            elif not (math.isnan(value) or math.isnan(first[known][0])):
                compared += 1
                if not _is_same(value, first[known][0]):
                    different += 1
                    example = example or (first[known][1], sentence, place)
            before = known
    if compared >= _FEWEST_PLACES and different > most_different * compared and example:
        one, other, place = example
        words = " ".join(other.tokens[: place + 1])
        raise InputError(
            f"the last word of {words!r} has {one.values[place]:.3f} bits in line {one.line} and "
            f"{other.values[place]:.3f} in line {other.line}; {different} of {compared} equal "
            "beginnings of sentences have different surprisals",
            path=path,
            line=other.line,
            remedy="the numbers are shuffled, shifted or of several models; prefixes=false accepts "
            "models that are not left-to-right",
        )
    if shifts and branches >= _FEWEST_PLACES and equal > _SHIFTED * branches:
        raise InputError(
            f"{equal} of {branches} words that differ after equal words have equal surprisals",
            path=path,
            remedy="the numbers are shifted by one word; prefixes=false accepts them",
        )


def numbers_digest(sentences: Iterable[ScoredSentence]) -> str:
    """Return a digest of the tokens and numbers of a file, whatever its format."""
    rows = (zip(one.tokens, one.values, strict=True) for one in sentences)
    return digest("\n".join(f"{token} {value:.3f}" for row in rows for token, value in row))[:12]


@dataclass(frozen=True, slots=True)
class _Beginning:
    """Where a beginning was first found, and the surprisal (bits) of its last word."""

    bits: float
    suite: str
    path: Path
    line: int


@dataclass
class RunBeginnings:
    """The beginnings of the sentences of one run, in all its files.

    ``is_strict``: whether a few beginnings are enough to refuse a file, and sums of probabilities
    are refused; otherwise they are noted, because small tables may have invented numbers.
    """

    run: str
    is_strict: bool = True
    _after: dict[tuple[int, str], int] = field(default_factory=dict)
    _found: list[_Beginning] = field(default_factory=list)
    _next: dict[int, dict[str, float]] = field(default_factory=dict)

    def add(self, sentences: Sequence[ScoredSentence], suite: str, path: Path) -> None:
        """Add the sentences of a suite; they must agree with those of the other suites."""
        compared: set[int] = set()
        different: list[tuple[str, float, int, _Beginning]] = []
        for one in sentences:
            before = -1
            for place, (token, bits) in enumerate(zip(one.tokens, one.values, strict=True)):
                key = (before, token.lower())
                known = self._after.get(key)
                if known is None:
                    known = self._after[key] = len(self._found)
                    self._found.append(_Beginning(bits, suite, path, one.line))
                    self._next.setdefault(before, {})[token.lower()] = bits
                elif self._found[known].suite != suite and known not in compared:
                    first = self._found[known]
                    if not (math.isnan(bits) or math.isnan(first.bits)):
                        compared.add(known)
                        if not _is_same(bits, first.bits):
                            words = " ".join(one.tokens[: place + 1])
                            different.append((words, bits, one.line, first))
                before = known
        fewest = _FEWEST_SHARED if self.is_strict else _FEWEST_PLACES
        if len(compared) >= fewest and len(different) > _OTHER_MODEL * len(compared):
            words, bits, line, first = different[0]
            raise InputError(
                f"the last word of {words!r} has {bits:.3f} bits, but {first.bits:.3f} in "
                f"{first.path}:{first.line}, of the same run ({self.run}); "
                f"{len(different)} of {len(compared)} equal beginnings of sentences differ",
                path=path,
                line=line,
                remedy="the files are of different models or in different units; prefixes=false "
                "accepts them",
            )

    def check_sums(self) -> list[str]:
        """Refuse or note numbers that are too small to be surprisals in the stated unit."""
        for before, words in self._next.items():
            total = _total_probability(words)
            if total <= _LARGEST_SUM:
                continue
            place = self._found[before] if before >= 0 else self._found[0]
            shown = " ".join(self._words(before))
            which = f"the {len(words)} words that follow {shown!r}" if shown else "first words"
            problem = f"the probabilities of {which} sum to {total:.2f}"
            if not self.is_strict:
                return [f"{self.run}: {problem}; the numbers may be in another unit"]
            raise InputError(
                problem,
                path=place.path,
                line=place.line,
                remedy="the numbers are in another unit; name it by unit=nats or unit=log10, or "
                "set prefixes=false for models that are not left-to-right",
            )

        return []

    def _words(self, number: int) -> list[str]:
        """Return the words of a beginning."""
        keys = {known: key for key, known in self._after.items()}
        found: list[str] = []
        while number >= 0:
            number, word = keys[number]
            found.insert(0, word)
        return found


def _is_same(bits: float, expected: float) -> bool:
    return bits == expected or abs(bits - expected) <= _SAME_BITS * max(1.0, abs(expected))


def _total_probability(words: Mapping[str, float]) -> float:
    """Return the probability that one of the words follows, at least.

    Words that begin with another of the words may be counted in its probability, as with subword
    units; words with equal surprisals may be one unknown word to the model.
    """
    kept: set[float] = set()
    last = ""
    for word in sorted(words):
        if last and word.startswith(last):
            continue
        last = word
        if not math.isnan(words[word]):
            kept.add(words[word])
    return math.fsum(2**-bits for bits in kept)
