"""Which hypotheses survive the end of a word."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gardenpath.eval.search.beam import Beam
from gardenpath.eval.search.result import Step


@dataclass(frozen=True)
class WordLimit:
    """The first ``width`` hypotheses survive.

    With a ``margin`` (nats), only those of them that are not less probable than the first one by
    more than that; hypotheses are then sorted, best first.
    """

    width: int
    margin: float | None = None

    def of_beam(self, beam: Beam) -> Beam:
        """Return the survivors."""
        front = beam.front(self.width)
        return replace(front, score=self.of_scores(front.score))

    def of_scores(self, score: Tensor) -> Tensor:
        """Return ``(groups, slots)`` scores, ``-inf`` below the margin."""
        if self.margin is None:
            return score
        return score.masked_fill(score < score[:, :1] - self.margin, -torch.inf)

    def of_step(self, step: Step) -> Step:
        """Return the survivors of one prefix."""
        front = step.front(self.width)
        if self.margin is None:
            return front
        is_below = front.score < front.score[:1] - self.margin
        return replace(front, score=np.where(is_below, -np.inf, front.score))
