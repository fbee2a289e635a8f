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

Also read by suites, texts and reports, so torch is not imported here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.util import bits, plural


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
    from scipy.special import logsumexp  # here, because tables need other functions

    mean = logsumexp(log_probs, axis=1) - math.log(log_probs.shape[1])
    return Pooled(mean, np.exp(log_probs - mean[:, None]))


def standard_error(deviations: Floats) -> Floats:
    """Return the standard error of the mean of ``(…, replicates)`` deviations."""
    count = deviations.shape[-1]
    result: Floats = np.sqrt((deviations**2).sum(-1) / (count * (count - 1)))
    return result


def t_quantile(replicates: int, *, coverage: float = 0.95) -> float:
    """Return the number of standard errors on either side of a ``coverage`` interval."""
    from scipy.special import stdtrit  # here, because tables need other functions

    return float(stdtrit(replicates - 1, 0.5 + coverage / 2))


# The random numbers of replicates: splitmix64.

_MASK = (1 << 64) - 1
# The constants of splitmix64.
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mixed(key: int, number: int) -> int:
    """Return a 64-bit number that depends on both, with well-mixed bits (splitmix64)."""
    value = (key * _FIRST + (number + 1) * _STEP) & _MASK
    value = ((value ^ (value >> 30)) * _FIRST) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND) & _MASK
    return value ^ (value >> 31)


def uniforms(keys: Sequence[int], count: int) -> Floats:
    """``(keys, count)`` random numbers in [0, 1); those of a key depend on nothing else."""
    place = np.arange(1, count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        value = np.array(keys, dtype=np.uint64)[:, None] + place * np.uint64(_STEP)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(_FIRST)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(_SECOND)
        value = value ^ (value >> np.uint64(31))
    result: Floats = (value >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return result


def not_converged(
    errors: Sequence[float] | Floats, positions: Collection[int] | None, tolerance: float
) -> int:
    """Count the words that matter (None: all) whose standard error is above the tolerance."""
    values = np.asarray(errors)
    chosen = values if positions is None else values[sorted(positions)]
    return int((chosen > tolerance).sum())


def tolerance_note(run: str, above: Sequence[int], of: str, tolerance: float) -> str | None:
    """Say how many words are above the tolerance; None if there are none.

    ``above``: their number in each sentence; ``of``: which words they are among, such as ``12
    words``.
    """
    if not sum(above):
        return None
    sentences = plural(sum(count > 0 for count in above), "sentence")
    return (
        f"{run}: the standard error of {sum(above)} of {of}, in {sentences}, is above "
        f"search.tolerance={tolerance:g} bits; give the search more work, or expect less precise "
        "differences (difference_se)"
    )
