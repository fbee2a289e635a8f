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
from dataclasses import dataclass, field, replace
from pathlib import Path

from gardenpath.data.readers.base import Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, ScoredSentence
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


# ----------------------------------------------------------------------------
# Checks of the numbers of a file: unit, sign, and zeros.


# Bits per unit; negative for log probabilities.
_BITS: dict[Unit, float] = {
    "bits": 1.0,
    "nats": 1 / NATS_PER_BIT,
    "log10": NATS_PER_LOG10 / NATS_PER_BIT,
    "log_prob_nats": -1 / NATS_PER_BIT,
    "log_prob_bits": -1.0,
    "log_prob_log10": -NATS_PER_LOG10 / NATS_PER_BIT,
}

# Parts of the names of columns that say a unit; each excludes the units that lack it.
_BASES = {"bits": "bits", "nats": "nats", "log10": "log10"}
_LOG_PROB = ("log_prob", "logprob", "logp", "log_likelihood")

# By how many bits a surprisal may lie below zero: models in half precision are as inexact.
ROUNDING_BITS = 0.01

# From this many words on, numbers that are all between 0 and 1 are probabilities.
_ENOUGH_WORDS = 100

# Tolerance of the ratio of two runs by which a unit is recognised.
_RATIO_TOLERANCE = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedUnit:
    """The unit of a file and how it is known, such as ``the layout`` or ``unit=``."""

    unit: Unit
    source: str


def stated_unit(column: str, rules: PairingRules, path: Path) -> StatedUnit:
    """Return the unit from the name of the column or from the rules, which may not contradict."""
    name = column.lower()
    base = next((base for part, base in _BASES.items() if part in name), None)
    is_log_prob = any(part in name for part in _LOG_PROB)
    if rules.unit is None:
        if base is None:
            raise InputError(
                f"the unit of {f'column {column!r}' if column else 'the numbers'} is not known",
                path=path,
                remedy="name it, as in unit=bits, nats, log10, log_prob_nats, log_prob_bits or "
                "log_prob_log10; form=lm_zoo means bits, and files in the layout of a study need "
                "materials=FOLDER",
            )
        unit: Unit = _unit(base, is_log_prob)
        return StatedUnit(unit=unit, source=f"the column {column!r}")
    is_contrary = base is not None and not rules.unit.endswith(base)
    is_contrary |= is_log_prob != rules.unit.startswith("log_prob") and (
        is_log_prob or "surp" in name
    )
    if is_contrary:
        problem = f"unit={rules.unit} contradicts the name of the column {column!r}"
        raise InputError(problem, path=path)
    return StatedUnit(unit=rules.unit, source="unit=")


def _unit(base: str, is_log_prob: bool) -> Unit:
    units: dict[tuple[str, bool], Unit] = {
        ("bits", False): "bits",
        ("nats", False): "nats",
        ("log10", False): "log10",
        ("bits", True): "log_prob_bits",
        ("nats", True): "log_prob_nats",
        ("log10", True): "log_prob_log10",
    }
    return units[base, is_log_prob]


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
                raise _wrong_sign(token, value, stated, path, sentence.line)
    return converted(sentences, stated)


def converted(sentences: Sequence[ScoredSentence], stated: StatedUnit) -> list[ScoredSentence]:
    """Convert values to surprisals in bits, whatever their signs."""
    factor = _BITS[stated.unit]
    if factor == 1.0:
        return list(sentences)
    return [
        replace(one, values=tuple(value * factor + 0.0 for value in one.values))
        for one in sentences
    ]


def _wrong_sign(token: str, value: float, stated: StatedUnit, path: Path, line: int) -> InputError:
    if _BITS[stated.unit] > 0:
        problem = f"{token!r} has the negative surprisal {value:g}"
        remedy = "log probabilities need unit=log_prob_nats, log_prob_bits or log_prob_log10"
    else:
        problem = f"{token!r} has the positive log probability {value:g}"
        remedy = "surprisals need unit=bits, nats or log10"
    return InputError(f"{problem} (unit {stated.unit}, from {stated.source})", path=path, line=line,
                      remedy=remedy)  # fmt: skip


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
    values = [v for one in sentences for v in one.values if not math.isnan(v)]
    if not values:
        raise InputError("contains no surprisals, only NaN", path=path)
    if len(values) >= _ENOUGH_WORDS and max(values) <= 1:
        problem = "all numbers are between 0 and 1: these are probabilities, not surprisals"
        raise InputError(problem, path=path)
    _check_zeros(sentences, path)


def _check_zeros(sentences: Sequence[ScoredSentence], path: Path) -> None:
    """Refuse files in which every sentence has a zero at the same place inside it."""
    if len(sentences) < 3:
        return
    for place in (1, 2, -3, -2):
        long = [one for one in sentences if len(one.values) >= 4]
        if len(long) >= 3 and all(one.values[place] == 0 for one in long):
            which = f"word {place + 1}" if place > 0 else f"word {-place} from the end"
            raise InputError(
                f"the surprisal of {which} is 0 in every sentence",
                path=path,
                line=long[0].line,
                remedy="numbers and words are shifted against each other",
            )


def not_scored(sentences: Sequence[ScoredSentence]) -> tuple[list[ScoredSentence], int]:
    """Replace exact zeros of words that a model did not score by NaN, and count them.

    These are zeros of first words, and of last words if all sentences have one there. ``sentences``
    are without edge tokens.
    """
    is_end_zero = len(sentences) > 1 and all(one.values[-1] == 0 for one in sentences)
    found, count = [], 0
    for one in sentences:
        values = list(one.values)
        if values[0] == 0:
            values[0] = math.nan
        if is_end_zero:
            values[-1] = math.nan
        changed = sum(map(math.isnan, values)) - sum(map(math.isnan, one.values))
        count += changed
        found.append(replace(one, values=tuple(values)) if changed else one)
    return found, count


def unit_problem(ratio: float) -> str:
    """Return what a ratio of the surprisals of two runs of a model means; empty if nothing."""
    units: tuple[Unit, ...] = ("nats", "log10")
    for unit in units:
        factor = 1 / _BITS[unit]
        for found in (ratio, 1 / ratio):
            if abs(found / factor - 1) < _RATIO_TOLERANCE:
                return f"{factor:.3f}, the ratio of {unit} to bits"
    return ""
