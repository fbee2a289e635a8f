"""What a search says about a sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.eval.search.history import Step


@dataclass(frozen=True)
class Failure:
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
    failure: Failure | None = None

    def token_log_probs(self, tokens: int) -> Floats:
        """``(tokens + 1,)`` log probabilities (nats) of tokens and end; NaN after a failure."""
        result = np.full(tokens + 1, np.nan)
        steps = np.diff(np.array(self.prefix_log_probs), prepend=0.0)
        result[: len(steps)] = steps
        return result
