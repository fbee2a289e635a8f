"""How far the log probability of a corpus may be off, if it is estimated with replicates.

The estimate of a sentence has the variance v, the square of the standard error of the sum of its
surprisals. Two sentences that begin alike share the estimates of their common prefix, so that the
covariance of their log probabilities is the variance of that of the prefix. Let v(p) be the
variance at a prefix p, q the prefix one word shorter, and n(p) the number of sentences that begin
with p. The variance of the sum over all sentences is

    Σ over pairs of sentences of v(longest common prefix) = Σ over p of n(p)² (v(p) - v(q))

For sentences with nothing in common it is the sum of their variances; a sentence that occurs twice
counts four times.

The log of an unbiased estimate is biased (Jensen's inequality): its mean is below the log of the
probability by v / 2, to second order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.eval.search.sampling.replicates import standard_error
from gardenpath.units import NATS_PER_BIT


@dataclass(frozen=True, slots=True)
class EstimateErrors:
    """Standard error and expected bias of the negative log-likelihood of a corpus, in nats."""

    error_nats: float
    bias_nats: float


def estimate_errors(
    sentences: Sequence[Sequence[str]], deviations_bits: Sequence[Floats]
) -> EstimateErrors:
    """Return the errors of the sum of the log probabilities of sentences and their ends.

    ``deviations_bits``: for each sentence, ``(words + 1, replicates)`` deviations of surprisals.
    """
    paths = list(_paths(sentences))
    passing = Counter(node for path in paths for node in path)
    variance = bias = 0.0
    for path, deviations in zip(paths, deviations_bits, strict=True):
        errors = standard_error(np.cumsum(deviations, axis=0)) * NATS_PER_BIT
        gained = np.diff(errors**2, prepend=0.0)
        # Each of the n(p) sentences adds n(p) times what its own estimate says.
        variance += float(np.dot(gained, [passing[node] for node in path]))
        bias += float(errors[-1] ** 2) / 2
    # An estimated variance may decrease from word to word, but no variance is negative.
    return EstimateErrors(error_nats=math.sqrt(max(variance, 0.0)), bias_nats=bias)


def _paths(sentences: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Yield the numbers of the prefixes of each sentence; the last includes its end."""
    numbers: dict[tuple[int, str | None], int] = {}
    for words in sentences:
        node, path = 0, []
        for word in (*words, None):
            node = numbers.setdefault((node, word), len(numbers) + 1)
            path.append(node)
        yield path
