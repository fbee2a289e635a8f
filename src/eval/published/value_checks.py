"""Checks of the numbers of a file: unit, sign, and zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gardenpath.data.surprisal_forms import Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.import_settings import PairingRules
from gardenpath.eval.published.surprisal_files import ScoredSentence
from gardenpath.eval.suites.scoring.alignment import is_unknown
from gardenpath.units import NATS_PER_BIT, NATS_PER_LOG10

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
