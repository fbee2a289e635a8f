"""The comparisons of a prediction that are tied: exactly, or nearly (:mod:`tie_rule`).

Nearly equal is not transitive: a and c may differ where both are nearly equal to b. Quantities that
ties connect are one group, whose orders are equally probable as far as they agree with those
comparisons within the group that are not tied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gardenpath.eval.suites.design.formula import Comparison, Value

Threshold = Callable[[Comparison], float]
"""The largest difference of a comparison's sides, in bits, that is a near tie; 0 if none is."""


@dataclass(frozen=True, slots=True)
class Tied:
    """The tied comparisons of a prediction; ``=`` claims equality and is never tied.

    ``exact`` have equal sides, ``near`` have sides that differ by no more than the threshold.
    ``groups`` are the quantities that these ties connect, ``decided`` the comparisons of two
    quantities of one group that are not tied.
    """

    exact: frozenset[Comparison]
    near: frozenset[Comparison]
    groups: tuple[tuple[Value, ...], ...]
    decided: tuple[Comparison, ...]

    @property
    def comparisons(self) -> frozenset[Comparison]:
        """All tied comparisons."""
        return self.exact | self.near


def tied_comparisons(
    comparisons: Sequence[Comparison], values: Mapping[Value, float], threshold: Threshold
) -> Tied:
    """Find the ties among comparisons, given the values of the compared quantities."""
    open_ones = [one for one in comparisons if one.operator != "="]
    exact = [one for one in open_ones if values[one.left] == values[one.right]]
    near = [
        one
        for one in open_ones
        if 0.0 < abs(values[one.left] - values[one.right]) <= threshold(one)
    ]
    groups = _groups(exact, near, values)
    tied = {*exact, *near}
    decided = [
        one
        for one in open_ones
        if one not in tied and any(one.left in group and one.right in group for group in groups)
    ]
    return Tied(frozenset(exact), frozenset(near), groups, tuple(decided))


def _groups(
    exact: Sequence[Comparison], near: Sequence[Comparison], values: Mapping[Value, float]
) -> tuple[tuple[Value, ...], ...]:
    """Group the quantities of equal value that are compared; near ties join groups."""
    equal: dict[float, dict[Value, None]] = {}
    for one in exact:
        equal.setdefault(values[one.left], {}).update({one.left: None, one.right: None})
    groups = list(equal.values())
    for one in near:
        sides: dict[Value, None] = {one.left: None, one.right: None}
        joined = [group for group in groups if group.keys() & sides.keys()]
        groups = [group for group in groups if not group.keys() & sides.keys()]
        groups.append({node: None for group in (*joined, sides) for node in group})
    return tuple(map(tuple, groups))
