"""Outcome of a prediction for an item; ties count as their expectation under random order.

If two compared surprisals are exactly equal, the outcome is the probability that the prediction is
true when tied quantities are in random order: 1/2 for ``a > b``, 1/3 for ``a > b & a > c`` if all
three are equal, 1/2 if only ``b`` equals ``a`` and ``c`` is smaller. The probability is exact,
computed over all orders of the tied quantities. Alternatively, ties can be broken by a seeded coin
flip per item. ``=`` claims equality and is never a tie.

Suites may count only complete ties: if some but not all comparisons of a prediction are tied, its
outcome is 0.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from gardenpath.eval.suites.design.chance import Ranks, holds_in_order, share_of_orders
from gardenpath.eval.suites.design.formula import (
    And,
    Arithmetic,
    Comparison,
    Formula,
    FormulaError,
    Lookup,
    Number,
    Or,
    Term,
    Value,
)
from gardenpath.eval.suites.design.suite import CountedTies
from gardenpath.eval.suites.scoring.margins import (
    UNKNOWN_ERROR,
    MarginError,
    margin,
    margin_error,
)
from gardenpath.eval.suites.scoring.regions import exact_sum
from gardenpath.eval.suites.scoring.search_error import ErrorLookup

TieRule = Literal["expectation", "coin"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a prediction: between 0 and 1, or NaN if a surprisal is missing.

    ``difference_bits`` is the difference of the two sides in the predicted direction, the smallest
    over ``&`` and the largest over ``|``. ``error`` is its search error.
    """

    value: float
    is_tie: bool
    difference_bits: float
    error: MarginError = UNKNOWN_ERROR

    @property
    def is_missing(self) -> bool:
        """Whether the outcome is undefined because a surprisal is NaN."""
        return math.isnan(self.value)


def outcome(
    formula: Formula,
    lookup: Lookup,
    *,
    ties: TieRule = "expectation",
    coin: str = "",
    counted: CountedTies = "any",
    errors: ErrorLookup | None = None,
) -> Outcome:
    """Return the outcome of a prediction for one item.

    ``coin`` seeds the coin flip for ties; ``counted`` are the ties that do not count 0. ``errors``
    looks up the search errors of region surprisals; without them, that of the outcome is unknown.
    """
    claim = formula.tree
    if not isinstance(claim, Comparison | And | Or):
        raise FormulaError("a quantity without a comparison is not a claim", text=str(formula))
    operands = [side for one in formula.comparisons for side in (one.left, one.right)]
    values = {operand: quantity(operand, lookup) for operand in operands}
    if any(math.isnan(value) for value in values.values()):
        return Outcome(math.nan, False, math.nan)
    found = margin(claim, values)
    error = UNKNOWN_ERROR if errors is None else margin_error(claim, values, found, errors)
    groups = _tied_groups(formula.comparisons, values)
    if not groups:
        return Outcome(float(holds_in_order(claim, values, {})), False, found.bits, error)
    if counted == "complete" and not _is_complete(formula.comparisons, values):
        value = 0.0
    elif ties == "coin":
        ranks = _thrown(groups, random.Random(coin))  # a string seeds the same on every machine
        value = float(holds_in_order(claim, values, ranks))
    else:
        value = share_of_orders(claim, values, groups)
    return Outcome(value, True, found.bits, error)


def quantity(node: Value, lookup: Lookup) -> float:
    """Return the value of one side of a comparison, rounded only once.

    An infinite term makes the sum infinite; infinities of opposite sign make it NaN.
    """
    return exact_sum(sign * value for sign, value in _signed_terms(node, lookup, 1))


def _signed_terms(node: Value, lookup: Lookup, sign: int) -> Iterator[tuple[int, float]]:
    match node:
        case Term():
            yield sign, lookup(node.region, node.condition)
        case Number():
            yield sign, node.value
        case Arithmetic():
            yield from _signed_terms(node.left, lookup, sign)
            yield from _signed_terms(node.right, lookup, sign if node.operator == "+" else -sign)
        case _:
            assert_never(node)


def _tied_groups(
    comparisons: Sequence[Comparison], values: Mapping[Value, float]
) -> list[list[Value]]:
    """Group the quantities of equal value that are compared with each other."""
    tied: dict[float, dict[Value, None]] = {}
    for one in comparisons:
        if one.operator != "=" and values[one.left] == values[one.right]:
            tied.setdefault(values[one.left], {}).update({one.left: None, one.right: None})
    return [list(group) for group in tied.values()]


def _is_complete(comparisons: Sequence[Comparison], values: Mapping[Value, float]) -> bool:
    return all(values[one.left] == values[one.right] for one in comparisons)


def _thrown(groups: Sequence[Sequence[Value]], dice: random.Random) -> Ranks:
    ranks = {}
    for group in groups:
        order = list(group)
        dice.shuffle(order)
        ranks.update({node: rank for rank, node in enumerate(order)})
    return ranks
