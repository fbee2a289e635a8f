"""What the search found along the way: parses and partial parses, read back from trails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gardenpath.data.arrays import Floats, Ints
from gardenpath.eval.search.beam import NO_ACTION


@dataclass(frozen=True)
class Step:
    """The beam of one prefix: how each survivor came from one of the prefix before.

    ``score``: ``(beam,)`` log joint probabilities, ``-inf`` where empty; ``origin``: places in the
    beam before; ``trail``: ``(beam, steps)`` columns taken before the token.
    """

    score: Floats
    origin: Ints
    trail: npt.NDArray[np.int16]
    before: Step | None

    def shares(self) -> Floats:
        """The posterior share of each survivor among all."""
        if not np.isfinite(self.score[0]):
            return np.zeros(len(self.score))
        weights = np.exp(self.score - self.score[0])
        result: Floats = weights / weights.sum()
        return result

    def columns(self, place: int) -> list[list[int]]:
        """The structural columns that a survivor took before each token, from the first on."""
        found = []
        step: Step | None = self
        while step is not None:
            found.append([int(c) for c in step.trail[place] if c != NO_ACTION])
            place, step = int(step.origin[place]), step.before
        return found[::-1]
