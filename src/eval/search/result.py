"""Result of a search over a sentence: prefix probabilities, derivations, or a failure."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from gardenpath.data.arrays import Floats, Ints
from gardenpath.eval.search.beam import WordLimit
from gardenpath.eval.search.sampling.replicates import pooled
from gardenpath.eval.search.stepping import NO_ACTION
from gardenpath.eval.search.word_measures import TokenMeasures, token_measures


@dataclass(frozen=True)
class Step:
    """The beam of one prefix, with backpointers to the beam of the previous prefix.

    ``score``: ``(beam,)`` log joint probabilities, or log weights of sampled hypotheses, ``-inf``
    where empty; ``joint``: ``(beam,)`` log joint probabilities; ``origin``: slots in the previous
    beam; ``trail``: ``(beam, steps)`` columns taken before the token.
    """

    score: Floats
    joint: Floats
    origin: Ints
    trail: npt.NDArray[np.int16]
    before: Step | None

    def shares(self) -> Floats:
        """Return the posterior probability of each survivor among all that survivors stand for.

        The weights of sampled hypotheses stand for others too, which were dropped.
        """
        is_alive = np.isfinite(self.score)
        if not is_alive.any():
            return np.zeros(len(self.score))
        joint = np.where(is_alive, self.joint, -np.inf)
        result: Floats = np.exp(joint - max(logsumexp(self.score), logsumexp(joint)))
        return result

    def within(self, limit: WordLimit) -> Step:
        """Return the survivors of the end of a word."""
        width, score = limit.width, self.score[: limit.width]
        if limit.margin is not None:
            score = np.where(score < score[:1] - limit.margin, -np.inf, score)
        return Step(score, self.joint[:width], self.origin[:width], self.trail[:width], self.before)

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
    """What was found for the prefixes of a sentence after each token and after its end.

    ``replicate_log_probs``: ``(prefixes, replicates)`` estimates of the log probability; a
    deterministic search has one. ``replicate_measures``: ``(prefixes, replicates, 8)`` what the
    survivors say about each token (:mod:`word_measures`).
    ``replicate_word_ends``: for each prefix that ends with the last piece of a word, the log
    probability that the word does not continue, zero for others; None if they were not asked for.
    If the search failed, all end before the failure, which ``failure`` describes.
    """

    replicate_log_probs: Floats
    replicate_measures: Floats
    last: Step | None = None
    failure: SearchFailure | None = None
    replicate_word_ends: Floats | None = None

    @property
    def prefix_log_probs(self) -> tuple[float, ...]:
        """Log probability (nats) of each prefix."""
        return tuple(pooled(self.replicate_log_probs).log_probs.tolist())

    @property
    def word_end_log_probs(self) -> tuple[float, ...]:
        """Log probability that a word ends, for each prefix; empty if they were not asked for."""
        if self.replicate_word_ends is None:
            return ()
        ended = pooled(self._with_word_ends(True)).log_probs - np.array(self.prefix_log_probs)
        return tuple(ended.tolist())

    @property
    def replicates(self) -> int:
        """Number of independent estimates."""
        return int(self.replicate_log_probs.shape[1])

    @functools.cached_property
    def measures(self) -> TokenMeasures:
        """What the survivors say about each token."""
        return token_measures(self.replicate_measures)

    @property
    def best_share(self) -> tuple[float, ...]:
        """Posterior probability of the best hypothesis, for each prefix."""
        return tuple(self.measures.best_share.tolist())

    def _with_word_ends(self, with_word_ends: bool) -> Floats:
        if not with_word_ends or self.replicate_word_ends is None:
            return self.replicate_log_probs
        result: Floats = self.replicate_log_probs + self.replicate_word_ends
        return result

    def token_log_probs(self, tokens: int, *, with_word_ends: bool = False) -> Floats:
        """Return ``(tokens + 1,)`` log probabilities (nats) of tokens and end; NaN if failed.

        ``with_word_ends``: the last piece of a word includes that the word ends there, and the
        token after it is given that it did.
        """
        prefixes = pooled(self._with_word_ends(with_word_ends)).log_probs
        return self.padded(np.diff(prefixes, prepend=0.0), tokens)

    def token_deviations(self, tokens: int, *, with_word_ends: bool = False) -> Floats | None:
        """Return ``(tokens + 1, replicates)`` deviations (bits); None without replicates."""
        if self.replicates == 1:
            return None
        found = pooled(self._with_word_ends(with_word_ends)).deviations_bits
        return self.padded(found, tokens)

    def padded(self, values: Floats, tokens: int) -> Floats:
        """Return values of all tokens and the end; NaN behind a failure."""
        result = np.full((tokens + 1, *values.shape[1:]), np.nan)
        result[: len(values)] = values
        return result


def with_replicates(results: Sequence[SentenceResult]) -> SentenceResult:
    """Join results of different replicates of a sentence.

    A replicate without survivors contributes probabilities of zero. The parses of the first are
    kept.
    """
    longest = max(len(result.replicate_log_probs) for result in results)
    failures = [result.failure for result in results]
    whole = [result for result in results if result.failure is None]

    def beside(arrays: Sequence[Floats], padding: float) -> Floats:
        return np.concatenate(
            [
                np.concatenate([array, np.full((longest - len(array), *array.shape[1:]), padding)])
                for array in arrays
            ],
            axis=1,
        )

    ends = [result.replicate_word_ends for result in results]
    return SentenceResult(
        beside([result.replicate_log_probs for result in results], -np.inf),
        beside([result.replicate_measures for result in results], -np.inf),
        last=(whole or list(results))[0].last,
        failure=None if whole else max((f for f in failures if f), key=lambda f: f.token),
        replicate_word_ends=None
        if any(end is None for end in ends)
        else beside([end for end in ends if end is not None], 0.0),
    )
