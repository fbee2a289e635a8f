"""Errors of surprisals against a reference, and the cost of an error.

A search with finite beams finds a part of the probability of each prefix. Its error is the mean
absolute difference, in bits per word, from a search so wide that the remainder does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.util import Words, bits

# Relative; two implementations of one search differ by less.
_ROUNDING = 1e-3

LogProbs = Sequence[Floats | Sequence[float]]


@dataclass(frozen=True)
class Errors:
    """Errors of surprisals (bits).

    ``at_marks``: share of the summed error at punctuation and ends of sentences. ``undefined``:
    number of words at which no hypothesis survived; they are in none of the other numbers.
    """

    mean: float
    largest: float
    at_marks: float
    undefined: int = 0


def errors_of(
    found: LogProbs, reference: LogProbs, sentences: Sequence[Words], *, with_ends: bool = True
) -> Errors:
    """Compare log probabilities (nats) of words and, last, of ends with those of a reference."""
    difference = joined(found, with_ends=with_ends) - joined(reference, with_ends=with_ends)
    error = np.abs(bits(difference))
    is_mark = np.concatenate([_marks(words, with_ends=with_ends) for words in sentences])
    is_known = np.isfinite(error)
    error, is_mark = error[is_known], is_mark[is_known]
    if not len(error):
        return Errors(math.nan, math.nan, math.nan, int((~is_known).sum()))
    total = float(error.sum())
    return Errors(
        mean=float(error.mean()),
        largest=float(error.max()),
        at_marks=float(error[is_mark].sum()) / total if total else 0.0,
        undefined=int((~is_known).sum()),
    )


def covered(found: LogProbs, reference: LogProbs, errors_bits: Sequence[Floats]) -> float:
    """Return the share of words whose error is at most the one that the search states."""
    difference = joined(found, with_ends=True) - joined(reference, with_ends=True)
    error = np.abs(bits(difference))
    # Rounding is not an error of the search.
    return float((error <= np.concatenate(errors_bits) + 1e-4).mean())


def joined(log_probs: LogProbs, *, with_ends: bool) -> Floats:
    """Concatenate the log probabilities of sentences, with or without the last of each."""
    parts = [np.asarray(one, dtype=np.float64) for one in log_probs]
    return np.concatenate([one if with_ends else one[:-1] for one in parts])


def _marks(words: Words, *, with_ends: bool) -> list[bool]:
    return [is_mark(word) for word in words] + [True] * with_ends


def is_mark(word: str) -> bool:
    """Whether a word is punctuation: it has no letter and no digit."""
    return not any(character.isalnum() for character in word)


@dataclass(frozen=True)
class Point:
    """What a search costs, for example in CPU seconds per word, and its error."""

    error: float
    cost: float


def frontier(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other point beats in both respects, cheapest first."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda each: (each.cost, each.error)):
        if math.isfinite(point.error) and (not kept or point.error < kept[-1].error):
            kept.append(point)
    return kept


def cost_at_error(points: Sequence[Point], error: float) -> float | None:
    """Return the cost at which a tool reaches an error, None if no point is as accurate.

    Between two points of the frontier, the logarithm of the cost is linear in the logarithm of the
    error. If even the cheapest point is more accurate, its cost is returned: there is no cheaper
    one. Errors that differ by rounding are equal.
    """
    best = frontier(points)
    error *= 1 + _ROUNDING
    if not best or best[-1].error > error:
        return None
    if best[0].error <= error:
        return best[0].cost
    number = next(n for n, point in enumerate(best) if point.error <= error)
    worse, better = best[number - 1], best[number]
    if better.error <= 0:
        return better.cost
    share = math.log(worse.error / error) / math.log(worse.error / better.error)
    return math.exp(math.log(worse.cost) + share * math.log(better.cost / worse.cost))
