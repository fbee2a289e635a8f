"""Which differences of surprisal are ties, and what a tie counts.

A difference that the computation cannot tell from zero says nothing about a model. Two quantities
are a *near tie* if they are not equal, but differ by no more than

- ``near_tie_bits``, above what rounding changes (float32, batches, threads, processes);
- for models that are searched, if the search estimates its error, half the 95 % interval of the
  difference;
- for models that are searched without such an estimate, ``search_near_tie_bits``.

A near tie has the outcome of an exact tie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from gardenpath.errors import GardenpathError

Ties = Literal["near", "exact"]
TieCredit = Literal["expectation", "coin"]

# Both are measured by ``python -m benchmarks.near_ties`` (docs/scoring.md#near-ties).
NEAR_TIE_BITS = 1e-4
SEARCH_NEAR_TIE_BITS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class TieRule:
    """Which differences are ties, and what a tie counts.

    ``ties`` says whether near ties count as ties, or exactly equal quantities only. The outcome of
    a tie is its expected value in random order, or that of one order drawn with ``seed``.
    """

    ties: Ties = "near"
    near_tie_bits: float = NEAR_TIE_BITS
    search_near_tie_bits: float = SEARCH_NEAR_TIE_BITS
    credit: TieCredit = "expectation"
    seed: int = 0

    def threshold_bits(
        self, reach: float | None, *, is_searched: bool, share: float = 1.0
    ) -> float:
        """Return the largest difference (bits) that is a near tie; 0 if there are none.

        ``reach`` is half the 95 % interval of the difference, None or NaN if it is not known;
        ``is_searched`` says whether the surprisals come from a search. Floors are multiplied by
        ``share``, for surprisals that are divided by a number of words.
        """
        if self.ties == "exact":
            return 0.0
        if reach is not None and not math.isnan(reach):
            return max(share * self.near_tie_bits, reach)
        searched = self.search_near_tie_bits if is_searched else 0.0
        return share * max(self.near_tie_bits, searched)

    def __str__(self) -> str:
        """Say in words which differences are ties."""
        if self.ties == "exact":
            return "exactly equal surprisals"
        return (
            f"differences up to {self.near_tie_bits:g} bits, of searched models up to the 95 % "
            f"interval of the search error or, if it is not known, {self.search_near_tie_bits:g} "
            "bits"
        )


USUAL_TIES = TieRule()
EXACT_TIES = TieRule(ties="exact")


def tie_rule(ties: Ties | TieRule) -> TieRule:
    """Return the rule that a name stands for."""
    if isinstance(ties, TieRule):
        return ties
    if ties not in get_args(Ties):
        raise GardenpathError(
            f"ties={ties!r} is not one of {', '.join(get_args(Ties))}; a coin toss is "
            "TieRule(credit='coin'), on the command line task.tie_credit=coin"
        )
    return TieRule(ties=ties)
