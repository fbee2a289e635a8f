"""From the terms of a formula to columns of numbers, as R's ``model.matrix`` makes them.

A numeric variable is one column, a factor the columns of its coding, an interaction all products
of its variables' columns, those of the first variable changing fastest. A factor is coded by
contrasts where the rest of its term is part of a term before it. Otherwise its columns would not
span all of its levels, and each level has a column of its own. Without an intercept the same holds
for the first factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.mixed.coding import Coding, coding_of
from gardenpath.eval.statistics.mixed.model_formula import INTERCEPT_TERM, ModelTerm, Variable
from gardenpath.eval.statistics.statistics_error import StatisticsError

INTERCEPT = "(Intercept)"


@dataclass(frozen=True, slots=True)
class ModelMatrix:
    """Columns of numbers, (rows, columns), and their names."""

    values: Floats
    names: tuple[str, ...]

    def times(self, other: ModelMatrix) -> ModelMatrix:
        """All products of columns, those of this matrix changing fastest."""
        products = other.values[:, :, None] * self.values[:, None, :]
        names = [f"{one}:{two}" for two in other.names for one in self.names]
        return ModelMatrix(products.reshape(len(products), -1), tuple(names))


def model_matrix(
    terms: Sequence[ModelTerm], table: pd.DataFrame, codings: Mapping[str, Coding]
) -> ModelMatrix:
    """The columns of all terms; ``codings`` are of all factors among their variables."""
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
    """The codings, and treatment coding for other columns of texts, their levels sorted."""
    found = dict(codings)
    for name in names:
        if name not in found and not pd.api.types.is_numeric_dtype(table[name]):
            coding = coding_of(table[name], kind="treatment")
            if coding is None:
                raise StatisticsError(f"only one value of {name}, {table[name].iloc[0]}")
            found[name] = coding
    return found


def _needs_all_levels(
    terms: Sequence[ModelTerm], place: int, variable: Variable, codings: Mapping[str, Coding]
) -> bool:
    """Whether a factor needs a column for each level in the term at a place."""
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
    """The columns of one variable."""
    name = variable.name
    if name not in codings:
        column = table[name].to_numpy(dtype=np.float64) ** variable.power
        return ModelMatrix(column[:, None], (variable.written(str),))
    if variable.power != 1:
        raise StatisticsError(f"{name} is a factor, which has no power {variable.power}")
    coding = codings[name]
    try:
        values = coding.indicators(table[name]) if is_whole else coding.columns(table[name])
    except StatisticsError as error:
        raise StatisticsError(f"{name}: {error}") from error
    levels = coding.levels if is_whole else coding.names
    return ModelMatrix(values, tuple(f"{name}[{level}]" for level in levels))
