"""Results of a fitted mixed model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Literal

from gardenpath.eval.statistics.choices import Distribution

# Level of all intervals.
CONFIDENCE = 0.95

# The likelihood that is maximised: Laplace approximation, or profiled restricted likelihood.
Engine = Literal["laplace", "profiled"]
# Why estimates are invalid. Separation: predictors separate right from wrong outcomes. Divergence:
# estimates diverge for another reason.
FitFailure = Literal["separation", "divergence", "no convergence"]

RESIDUAL = "Residual"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedEffect:
    """A coefficient with a t test, or with a z test if ``df`` is None.

    Degrees of freedom are Satterthwaite's (residual ones without random effects).
    """

    name: str
    estimate: float
    standard_error: float
    statistic: float
    df: float | None
    p: float
    low: float
    high: float

    @property
    def p_normal(self) -> float:
        """The p value of a z test: the normal approximation of a t test."""
        return math.erfc(abs(self.statistic) / math.sqrt(2.0))

    def with_normal_test(self) -> FixedEffect:
        """Return the same coefficient with the p value and the interval of a z test."""
        reach = self.standard_error * NormalDist().inv_cdf(0.5 + CONFIDENCE / 2.0)
        return dataclasses.replace(
            self, p=self.p_normal, low=self.estimate - reach, high=self.estimate + reach
        )


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
    ``theta`` are the relative Cholesky factors of the random effects, named as in lme4.
    ``total_deviation`` is the standard deviation of single responses of a linear model given its
    fixed effects. ``lme4`` are the fixed effects that lme4 has with its default settings, if they
    were asked for.
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
    theta: Mapping[str, float] = field(default_factory=dict)
    total_deviation: float = math.nan
    lme4: tuple[FixedEffect, ...] = ()

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
