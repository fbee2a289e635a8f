"""What the survivors of a token say about it: entropy, depth, and which analysis is the best.

All are sums over the survivors d of a group, weighted by their share p(d) of the total weight. With
*joint* the log joint probability of an analysis, the entropy over analyses is log P - Σ p(d) joint:
this holds for sampled hypotheses too, whose weight is not their probability, and sums of replicates
can be pooled by their weights.

Surprisal has two parts. Before the word, the analyses d have the probabilities p(d | prefix), after
it q(d) = p(d | prefix, word):

    -log p(word | prefix) = Σ q(d) · -log p(word | d, prefix)  +  KL(q ‖ p)

The first is the surprisal of the word itself, given the analysis; the second is by how much the
word changes the distribution over analyses.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import logsumexp
from torch import Tensor

from gardenpath.data.arrays import Floats, Ints
from gardenpath.eval.search.beam import NO_ACTION, Beam, WordLimit
from gardenpath.eval.search.replicates import pooled
from gardenpath.util import bits

# An analysis counts if it is at most this many times less probable than the best.
FACTOR = 100.0

# Columns of what is measured for each group, in order.
_JOINT, _DEPTH, _LAST, BEST_JOINT, _ANALYSES, _KEPT, _REANALYSIS, _TOTAL = range(8)
MEASURED = 8


def measured(beam: Beam, came_from_best: Tensor) -> Tensor:
    """Return ``(groups, 8)`` sums over survivors that are about to read a word.

    ``came_from_best``: ``(groups, width)``, whether a survivor continues the best analysis before
    the word.
    """
    joint, last = beam.joint.masked_fill(~beam.is_alive, -torch.inf), beam.last
    total = beam.score.logsumexp(1)
    share = (beam.score - total.unsqueeze(1)).exp().nan_to_num(0.0)
    best, place = joint.max(1)
    is_near = joint >= (best - float(np.log(FACTOR))).unsqueeze(1)
    sums = torch.stack(
        [
            joint.masked_fill(~beam.is_alive, 0.0),
            beam.depth.to(joint),
            last.masked_fill(~beam.is_alive, 0.0),
            came_from_best.to(joint),
        ],
        dim=2,
    )
    means = (sums * share.unsqueeze(2)).sum(1)
    reanalysed = 1.0 - came_from_best.gather(1, place.unsqueeze(1)).to(joint).squeeze(1)
    near = (is_near & beam.is_alive).sum(1).to(joint)
    return torch.stack([*means.T[:3], best, near, means[:, 3], reanalysed, total], dim=1)


def is_best(beam: Beam) -> Tensor:
    """``(groups, width)``: whether a hypothesis is the most probable one of its group."""
    joint = beam.joint.masked_fill(~beam.is_alive, -torch.inf)
    slots = torch.arange(joint.shape[1], device=joint.device)
    return slots == joint.argmax(1, keepdim=True)


@dataclass(frozen=True)
class TokenMeasures:
    """Measures after each token of a sentence, averaged over replicates: ``(tokens,)`` each.

    ``entropy_bits``, ``open_constituents``, ``analyses``, ``best_share``, ``best_kept_share`` and
    ``reanalysis`` describe the analyses after the token; ``word_bits`` is the expected surprisal
    of the token given the analysis.
    """

    entropy_bits: Floats
    open_constituents: Floats
    analyses: Floats
    word_bits: Floats
    best_share: Floats
    best_kept_share: Floats
    reanalysis: Floats


# Measures of the last piece of a word are those of the word.
AFTER_TOKEN = (
    "entropy_bits", "open_constituents", "analyses", "best_share", "best_kept_share", "reanalysis",
)  # fmt: skip


def token_measures(measures: Floats) -> TokenMeasures:
    """Pool what was measured in replicates, ``(tokens, replicates, 8)``, by their weights."""
    log_probs = measures[..., _TOTAL]
    total = logsumexp(log_probs, axis=1) if log_probs.size else np.zeros(len(log_probs))
    # Replicates without survivors have no weight.
    weight = np.exp(log_probs - total[:, None])
    pooled = np.einsum("tr,trk->tk", weight, np.where(weight[..., None] > 0, measures, 0.0))
    mean_log_prob = total - np.log(max(log_probs.shape[1], 1))
    best = measures[..., BEST_JOINT].argmax(1)
    rows = np.arange(len(measures))
    return TokenMeasures(
        entropy_bits=np.maximum(bits(pooled[:, _JOINT] - mean_log_prob), 0.0),
        open_constituents=pooled[:, _DEPTH],
        analyses=measures[..., _ANALYSES].max(1),
        word_bits=bits(pooled[:, _LAST]),
        # An estimate of the total that is too low can be below a part of it.
        best_share=np.minimum(np.exp(measures[rows, best, BEST_JOINT] - mean_log_prob), 1.0),
        best_kept_share=pooled[:, _KEPT],
        reanalysis=measures[rows, best, _REANALYSIS],
    )


# ----------------------------------------------------------------------------
# Result of a search over a sentence: prefix probabilities, derivations, or a failure.


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
        columns = []
        step: Step | None = self
        while step is not None:
            columns.append([int(c) for c in step.trail[place] if c != NO_ACTION])
            place, step = int(step.origin[place]), step.before
        return columns[::-1]


@dataclass(frozen=True)
class SearchFailure:
    """No hypothesis survived at a token.

    ``token`` is counted from zero; the number of tokens denotes the end of the sentence.
    """

    token: int
    hit_open: bool
    hit_consecutive: bool

    @property
    def remedy(self) -> str:
        if self.hit_consecutive:
            return "raise search.max_consecutive"
        if self.hit_open:
            return "raise search.max_open"
        return "raise search.action_beam"


@dataclass(frozen=True)
class SentenceResult:
    """What was found for the prefixes of a sentence after each token and after its end.

    ``replicate_log_probs``: ``(prefixes, replicates)`` estimates of the log probability; a
    deterministic search has one. ``replicate_measures``: ``(prefixes, replicates, 8)`` what the
    survivors say about each token (:func:`measured`).
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
        deviations = pooled(self._with_word_ends(with_word_ends)).deviations_bits
        return self.padded(deviations, tokens)

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
