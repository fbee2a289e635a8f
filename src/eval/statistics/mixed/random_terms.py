"""Removal of random effects that a table does not identify."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd

from gardenpath.eval.statistics.choices import Distribution
from gardenpath.eval.statistics.formulas.model_formula import INTERCEPT_TERM, RandomPart
from gardenpath.eval.statistics.formulas.model_formula_parser import parse_model_formula


def identifiable(
    formula: str, table: pd.DataFrame, *, family: Distribution
) -> tuple[str, list[str]]:
    """Return the formula with the random effects that can be estimated, and notes on the others.

    A grouping factor needs two levels. In a linear model, random effects that are as many as the
    rows are confounded with the residual; slopes are removed first.
    """
    parsed = parse_model_formula(formula)
    kept, notes = [], []
    for part in parsed.random:
        written = part.written()
        levels = table.groupby(list(part.group), sort=False, dropna=False).ngroups
        rows = len(table) if family == "gaussian" else np.inf
        if levels < 2:
            notes.append(f"{written} left out: only one level")
        elif levels >= rows:
            notes.append(f"{written} left out: only one row per level")
        elif _size(part, table) * levels >= rows:
            simple = RandomPart((INTERCEPT_TERM,), part.group)
            kept.append(simple)
            notes.append(f"{written} reduced to {simple.written()}: too few rows for slopes")
        else:
            kept.append(part)
    return str(dataclasses.replace(parsed, random=tuple(kept))), notes


def _size(part: RandomPart, table: pd.DataFrame) -> int:
    """Return the number of random effects (intercept and slopes) per level."""
    size = 0
    for term in part.terms:
        widths = [
            1 if pd.api.types.is_numeric_dtype(table[name]) else table[name].nunique() - 1
            for name in (variable.name for variable in term)
        ]
        size += int(np.prod(widths))
    return max(size, 1)
