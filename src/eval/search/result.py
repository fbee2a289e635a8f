"""Result of a search over a sentence: prefix probabilities, derivations, or a failure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gardenpath.data.arrays import Floats, Ints
from gardenpath.eval.search.beam import NO_ACTION


@dataclass(frozen=True)
class Step:
    """The beam of one prefix, with backpointers to the beam of the previous prefix.

    ``score``: ``(beam,)`` log joint probabilities, ``-inf`` where empty; ``origin``: slots in the
    previous beam; ``trail``: ``(beam, steps)`` columns taken before the token.
    """

    score: Floats
    origin: Ints
    trail: npt.NDArray[np.int16]
    before: Step | None

    def shares(self) -> Floats:
        """Return the posterior probability of each survivor among all survivors."""
        if not np.isfinite(self.score[0]):
            return np.zeros(len(self.score))
        weights = np.exp(self.score - self.score[0])
        result: Floats = weights / weights.sum()
        return result

    def front(self, width: int) -> Step:
        """Return the first ``width`` survivors."""
        return Step(self.score[:width], self.origin[:width], self.trail[:width], self.before)

    def columns(self, place: int) -> list[list[int]]:
        """Return the structural columns that a survivor took before each token, in order."""
        found = []
        step: Step | None = self
        while step is not None:
            found.append([int(c) for c in step.trail[place] if c != NO_ACTION])
            place, step = int(step.origin[place]), step.before
        return found[::-1]


@dataclass(frozen=True)
class SearchFailure:
    """No hypothesis survived at a token.

    ``token`` is counted from zero; the number of tokens denotes the end of the sentence.
    """

    token: int
    hit_open: bool
    hit_consecutive: bool
    # The setting for the number of hypotheses.
    width_setting: str = "action_beam"

    @property
    def remedy(self) -> str:
        """The setting to change."""
        if self.hit_consecutive:
            return "raise search.max_consecutive"
        if self.hit_open:
            return "raise search.max_open"
        return f"raise search.{self.width_setting}"


@dataclass(frozen=True)
class SentenceResult:
    """Log probabilities of the prefixes of a sentence after each token and after its end.

    ``best_share``: for each prefix, the posterior probability of the best hypothesis among the
    survivors. ``word_end_log_probs``: for each prefix that ends with the last piece of a word, the
    log probability that the word does not continue, zero for others; empty if they were not asked
    for. If the search failed, all end before the failure, which ``failure`` describes.
    """

    prefix_log_probs: tuple[float, ...]
    best_share: tuple[float, ...]
    last: Step | None = None
    failure: SearchFailure | None = None
    word_end_log_probs: tuple[float, ...] = ()

    def token_log_probs(self, tokens: int, *, with_word_ends: bool = False) -> Floats:
        """Return ``(tokens + 1,)`` log probabilities (nats) of tokens and end; NaN if failed.

        ``with_word_ends``: the last piece of a word includes that the word ends there, and the
        token after it is given that it did.
        """
        result = np.full(tokens + 1, np.nan)
        prefixes = np.array(self.prefix_log_probs)
        if with_word_ends and len(self.word_end_log_probs):
            prefixes = prefixes + np.array(self.word_end_log_probs)
        steps = np.diff(prefixes, prepend=0.0)
        result[: len(steps)] = steps
        return result
