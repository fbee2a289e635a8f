"""The margin by which a prediction holds, its search error, and whether the outcome could flip.

The margin of a comparison is the difference of its sides in the predicted direction; with ``&`` the
smallest margin counts, with ``|`` the largest. A comparison is undecided if its margin lies within
the 95 % interval of its search error. An outcome could flip if undecided comparisons decide it:
``a > b & a > c`` with an undecided first comparison could flip, unless the second is certainly
false.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from gardenpath.eval.suites.design.formula import And, Claim, Comparison, Or, Value
from gardenpath.eval.suites.design.formula_tree import equality_tolerance
from gardenpath.eval.suites.scoring.search_error import (
    Deviations,
    ErrorLookup,
    quantity_error,
    weighted_sum,
)


@dataclass(frozen=True, slots=True)
class Margin:
    """A margin in bits, and the comparison that determines it; NaN if infinities cancel."""

    bits: float
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class MarginError:
    """Standard error of a margin in bits, and whether the outcome could flip (None: unknown)."""

    standard_error: float = math.nan
    could_flip: bool | None = None


UNKNOWN_ERROR = MarginError()


def margin(claim: Claim, values: Mapping[Value, float]) -> Margin:
    """Return the margin of a claim, given the values of the compared quantities."""
    match claim:
        case Comparison():
            return Margin(_margin_bits(claim, values), claim)
        case And():
            return min(_all_or_nan(claim.parts, values), key=lambda one: one.bits)
        case Or():
            return max(_all_or_nan(claim.parts, values), key=lambda one: one.bits)
        case _:
            assert_never(claim)


def _margin_bits(comparison: Comparison, values: Mapping[Value, float]) -> float:
    difference = values[comparison.left] - values[comparison.right]
    if comparison.operator == "=":
        return -abs(difference)
    return difference if comparison.operator == ">" else -difference


def _all_or_nan(parts: Sequence[Claim], values: Mapping[Value, float]) -> list[Margin]:
    found = [margin(part, values) for part in parts]
    undefined = [one for one in found if math.isnan(one.bits)]
    return undefined[:1] or found


def margin_error(
    claim: Claim, values: Mapping[Value, float], found: Margin, errors: ErrorLookup
) -> MarginError:
    """Return the error of a margin; unknown if it is not finite, or a quantity has no error."""
    spread = _spread(found.comparison, errors)
    if spread is None or not math.isfinite(found.bits) or math.isnan(spread.standard_error):
        return UNKNOWN_ERROR
    return MarginError(spread.standard_error, _could_flip(claim, values, errors))


def comparison_reach(comparison: Comparison, errors: ErrorLookup | None) -> float | None:
    """Return half the 95 % interval of the difference of two sides; None if it is not known."""
    spread = None if errors is None else _spread(comparison, errors)
    return None if spread is None else spread.reach


def is_open(
    claim: Claim, values: Mapping[Value, float], reaches: Mapping[Comparison, float]
) -> bool:
    """Whether a claim depends on comparisons whose sides differ by no more than their reach.

    Comparisons without a reach are decided by the values of their sides.
    """
    return _verdict(claim, values, reaches) is None


def _spread(comparison: Comparison, errors: ErrorLookup) -> Deviations | None:
    """Return the deviations of the difference of two sides."""
    left, right = quantity_error(comparison.left, errors), quantity_error(comparison.right, errors)
    return weighted_sum([(1.0, left), (-1.0, right)])


def _could_flip(claim: Claim, values: Mapping[Value, float], errors: ErrorLookup) -> bool | None:
    comparisons = _comparisons(claim)
    reaches: dict[Comparison, float] = {}
    for one in comparisons:
        spread = _spread(one, errors)
        if spread is None or math.isnan(spread.reach):
            return None
        reaches[one] = spread.reach
    return is_open(claim, values, reaches)


def _comparisons(claim: Claim) -> list[Comparison]:
    if isinstance(claim, Comparison):
        return [claim]
    return [one for part in claim.parts for one in _comparisons(part)]


def _distance(comparison: Comparison, values: Mapping[Value, float]) -> float:
    """Return by how many bits a comparison holds; ``=`` holds within a tolerance."""
    bits = _margin_bits(comparison, values)
    is_equality = comparison.operator == "="
    return bits + equality_tolerance(values[comparison.right]) if is_equality else bits


def _verdict(
    claim: Claim, values: Mapping[Value, float], reaches: Mapping[Comparison, float]
) -> float | None:
    """Return 1 for true, 0 for false, 1/2 for a tie without error; None if undecided."""
    if isinstance(claim, Comparison):
        distance = _distance(claim, values)
        reach = reaches.get(claim, 0.0)
        if reach > 0.0 and abs(distance) <= reach:
            return None
        return 0.5 if distance == 0.0 else float(distance > 0.0)
    parts = [_verdict(part, values, reaches) for part in claim.parts]
    decisive = 0.0 if isinstance(claim, And) else 1.0
    if decisive in parts:
        return decisive
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return min(known) if isinstance(claim, And) else max(known)
