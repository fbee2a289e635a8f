"""Outcome of a prediction for an item; ties count as their expectation under random order.

If two compared surprisals are equal, or nearly (:mod:`tie_rule`), the outcome is the probability
that the prediction is true when tied quantities are in random order: 1/2 for ``a > b``, 1/3 for
``a > b & a > c`` if all three are equal, 1/2 if only ``b`` equals ``a`` and ``c`` is smaller. The
probability is exact, computed over all orders of the tied quantities. Alternatively, ties can be
broken by a seeded coin flip per item. ``=`` claims equality and is never a tie.

Suites may count only complete ties: if some but not all comparisons of a prediction are tied, its
outcome is 0.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from gardenpath.eval.suites.design.chance import Ranks, agrees, holds_in_order, share_of_orders
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
    comparison_reach,
    is_open,
    margin,
    margin_error,
)
from gardenpath.eval.suites.scoring.regions import exact_sum
from gardenpath.eval.suites.scoring.search_error import ErrorLookup
from gardenpath.eval.suites.scoring.tie_rule import USUAL_TIES, TieRule
from gardenpath.eval.suites.scoring.tied import Tied, tied_comparisons


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a prediction: between 0 and 1, or NaN if a surprisal is missing.

    ``is_tie``: some compared quantities are equal. ``is_near_tie``: the outcome depends on
    quantities that differ by less than can be told apart. ``difference_bits`` is the difference of
    the two sides in the predicted direction, the smallest over ``&`` and the largest over ``|``.
    ``error`` is its search error.
    """

    value: float
    is_tie: bool
    is_near_tie: bool
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
    ties: TieRule = USUAL_TIES,
    coin: str = "",
    counted: CountedTies = "any",
    errors: ErrorLookup | None = None,
    is_searched: bool = False,
) -> Outcome:
    """Return the outcome of a prediction for one item.

    ``coin`` seeds the coin flip for ties; ``counted`` are the ties that do not count 0. ``errors``
    looks up the search errors of region surprisals; without them, that of the outcome is unknown.
    ``is_searched`` says whether the surprisals come from a search.
    """
    claim = formula.tree
    if not isinstance(claim, Comparison | And | Or):
        raise FormulaError("a quantity without a comparison is not a claim", text=str(formula))
    operands = [side for one in formula.comparisons for side in (one.left, one.right)]
    values = {operand: quantity(operand, lookup) for operand in operands}
    if any(math.isnan(value) for value in values.values()):
        return Outcome(math.nan, False, False, math.nan)
    found = margin(claim, values)
    error = UNKNOWN_ERROR if errors is None else margin_error(claim, values, found, errors)

    def threshold(one: Comparison) -> float:
        return ties.threshold_bits(comparison_reach(one, errors), is_searched=is_searched)

    tied = tied_comparisons(formula.comparisons, values, threshold)
    if not tied.comparisons:
        value = float(holds_in_order(claim, values, {}))
    elif counted == "complete" and not _is_complete(formula.comparisons, values, tied):
        value = 0.0
    elif ties.credit == "coin":
        dice = random.Random(coin)  # a string seeds the same on every machine
        value = float(holds_in_order(claim, values, _thrown(tied, values, dice), tied.near))
    else:
        value = share_of_orders(claim, values, tied.groups, tied=tied.near, decided=tied.decided)
    is_near = bool(tied.near) and is_open(claim, values, dict.fromkeys(tied.near, math.inf))
    return Outcome(value, bool(tied.exact), is_near, found.bits, error)


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


def _is_complete(
    comparisons: Sequence[Comparison], values: Mapping[Value, float], tied: Tied
) -> bool:
    """Whether all comparisons are tied; those that claim equality need equal values."""
    return all(one in tied.near or values[one.left] == values[one.right] for one in comparisons)


def _thrown(tied: Tied, values: Mapping[Value, float], dice: random.Random) -> Ranks:
    """Draw an order of the tied quantities, until it agrees with what is decided among them."""
    while True:
        ranks = {}
        for group in tied.groups:
            order = list(group)
            dice.shuffle(order)
            ranks.update({node: rank for rank, node in enumerate(order)})
        if agrees(ranks, values, tied.decided):
            return ranks
