"""Model matrices from the terms of a formula, as in R's ``model.matrix``.

A numeric variable has one column, a factor the columns of its coding, and an interaction all
products of its variables' columns, those of the first variable changing fastest. A factor is coded
by contrasts if the rest of its term is contained in a preceding term. Otherwise contrasts would not
span all of its levels, and the factor has one indicator per level. Without an intercept, the first
factor has indicators too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.formulas.coding import Coding, coding_of
from gardenpath.eval.statistics.formulas.model_formula import INTERCEPT_TERM, ModelTerm, Variable
from gardenpath.eval.statistics.statistics_error import StatisticsError

INTERCEPT = "(Intercept)"


@dataclass(frozen=True, slots=True)
class ModelMatrix:
    """Columns of numbers, (rows, columns), and their names."""

    values: Floats
    names: tuple[str, ...]

    def times(self, other: ModelMatrix) -> ModelMatrix:
        """Return all products of columns, those of this matrix changing fastest."""
        products = other.values[:, :, None] * self.values[:, None, :]
        names = [f"{one}:{two}" for two in other.names for one in self.names]
        return ModelMatrix(products.reshape(len(products), -1), tuple(names))


def model_matrix(
    terms: Sequence[ModelTerm], table: pd.DataFrame, codings: Mapping[str, Coding]
) -> ModelMatrix:
    """Return the columns of all terms; ``codings`` must contain every factor."""
    blocks = [ModelMatrix(np.zeros((len(table), 0)), ())]
    for place, term in enumerate(terms):
        block = ModelMatrix(np.ones((len(table), 1)), (INTERCEPT,))
        for number, variable in enumerate(term):
            is_whole = _needs_all_levels(terms, place, variable, codings)
            columns = _columns(variable, table, codings, is_whole=is_whole)
            block = columns if number == 0 else block.times(columns)
        blocks.append(block)
    values = np.hstack([block.values for block in blocks])
    return ModelMatrix(values, tuple(name for block in blocks for name in block.names))


def with_all_codings(
    names: Sequence[str], table: pd.DataFrame, codings: Mapping[str, Coding]
) -> dict[str, Coding]:
    """Add treatment coding, with sorted levels, for text columns without a coding."""
    found = dict(codings)
    for name in names:
        if name not in found and not pd.api.types.is_numeric_dtype(table[name]):
            coding = coding_of(table[name], kind="treatment")
            if coding is None:
                raise StatisticsError(f"{name} has only one value, {table[name].iloc[0]}")
            found[name] = coding
    return found


def _needs_all_levels(
    terms: Sequence[ModelTerm], place: int, variable: Variable, codings: Mapping[str, Coding]
) -> bool:
    """Whether a factor needs one indicator per level in the term at ``place``."""
    if variable.name not in codings:
        return False
    if INTERCEPT_TERM not in terms:
        factors = [(n, v) for n, term in enumerate(terms) for v in term if v.name in codings]
        if factors[0] == (place, variable):
            return True
    rest = set(terms[place]) - {variable}
    return bool(rest) and not any(rest <= set(term) for term in terms[:place])


def _columns(
    variable: Variable, table: pd.DataFrame, codings: Mapping[str, Coding], *, is_whole: bool
) -> ModelMatrix:
    """Return the columns of one variable."""
    name = variable.name
    if name not in codings:
        column = table[name].to_numpy(dtype=np.float64) ** variable.power
        return ModelMatrix(column[:, None], (variable.written(str),))
    if variable.power != 1:
        raise StatisticsError(
            f"{name} is a factor and cannot be raised to the power {variable.power}"
        )
    coding = codings[name]
    try:
        values = coding.indicators(table[name]) if is_whole else coding.columns(table[name])
    except StatisticsError as error:
        raise StatisticsError(f"{name}: {error}") from error
    levels = coding.levels if is_whole else coding.names
    return ModelMatrix(values, tuple(f"{name}[{level}]" for level in levels))
