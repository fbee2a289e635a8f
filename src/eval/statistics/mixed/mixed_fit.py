"""What a fitted mixed model says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gardenpath.eval.statistics.choices import Distribution

# The likelihood that is searched: Laplace's approximation, or the profiled restricted likelihood.
Engine = Literal["laplace", "profiled"]
# Why estimates mean nothing. Separation: some outcomes are all right or all wrong. Divergence:
# estimates run off for another reason.
FitFailure = Literal["separation", "divergence", "no convergence"]

RESIDUAL = "Residual"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedEffect:
    """A coefficient: its test is a z test where ``df`` is None, else a t test."""

    name: str
    estimate: float
    standard_error: float
    statistic: float
    df: float | None
    p: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomEffect:
    """A variance; ``correlations`` are with the effects before it in the same term."""

    group: str
    name: str
    variance: float
    correlations: tuple[float, ...] = ()

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedFit:
    """A fitted model and how far it can be trusted.

    With a ``failure`` its estimates mean nothing, and those of separated outcomes are not numbers.
    ``singular`` means that some random effect has no variance of its own; ``warnings`` say in words
    what a reader should know. ``log_likelihood`` is restricted for linear models. ``engine`` is the
    likelihood that was searched.
    """

    formula: str
    family: Distribution
    fixed: tuple[FixedEffect, ...]
    random: tuple[RandomEffect, ...]
    groups: Mapping[str, int]
    log_likelihood: float
    n: int
    failure: FitFailure | None
    singular: bool
    engine: Engine
    warnings: tuple[str, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the estimates can be relied on."""
        return self.failure is None

    def effect(self, name: str) -> FixedEffect:
        """A fixed effect by name."""
        for effect in self.fixed:
            if effect.name == name:
                return effect
        raise KeyError(name)

    def random_rows(self) -> list[dict[str, Any]]:
        """One row per random effect, the residual last."""
        return [
            {
                "group": effect.group,
                "effect": effect.name,
                "levels": self.groups.get(effect.group, self.n),
                "variance": effect.variance,
                "deviation": effect.deviation,
                "correlations": " ".join(f"{value:.2f}" for value in effect.correlations),
            }
            for effect in self.random
        ]
