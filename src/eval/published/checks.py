"""Whether numbers can be the surprisals of their words: unit, sign, zeros, and equal beginnings.

A left-to-right model gives a word the same surprisal wherever it follows the same words. Files in
which equal beginnings of sentences have different surprisals are shuffled, shifted or mixed; if
words that differ after equal beginnings have equal surprisals throughout, the numbers are shifted
by one word. Files of one run must agree with each other in the same way, and the probabilities of
different words after the same words cannot sum to more than 1, which they do if numbers in nats or
to the base 10 are taken for bits.

Every import of surprisals and every adopted table is checked here, before sentences are paired
with materials; numbers are converted to bits here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gardenpath.data.readers.base import Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.files import ScoredSentence, StatedUnit, without_edges
from gardenpath.eval.suites.regions import is_unknown
from gardenpath.store.files import digest
from gardenpath.util import NATS_PER_BIT, NATS_PER_LOG10

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


def _beginnings(
    sentence: ScoredSentence, known: dict[tuple[int, str], int]
) -> Iterator[tuple[int, int, int, bool]]:
    """Yield, per word: place, number of the beginning before it, of its own, and if that is new.

    A beginning is all words up to and including one; before the first word, its number is -1.
    """
    before = -1
    for place, token in enumerate(sentence.tokens):
        new = len(known)
        number = known.setdefault((before, token.lower()), new)
        yield place, before, number, number == new
        before = number


def check_beginnings(
    sentences: Sequence[ScoredSentence], path: Path, *, shifts: bool = True,
    most_different: float = MOST_DIFFERENT,
) -> None:  # fmt: skip
    """Refuse numbers that do not belong to the words (see the module).

    ``shifts=False`` accepts equal surprisals of different words, as in small artificial grammars.
    ``most_different`` is the share of equal beginnings that may have different surprisals.
    """
    known: dict[tuple[int, str], int] = {}
    first: list[tuple[float, ScoredSentence]] = []
    compared = different = branches = equal = 0
    example: tuple[ScoredSentence, ScoredSentence, int] | None = None
    branching: dict[int, float] = {}
    for sentence in sentences:
        for place, before, number, is_new in _beginnings(sentence, known):
            value = sentence.values[place]
            if is_new:
                first.append((value, sentence))
                if before in branching:
                    branches += 1
                    equal += branching[before] == value
                else:
                    branching[before] = value
            elif not (math.isnan(value) or math.isnan(first[number][0])):
                compared += 1
                if not _is_same(value, first[number][0]):
                    different += 1
                    example = example or (first[number][1], sentence, place)
    if compared >= _FEWEST_PLACES and different > most_different * compared and example:
        earlier, later, place = example
        words = " ".join(later.tokens[: place + 1])
        raise InputError(
            f"the last word of {words!r} has {earlier.values[place]:.3f} bits in line "
            f"{earlier.line} and {later.values[place]:.3f} in line {later.line}; {different} of "
            f"{compared} equal beginnings of sentences have different surprisals",
            path=path,
            line=later.line,
            remedy="the numbers are shuffled, shifted or of several models; prefixes=false accepts "
            "models that are not left-to-right",
        )
    if shifts and branches >= _FEWEST_PLACES and equal > _SHIFTED * branches:
        problem = f"{equal} of {branches} words that differ after equal words have equal surprisals"
        remedy = "the numbers are shifted by one word; prefixes=false accepts them"
        raise InputError(problem, path=path, remedy=remedy)


def numbers_digest(sentences: Iterable[ScoredSentence]) -> str:
    """Return a digest of the tokens and numbers of a file, whatever its format."""
    pairs = (pair for s in sentences for pair in zip(s.tokens, s.values, strict=True))
    return digest("\n".join(f"{token} {value:.3f}" for token, value in pairs))[:12]


@dataclass(frozen=True, slots=True)
class _First:
    """Where a beginning was first seen: the place of its last word in a sentence of a suite."""

    suite: str
    path: Path
    sentence: ScoredSentence
    place: int


@dataclass
class RunBeginnings:
    """The beginnings of the sentences of one run, in all its files.

    ``is_strict``: whether a few beginnings are enough to refuse a file, and sums of probabilities
    are refused; otherwise they are noted, because small tables may have invented numbers.
    """

    run: str
    is_strict: bool = True
    _known: dict[tuple[int, str], int] = field(default_factory=dict)
    _first: list[_First] = field(default_factory=list)
    _next: dict[int, dict[str, float]] = field(default_factory=dict)

    def add(self, sentences: Sequence[ScoredSentence], suite: str, path: Path) -> None:
        """Add the sentences of a suite; they must agree with those of the other suites."""
        compared: set[int] = set()
        different: list[tuple[ScoredSentence, _First]] = []
        for sentence in sentences:
            for place, before, number, is_new in _beginnings(sentence, self._known):
                bits = sentence.values[place]
                if is_new:
                    self._first.append(_First(suite, path, sentence, place))
                    self._next.setdefault(before, {})[sentence.tokens[place].lower()] = bits
                    continue
                first = self._first[number]
                expected = first.sentence.values[place]
                is_known = first.suite == suite or number in compared
                if is_known or math.isnan(bits) or math.isnan(expected):
                    continue
                compared.add(number)
                if not _is_same(bits, expected):
                    different.append((sentence, first))
        fewest = _FEWEST_SHARED if self.is_strict else _FEWEST_PLACES
        if len(compared) >= fewest and len(different) > _OTHER_MODEL * len(compared):
            sentence, first = different[0]
            place = first.place
            words, expected = " ".join(sentence.tokens[: place + 1]), first.sentence.values[place]
            raise InputError(
                f"the last word of {words!r} has {sentence.values[place]:.3f} bits, but "
                f"{expected:.3f} in {first.path}:{first.sentence.line}, of the same run "
                f"({self.run}); "
                f"{len(different)} of {len(compared)} equal beginnings of sentences differ",
                path=path,
                line=sentence.line,
                remedy="the files are of different models or in different units; prefixes=false "
                "accepts them",
            )

    def check_sums(self) -> list[str]:
        """Refuse or note numbers that are too small to be surprisals in the stated unit."""
        for before, words in self._next.items():
            total = _total_probability(words)
            if total <= 1.02:  # above 1 because numbers are rounded
                continue
            first = self._first[max(before, 0)]
            which = "first words"
            if before >= 0:
                shown = " ".join(first.sentence.tokens[: first.place + 1]).lower()
                which = f"the {len(words)} words that follow {shown!r}"
            problem = f"the probabilities of {which} sum to {total:.2f}"
            if not self.is_strict:
                return [f"{self.run}: {problem}; the numbers may be in another unit"]
            remedy = (
                "the numbers are in another unit; name it by unit=nats or unit=log10, or "
                "set prefixes=false for models that are not left-to-right"
            )
            raise InputError(problem, path=first.path, line=first.sentence.line, remedy=remedy)
        return []


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


# Bits per unit; negative for log probabilities.
_BITS: dict[Unit, float] = {
    "bits": 1.0,
    "nats": 1 / NATS_PER_BIT,
    "log10": NATS_PER_LOG10 / NATS_PER_BIT,
    "log_prob_nats": -1 / NATS_PER_BIT,
    "log_prob_bits": -1.0,
    "log_prob_log10": -NATS_PER_LOG10 / NATS_PER_BIT,
}

# By how many bits a surprisal may lie below zero: models in half precision are as inexact.
ROUNDING_BITS = 0.01


def checked_in_bits(
    sentences: Sequence[ScoredSentence], stated: StatedUnit, path: Path, *, is_own: bool = False
) -> tuple[list[ScoredSentence], int]:
    """Return sentences without edge tokens in bits, and how many words were not scored.

    Our own tables (``is_own``) have no zeros of words that were not scored, and may have certain
    words and small negative numbers.
    """
    read = in_bits(list(map(without_edges, sentences)), stated, path, by_word=not is_own)
    if empty := [sentence for sentence in read if not sentence.tokens]:
        raise InputError("a sentence has no words", path=path, line=empty[0].line)
    if is_own:
        return read, 0
    check_values(read, path)
    return not_scored(read)


def in_bits(
    sentences: Sequence[ScoredSentence], stated: StatedUnit, path: Path, *, by_word: bool = True
) -> list[ScoredSentence]:
    """Convert values to surprisals in bits; the sign must fit the unit.

    With ``by_word=False``, single surprisals may be negative, as beam search gives them if it finds
    more of the probability of a longer beginning; their sums may not.
    """
    factor = _BITS[stated.unit]
    for sentence in sentences:
        total = 0.0
        for token, value in zip(sentence.tokens, sentence.values, strict=True):
            total = (total if math.isfinite(total) and not by_word else 0.0) + value * factor
            if total < -ROUNDING_BITS * abs(factor):
                if factor > 0:
                    problem = f"{token!r} has the negative surprisal {value:g}"
                    remedy = "log probabilities need unit=log_prob_nats, log_prob_bits or "
                    remedy += "log_prob_log10"
                else:
                    problem = f"{token!r} has the positive log probability {value:g}"
                    remedy = "surprisals need unit=bits, nats or log10"
                problem += f" (unit {stated.unit}, from {stated.source})"
                raise InputError(problem, path=path, line=sentence.line, remedy=remedy)
    return converted(sentences, stated)


def converted(sentences: Sequence[ScoredSentence], stated: StatedUnit) -> list[ScoredSentence]:
    """Convert values to surprisals in bits, whatever their signs."""
    factor = _BITS[stated.unit]
    if factor == 1.0:
        return list(sentences)
    return [
        replace(sentence, values=tuple(value * factor + 0.0 for value in sentence.values))
        for sentence in sentences
    ]


def check_values(sentences: Sequence[ScoredSentence], path: Path) -> None:
    """Refuse sentences without information, and numbers that cannot be surprisals."""
    for sentence in sentences:
        shown = " ".join(sentence.tokens)
        known = [value for value in sentence.values if not math.isnan(value)]
        if known and all(value == 0 for value in known):
            problem = f"all surprisals of {shown!r} are 0"
        elif all(map(is_unknown, sentence.tokens)):
            problem = f"all words of {shown!r} are unknown"
        else:
            continue
        raise InputError(problem, path=path, line=sentence.line)
    values = [v for sentence in sentences for v in sentence.values if not math.isnan(v)]
    if not values:
        raise InputError("contains no surprisals, only NaN", path=path)
    if len(values) >= 100 and max(values) <= 1:
        problem = "all numbers are between 0 and 1: these are probabilities, not surprisals"
        raise InputError(problem, path=path)
    # A zero at the same place inside every sentence.
    long = [sentence for sentence in sentences if len(sentence.values) >= 4]
    for place in (1, 2, -3, -2):
        if len(long) >= 3 and all(sentence.values[place] == 0 for sentence in long):
            which = f"word {place + 1}" if place > 0 else f"word {-place} from the end"
            problem = f"the surprisal of {which} is 0 in every sentence"
            remedy = "numbers and words are shifted against each other"
            raise InputError(problem, path=path, line=long[0].line, remedy=remedy)


def not_scored(sentences: Sequence[ScoredSentence]) -> tuple[list[ScoredSentence], int]:
    """Replace exact zeros of words that a model did not score by NaN, and count them.

    These are zeros of first words, and of last words if all sentences have one there. ``sentences``
    are without edge tokens.
    """
    is_end_zero = len(sentences) > 1 and all(sentence.values[-1] == 0 for sentence in sentences)
    marked, count = [], 0
    for sentence in sentences:
        values = list(sentence.values)
        if values[0] == 0:
            values[0] = math.nan
        if is_end_zero:
            values[-1] = math.nan
        changed = sum(map(math.isnan, values)) - sum(map(math.isnan, sentence.values))
        count += changed
        marked.append(replace(sentence, values=tuple(values)) if changed else sentence)
    return marked, count


def unit_problem(ratio: float) -> str:
    """Return what a ratio of the surprisals of two runs of a model means; empty if nothing."""
    units: tuple[Unit, ...] = ("nats", "log10")
    for unit in units:
        factor = 1 / _BITS[unit]
        if any(abs(way / factor - 1) < 0.03 for way in (ratio, 1 / ratio)):
            return f"{factor:.3f}, the ratio of {unit} to bits"
    return ""
