"""Results of a fitted mixed model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gardenpath.eval.statistics.choices import Distribution

# The likelihood that is maximised: Laplace approximation, or profiled restricted likelihood.
Engine = Literal["laplace", "profiled"]
# Why estimates are invalid. Separation: predictors separate right from wrong outcomes. Divergence:
# estimates diverge for another reason.
FitFailure = Literal["separation", "divergence", "no convergence"]

RESIDUAL = "Residual"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedEffect:
    """A coefficient with a t test, or with a z test if ``df`` is None."""

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
    """A variance; ``correlations`` are with the preceding effects of the same term."""

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
    """A fitted model with its diagnostics.

    If ``failure`` is not None, the estimates are invalid (NaN in case of separation). ``singular``
    means that a random effect has no variance of its own. ``warnings`` describe problems in words.
    ``log_likelihood`` is restricted for linear models. ``engine`` names the maximised likelihood.
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
        """Whether the estimates are valid."""
        return self.failure is None

    def effect(self, name: str) -> FixedEffect:
        """Return the fixed effect with this name."""
        for effect in self.fixed:
            if effect.name == name:
                return effect
        raise KeyError(name)

    def random_rows(self) -> list[dict[str, Any]]:
        """Return one row per random effect, the residual last."""
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
