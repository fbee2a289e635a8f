"""Which random effects of a formula a table can tell anything about."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
from mixedlm import parse_formula

from gardenpath.eval.statistics.mixed.mixed_fit import Family


def identifiable(formula: str, table: pd.DataFrame, *, family: Family) -> tuple[str, list[str]]:
    """The formula with only those random effects that can be estimated, and what was left out.

    A grouping factor needs two levels. In a linear model an effect with as many levels as there are
    rows cannot be told from the residual; slopes that make it so go first.
    """
    parsed = parse_formula(formula)
    kept, notes = [], []
    for term in parsed.random:
        written = _written(term)
        levels = table.groupby(list(term.grouping_factors), sort=False, dropna=False).ngroups
        rows = len(table) if family == "gaussian" else np.inf
        if levels < 2:
            notes.append(f"{written} left out: only one level")
        elif levels >= rows:
            notes.append(f"{written} left out: no level has two rows")
        elif _size(term, table) * levels >= rows:
            simple = dataclasses.replace(term, expr=(), has_intercept=True)
            kept.append(simple)
            notes.append(f"{written} reduced to {_written(simple)}: too few rows for slopes")
        else:
            kept.append(term)
    return str(dataclasses.replace(parsed, random=tuple(kept))), notes


def _size(term: Any, table: pd.DataFrame) -> int:
    """The number of effects that a term has at each level: its intercept and slopes."""
    size = int(term.has_intercept)
    for part in term.expr:
        names = getattr(part, "source_variables", None) or (getattr(part, "name", None),)
        columns = [name for name in names if name is not None]
        widths = [
            1 if pd.api.types.is_numeric_dtype(table[name]) else table[name].nunique() - 1
            for name in columns
        ]
        size += int(np.prod(widths)) if columns else 0
    return max(size, 1)


def _written(term: Any) -> str:
    """The term as formulas have it."""
    return str(dataclasses.replace(_EMPTY, random=(term,))).removeprefix("y ~ 1 + ")


_EMPTY = parse_formula("y ~ 1")
