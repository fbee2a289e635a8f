"""Precision weights of rows whose response has a standard error.

In two steps, as in a random-effects meta-analysis: a model without weights gives the residual
variance s²; a row with the standard error se then has the weight 1 / (s² + se²), scaled to a mean
of 1 over the rows of the model. Rows without a standard error count as exact.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.mixed_fit import RESIDUAL
from gardenpath.eval.statistics.mixed.mixed_model import fit_mixed
from gardenpath.eval.statistics.questions.analysis import RESPONSE_SE, WEIGHT, Analysis
from gardenpath.eval.statistics.questions.mixed_answer import model_of
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.store.tables import ERROR_COLUMNS


def precision_weights(standard_errors: Floats, residual_variance: float) -> Floats:
    """Return 1 / (s² + se²), scaled to a mean of 1; NaN counts as no error."""
    errors = np.nan_to_num(np.asarray(standard_errors, dtype=np.float64), nan=0.0)
    weights = 1.0 / (residual_variance + errors**2)
    return np.asarray(weights / weights.mean())


def with_weights(analysis: Analysis, data: pd.DataFrame) -> pd.DataFrame:
    """Add the weight of every row; it is missing in parts whose model cannot be fitted."""
    weights = np.full(len(data), np.nan)
    for places in _places(analysis, data):
        rows = data.iloc[places].reset_index(drop=True)
        try:
            variance = _residual_variance(analysis, rows)
        except StatisticsError:  # the analysis of this part says why
            continue
        weights[places] = precision_weights(rows[RESPONSE_SE].to_numpy(np.float64), variance)
    return data.assign(**{WEIGHT: weights})


def _places(analysis: Analysis, data: pd.DataFrame) -> Iterator[NDArray[np.intp]]:
    """Yield the positions of the rows of each part."""
    by = list(analysis.parts_by)
    if not by:
        yield np.arange(len(data))
        return
    yield from data.groupby(by, sort=True, observed=True).indices.values()


def _residual_variance(analysis: Analysis, rows: pd.DataFrame) -> float:
    """Return the residual variance of the model of an analysis without weights."""
    model = model_of(analysis, rows)
    fit = fit_mixed(model.formula, rows, family=analysis.family, codings=model.codings)
    return next(one.variance for one in fit.random if one.group == RESIDUAL)


def why_not_weighted(analysis: Analysis, table: pd.DataFrame | None) -> str:
    """Return why an analysis of a table cannot be weighted by search errors; empty if it can."""
    if analysis.test != "mixed" or analysis.family != "gaussian":
        return "only linear mixed models have weights"
    responses = analysis.responses or (analysis.measured,)
    lacking = [name for name in responses if name not in ERROR_COLUMNS]
    if lacking:
        return f"{', '.join(lacking)} has no standard error"
    columns = [ERROR_COLUMNS[name] for name in responses]
    if table is None or not all(
        name in table.columns and table[name].notna().any() for name in columns
    ):
        return "no standard error is known"
    return ""
