"""The search error of sums and differences of surprisals.

A search with replicates gives deviations of every surprisal (:mod:`replicates`). Deviations of a
sum are the sums of the deviations, replicate by replicate, so that prefixes that two sentences
share cancel as they do in surprisals.
If sentences have different numbers of replicates, the first ones of each correspond: of a prefix
that two sentences share, they are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from gardenpath.eval.suites.design.formula import Arithmetic, Number, Term, Value
from gardenpath.eval.suites.design.suite import Metric

# Settings import this package, so that it loads no numerical library.
if TYPE_CHECKING:
    from gardenpath.data.arrays import Floats

# Deviations (bits) that are this small come from rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Deviations:
    """Deviations in bits: ``(replicates,)`` for each number of replicates; none: no error."""

    by_count: Mapping[int, Floats]

    @property
    def standard_error(self) -> float:
        """The standard error in bits; NaN if a deviation is."""
        import numpy as np

        if not self.by_count:
            return 0.0
        # The variance of a mean of R replicates is the sum of the squares of d / √(R (R - 1)).
        # Where one mean has more replicates, those without a counterpart vary by themselves.
        total = np.zeros(max(self.by_count))
        for count, vector in self.by_count.items():
            total[:count] += vector / math.sqrt(count * (count - 1))
        return math.sqrt(float((total**2).sum()))

    @property
    def reach(self) -> float:
        """Half the width of the 95 % interval, in bits.

        With several numbers of replicates, the smallest gives an interval that is not too narrow.
        """
        from gardenpath.eval.search.sampling.replicates import standard_error, t_quantile

        # A deviation that is not known (NaN) is uncertain.
        uncertain = [
            count
            for count, vector in self.by_count.items()
            if not standard_error(vector) <= _ROUNDING
        ]
        return t_quantile(min(uncertain)) * self.standard_error if uncertain else 0.0


NO_ERROR = Deviations({})

# The deviations of a region (or ``*``) in a condition; None if the error is not known.
ErrorLookup = Callable[[str, str], Deviations | None]


def weighted_sum(parts: Iterable[tuple[float, Deviations | None]]) -> Deviations | None:
    """Return the deviations of a weighted sum; None if those of a part are not known."""
    total: dict[int, Floats] = {}
    for weight, part in parts:
        if part is None:
            return None
        for count, vector in part.by_count.items():
            total[count] = total[count] + weight * vector if count in total else weight * vector
    return Deviations(total)


def quantity_error(node: Value, errors: ErrorLookup) -> Deviations | None:
    """Return the deviations of a quantity: a sum or difference of terms and numbers."""
    return weighted_sum(_weighted_terms(node, errors, 1.0))


def _weighted_terms(
    node: Value, errors: ErrorLookup, sign: float
) -> Iterator[tuple[float, Deviations | None]]:
    match node:
        case Term():
            yield sign, errors(node.region, node.condition)
        case Number():
            yield sign, NO_ERROR
        case Arithmetic():
            yield from _weighted_terms(node.left, errors, sign)
            right = sign if node.operator == "+" else -sign
            yield from _weighted_terms(node.right, errors, right)
        case _:
            assert_never(node)


def region_deviations(
    deviations: Floats,
    surprisal_bits: Sequence[float],
    *,
    metric: Metric = "sum",
    normalised: bool = False,
) -> Deviations:
    """Return the deviations of the value of a region under a metric.

    ``deviations`` are those of its words, ``(words, replicates)``. The maximum deviates as its word
    does.
    """
    words, count = deviations.shape
    if not words:
        return NO_ERROR
    if metric == "sum":
        found = deviations.sum(axis=0)
    elif metric == "mean":
        found = deviations.mean(axis=0)
    elif metric == "max":
        found = deviations[max(range(words), key=lambda place: surprisal_bits[place])]
    else:
        found = deviations[0]
    return Deviations({count: found / words if normalised else found})


def word_errors(deviations: Floats) -> list[float]:
    """Return the standard error of each word from ``(words, replicates)`` deviations."""
    from gardenpath.eval.search.sampling.replicates import standard_error

    return [float(one) for one in standard_error(deviations)]


def sum_deviations(deviations: Floats) -> Deviations:
    """Return the deviations of the sum of all words from those of the words."""
    return Deviations({deviations.shape[1]: deviations.sum(axis=0)})


def error_of_sum(deviations: Sequence[Floats]) -> float:
    """Return the standard error of a sum of surprisals from the deviations of each, in bits."""
    if not deviations:
        return 0.0
    return Deviations({len(deviations[0]): sum(deviations[1:], deviations[0])}).standard_error
