"""Fixed effects with tests and intervals, and random effects, of a fitted mixed model."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.design_matrix import Design
from gardenpath.eval.statistics.mixed.mixed_fit import CONFIDENCE, FixedEffect, RandomEffect

_FEW_LEVELS = 5


def fixed_effects(
    design: Design, estimates: Floats, errors: Floats, freedom: Floats | None
) -> tuple[FixedEffect, ...]:
    """Return coefficients with z tests, or with t tests if degrees of freedom are given."""
    effects = []
    for number, name in enumerate(design.names):
        estimate, error = float(estimates[number]), float(errors[number])
        df = None if freedom is None else float(freedom[number])
        statistic = estimate / error if error > 0 else math.nan
        reach = error * float(
            ndtri(0.5 + CONFIDENCE / 2.0) if df is None else stdtrit(df, 0.5 + CONFIDENCE / 2.0)
        )
        tail = float(ndtr(-abs(statistic)) if df is None else stdtr(df, -abs(statistic)))
        effects.append(
            FixedEffect(
                name=name,
                estimate=estimate,
                standard_error=error,
                statistic=statistic,
                df=df,
                p=2.0 * tail,
                low=estimate - reach,
                high=estimate + reach,
            )
        )
    return tuple(effects)


def random_effects(design: Design, theta: Floats, scale: float) -> tuple[RandomEffect, ...]:
    """Return variances, multiplied by ``scale``, and correlations of all random terms."""
    effects = []
    for term, covariance in design.covariances(theta):
        deviations = np.sqrt(np.diag(covariance))
        for row, name in enumerate(term.names):
            products = np.maximum(deviations[row] * deviations[:row], 1e-300)
            correlations = covariance[row, :row] / products
            effects.append(
                RandomEffect(
                    group=term.group,
                    name=name,
                    variance=float(covariance[row, row] * scale),
                    correlations=tuple(float(value) for value in correlations),
                )
            )
    return tuple(effects)


def named_theta(design: Design, theta: Floats) -> dict[str, float]:
    """Return θ by the names of lme4's ``getME(model, "theta")``."""
    places = [
        (term.group, term.names[row], term.names[column])
        for term in design.terms
        for row, column in term.places
    ]
    names = [f"{g}.{row}" if row == column else f"{g}.{row}.{column}" for g, row, column in places]
    return dict(zip(names, map(float, theta), strict=True))


def group_levels(design: Design) -> dict[str, int]:
    """Return the number of levels of each grouping factor."""
    return {term.group: term.levels for term in design.terms}


def remarks(design: Design) -> list[str]:
    """Return warnings that hold for every model with this design."""
    few = [f"{name} ({n})" for name, n in group_levels(design).items() if n < _FEW_LEVELS]
    poorly = f"few levels, so variance estimates are imprecise: {', '.join(few)}"
    return [*design.notes, *([poorly] if few else [])]
