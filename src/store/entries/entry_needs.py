"""What a stored sentence must have so that it need not be computed again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gardenpath.store.surprisal_store import Stored
from gardenpath.store.tables import SURPRISAL_SE
from gardenpath.text import Words

# Positions of each sentence whose surprisals matter, from 0; the number of words is the end.
Matters = Mapping[Words, Collection[int]]

# The search stops when its own errors, in double precision, reach the tolerance.
_ROUNDING = 1 + 1e-6


@dataclass(frozen=True, kw_only=True)
class EntryNeeds:
    """What is asked of stored sentences; one that has less counts as missing.

    ``parses``: which sentences need parses: all, none, or those given. ``columns``: whether the
    numbers of a search are needed. ``tolerance_bits``: the largest standard error of a surprisal
    that ``matters`` (see :func:`places_of`), unless the sentence has ``max_replicates`` already;
    None accepts any error.
    """

    parses: bool | Collection[Words] = False
    columns: bool = False
    tolerance_bits: float | None = None
    max_replicates: int | None = None
    matters: Matters | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.parses, bool):
            object.__setattr__(self, "parses", frozenset(map(tuple, self.parses)))

    def are_met(self, words: Words, stored: Stored) -> bool:
        """Whether a stored sentence has all that is needed."""
        if self.columns and not stored.columns:
            return False
        needs_parses = self.parses if isinstance(self.parses, bool) else words in self.parses
        if needs_parses and stored.parses is None:
            return False
        return not self._is_too_uncertain(words, stored)

    def _is_too_uncertain(self, words: Words, stored: Stored) -> bool:
        errors = stored.columns.get(SURPRISAL_SE)
        if self.tolerance_bits is None or errors is None:
            return False
        if self.max_replicates is not None and stored.replicates >= self.max_replicates:
            return False
        largest = self.tolerance_bits * _ROUNDING
        # An undefined error is not too large: more replicates do not define it.
        return any(errors[place] > largest for place in places_of(words, self.matters))


ANY_ENTRY = EntryNeeds()


def places_of(words: Words, matters: Matters | None) -> Collection[int]:
    """Return the positions of a sentence that matter: all, unless ``matters`` names some."""
    everything = range(len(words) + 1)
    return everything if matters is None else matters.get(words, everything)
