"""Several independent estimates of the same prefix probabilities: their mean and its error.

Replicate r estimates the probability of each prefix without bias, P_r. The reported log probability
is that of the mean, P̄ = Σ P_r / R. To first order, the log of the mean deviates from the truth by
the mean of x_r - 1, where x_r = P_r / P̄; the surprisal of a token, log P̄ (before) - log P̄ (after),
by that of

    d_r = x_r (before) - x_r (after)

These *deviations* add up like surprisals: the deviations of a sum or difference of surprisals are
the sums or differences of their deviations, replicate by replicate, also between sentences, because
a prefix that two sentences share has the same estimates in both. The standard error of any such
combination is the standard error of the mean of its deviations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, stdtrit

from gardenpath.data.arrays import Floats
from gardenpath.units import bits


@dataclass(frozen=True)
class Pooled:
    """``log_probs``: ``(prefixes,)`` log of the mean estimate (nats) of each prefix.

    ``relative``: ``(prefixes, replicates)`` estimates divided by their mean.
    """

    log_probs: Floats
    relative: Floats

    @property
    def deviations_bits(self) -> Floats:
        """``(prefixes, replicates)`` deviations of the surprisal of each token, in bits."""
        before = np.vstack([np.ones_like(self.relative[:1]), self.relative[:-1]])
        result: Floats = bits(-(before - self.relative))
        return result


def pooled(log_probs: Floats) -> Pooled:
    """Average ``(prefixes, replicates)`` log estimates (nats)."""
    mean = logsumexp(log_probs, axis=1) - math.log(log_probs.shape[1])
    return Pooled(mean, np.exp(log_probs - mean[:, None]))


def standard_error(deviations: Floats) -> Floats:
    """Return the standard error of the mean of ``(…, replicates)`` deviations."""
    count = deviations.shape[-1]
    result: Floats = np.sqrt((deviations**2).sum(-1) / (count * (count - 1)))
    return result


def t_quantile(replicates: int, *, coverage: float = 0.95) -> float:
    """Return the number of standard errors on either side of a ``coverage`` interval."""
    return float(stdtrit(replicates - 1, 0.5 + coverage / 2))
