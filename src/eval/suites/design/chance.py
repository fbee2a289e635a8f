"""Chance level of a claim: its probability if the compared quantities are in random order.

The chance level is 1/2 for ``a > b`` and 1/3 for ``a > b & a > c``. Scoring treats ties in the same
way, so a model that assigns the same surprisal to all conditions scores at chance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import assert_never

from gardenpath.eval.suites.design.formula import (
    And,
    Claim,
    Comparison,
    Formula,
    Or,
    Term,
    Value,
    are_equal,
    walk,
)

# The chance level of predictions for which it cannot be computed.
USUAL_CHANCE = 0.5

# Formulas with more orders than this have no computed chance level.
_MOST_ORDERS = 50_000

Ranks = Mapping[Value, int]


def chance_level(formula: Formula) -> float | None:
    """Return the probability that a prediction holds if all quantities are in random order.

    None if it cannot be computed: for quantities, for ``=``, for comparisons with a number, and
    for formulas that compare too many quantities.
    """
    claim = formula.tree
    if not isinstance(claim, Comparison | And | Or):
        return None
    if not all(_is_open(one) for one in formula.comparisons):
        return None
    groups = _connected(formula.comparisons)
    if math.prod(math.factorial(len(group)) for group in groups) > _MOST_ORDERS:
        return None
    values = {value: 0.0 for group in groups for value in group}
    return share_of_orders(claim, values, groups)


def _is_open(comparison: Comparison) -> bool:
    """Whether a comparison may be true or false, depending on surprisals."""
    sides = (comparison.left, comparison.right)
    speaks = all(any(isinstance(node, Term) for node in walk(side)) for side in sides)
    return comparison.operator != "=" and speaks and sides[0] != sides[1]


def _connected(comparisons: Sequence[Comparison]) -> list[list[Value]]:
    """Group quantities that are compared with each other, directly or through others."""
    groups: list[dict[Value, None]] = []
    for one in comparisons:
        joined = {one.left: None, one.right: None}
        apart = []
        for group in groups:
            if group.keys() & joined.keys():
                joined = {**group, **joined}
            else:
                apart.append(group)
        groups = [*apart, joined]
    return [list(group) for group in groups]


def share_of_orders(
    claim: Claim,
    values: Mapping[Value, float],
    groups: Sequence[Sequence[Value]],
    *,
    tied: Collection[Comparison] = (),
    decided: Sequence[Comparison] = (),
) -> float:
    """Return the proportion of all orders of the tied quantities in which a claim is true.

    Each of the ``groups`` contains quantities of equal value, or of values that count as equal in
    the comparisons ``tied``; all other quantities are ordered by value. Orders that contradict
    the values of a comparison in ``decided``, of two quantities of one group, are left out.
    """
    orders = (ranks for ranks in _orders(groups) if agrees(ranks, values, decided))
    held = [holds_in_order(claim, values, ranks, tied) for ranks in orders]
    return sum(held) / len(held)


def _orders(groups: Sequence[Sequence[Value]]) -> Iterator[Ranks]:
    """Yield every order of the quantities of every group."""
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield {node: rank for order in orders for rank, node in enumerate(order)}


def agrees(ranks: Ranks, values: Mapping[Value, float], decided: Sequence[Comparison]) -> bool:
    """Whether ranks order the two sides of each comparison as their values do."""
    return all(
        (ranks[one.left] < ranks[one.right]) == (values[one.left] < values[one.right])
        for one in decided
    )


def holds_in_order(
    claim: Claim,
    values: Mapping[Value, float],
    ranks: Ranks,
    tied: Collection[Comparison] = (),
) -> bool:
    """Whether a claim is true if equal values, and the sides of ``tied``, are ordered by rank."""
    match claim:
        case Comparison():
            if claim.operator == "=":
                one, other = values[claim.left], values[claim.right]
                return one == other or are_equal(one, other)  # infinities have no difference
            by_value = (0.0, 0.0) if claim in tied else (values[claim.left], values[claim.right])
            left = by_value[0], ranks.get(claim.left, 0)
            right = by_value[1], ranks.get(claim.right, 0)
            return left < right if claim.operator == "<" else left > right
        case And():
            return all(holds_in_order(part, values, ranks, tied) for part in claim.parts)
        case Or():
            return any(holds_in_order(part, values, ranks, tied) for part in claim.parts)
        case _:
            assert_never(claim)
