"""Means with intervals, and the cells made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from gardenpath.eval.studies.study_parts import StudyCell

# Half-width of a 95 % interval in standard errors (normal approximation).
Z = 1.96

_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))

_RUN = ["model", "corpus", "seed", "run"]


def stars(p: float) -> str:
    """Return the significance stars of a p value."""
    return next((mark for limit, mark in _STARS if p <= limit), "")


def mean_cell(values: Sequence[float] | pd.Series, **keys: Any) -> StudyCell:
    """Return a cell with the mean of the values and 1.96·SD/√n around it; NaN values are left out.

    ``keys`` are further fields of the cell: source, row, column and so on.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        return StudyCell(n=0, **keys)
    mean = float(known.mean())
    reach = Z * float(known.std(ddof=1)) / math.sqrt(len(known)) if len(known) > 1 else math.nan
    return StudyCell(value=mean, low=mean - reach, high=mean + reach, n=len(known), **keys)


def suite_accuracies(items: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy of every run on every suite: the mean over predictions and items."""
    keys = [*_RUN, "class", "modifier"]
    per_item = items.groupby([*keys, "suite", "item"], dropna=False, sort=False)["outcome"].mean()
    found = per_item.groupby(keys, dropna=False, sort=False).mean()
    return found.rename("accuracy").reset_index()


def short_count(count: int) -> str:
    """Return a count as papers print it: 974K, 7M."""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.0f}M"
    return f"{count / 1_000:.0f}K" if count >= 1_000 else str(count)
