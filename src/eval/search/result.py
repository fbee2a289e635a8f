"""What a search finds for a sentence: probabilities, the way to them, or why there are none."""

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


@dataclass(frozen=True)
class SearchFailure:
    """No hypothesis survived at a token (from zero; the number of tokens stands for the end)."""

    token: int
    hit_open: bool
    hit_consecutive: bool
    # The setting that says how many hypotheses are kept.
    width_setting: str = "action_beam"

    @property
    def remedy(self) -> str:
        """Which setting to change."""
        if self.hit_consecutive:
            return "raise search.max_consecutive"
        if self.hit_open:
            return "raise search.max_open"
        return f"raise search.{self.width_setting}"


@dataclass(frozen=True)
class SentenceResult:
    """Log probabilities of the prefixes of a sentence after each token and, last, its end.

    ``best_share``: for each of them, the share of the best hypothesis among the survivors.
    Where the search failed, both stop short and ``failure`` says why.
    """

    prefix_log_probs: tuple[float, ...]
    best_share: tuple[float, ...]
    last: Step | None = None
    failure: SearchFailure | None = None

    def token_log_probs(self, tokens: int) -> Floats:
        """``(tokens + 1,)`` log probabilities (nats) of tokens and end; NaN after a failure."""
        result = np.full(tokens + 1, np.nan)
        steps = np.diff(np.array(self.prefix_log_probs), prepend=0.0)
        result[: len(steps)] = steps
        return result
