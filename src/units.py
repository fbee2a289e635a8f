"""Units of information: nats internally, bits for users, log10 in ARPA files.

Models return the log probability of an event in nats (``log_prob``); tables show its surprisal in
bits (``surprisal_bits``). Surprisal is the negative log probability, so both functions change the
sign as well as the unit.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np
import numpy.typing as npt

NATS_PER_BIT = math.log(2.0)

# ARPA files use logarithms to base 10.
NATS_PER_LOG10 = math.log(10.0)

# Beyond this many nats, exp() overflows a double.
_LARGEST_EXPONENT = 700.0


@overload
def bits(log_prob_nats: float) -> float: ...


@overload
def bits(log_prob_nats: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]: ...


def bits(
    log_prob_nats: float | npt.NDArray[np.floating],
) -> float | npt.NDArray[np.float64]:
    """Convert log probabilities (nats) to surprisals (bits), in double precision.

    The surprisal of a certain event is 0.0, never -0.0; that of an impossible event is infinite,
    and NaN stays NaN.
    """
    # 0.0 - x instead of -x: the negative of 0.0 would be -0.0.
    if isinstance(log_prob_nats, np.ndarray):
        return (0.0 - log_prob_nats.astype(np.float64)) / NATS_PER_BIT
    return (0.0 - log_prob_nats) / NATS_PER_BIT


@overload
def nats(surprisal_bits: float) -> float: ...


@overload
def nats(surprisal_bits: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]: ...


def nats(
    surprisal_bits: float | npt.NDArray[np.floating],
) -> float | npt.NDArray[np.float64]:
    """Convert surprisals (bits) to log probabilities (nats); the inverse of :func:`bits`."""
    if isinstance(surprisal_bits, np.ndarray):
        return (0.0 - surprisal_bits.astype(np.float64)) * NATS_PER_BIT
    return (0.0 - surprisal_bits) * NATS_PER_BIT


def perplexity_of(nats_per_event: float) -> float:
    """Convert a mean negative log-likelihood (nats) to perplexity; infinite if it overflows."""
    return math.exp(nats_per_event) if nats_per_event < _LARGEST_EXPONENT else math.inf
