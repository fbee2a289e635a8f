"""Standardised effect sizes with 95 % intervals.

- *Cohen's d_z* of a t test: the mean divided by the standard deviation. Its interval comes from the
  noncentral t distribution: its ends are the sizes at which the observed t would be the 2.5 % or
  97.5 % quantile.
- *Odds ratio* of a coefficient of a binomial model: exp(b), with the ends of the interval of b.
- *Cohen's d* of a coefficient of a linear mixed model (Westfall, Kenny and Judd 2014): b divided by
  the standard deviation of single responses given the fixed effects, from all random effects and
  the residual. The ends of the interval of b are divided by the same deviation, as if known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import nctdtr

from gardenpath.eval.statistics.inference.intervals import LEVEL, TTest


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSize:
    """A standardised effect with its confidence interval; ``kind`` is the name of the measure."""

    kind: str
    value: float
    low: float
    high: float


def cohens_dz(test: TTest, level: float = LEVEL) -> EffectSize:
    """Return the effect size of a one-sample or paired t test."""
    root = math.sqrt(test.n)
    low, high = (
        _noncentrality(test.statistic, test.df, share) / root
        for share in ((1.0 + level) / 2.0, (1.0 - level) / 2.0)
    )
    return EffectSize(kind="Cohen's d_z", value=test.statistic / root, low=low, high=high)


def _noncentrality(statistic: float, df: float, share: float) -> float:
    """Return the noncentrality for which ``statistic`` is the quantile of ``share``."""
    if statistic < 0.0:  # the distribution function is accurate for positive t
        return -_noncentrality(-statistic, df, 1.0 - share)
    # The root is about two standard deviations from t. Further away, the distribution function
    # can be undefined for numerical reasons, so the bracket grows step by step.
    step = math.sqrt(1.0 + statistic**2 / (2.0 * df)) * (-1.0 if share > 0.5 else 1.0)

    def excess(noncentrality: float) -> float:
        return float(nctdtr(df, noncentrality, statistic)) - share

    start = excess(statistic)
    for steps in range(1, 9):
        end = statistic + steps * step
        if excess(end) * start <= 0.0:
            return float(brentq(excess, statistic, end, xtol=1e-10))
    return math.nan


def odds_ratio(estimate: float, low: float, high: float) -> EffectSize:
    """Return the effect size of a coefficient of a binomial model."""
    return EffectSize(kind="odds ratio", value=_exp(estimate), low=_exp(low), high=_exp(high))


def _exp(value: float) -> float:
    return math.exp(min(value, 700.0))


def cohens_d(estimate: float, low: float, high: float, deviation: float) -> EffectSize:
    """Return the effect size of a coefficient of a linear model; ``deviation`` of responses."""
    return EffectSize(
        kind="Cohen's d", value=estimate / deviation, low=low / deviation, high=high / deviation
    )
