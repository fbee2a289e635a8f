"""How the levels of a factor become numbers.

With *treatment* coding a coefficient is the difference between a level and the first one; with
*sum* coding it is the difference between a level and the mean of all levels, and the intercept is
that mean. The running example is the factor ``modifier`` with the levels none, adjective and rc::

    treatment   adjective  rc        sum         none  adjective
    none                0   0        none           1          0
    adjective           1   0        adjective      0          1
    rc                  0   1        rc            -1         -1
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats as Floats
from gardenpath.errors import GardenpathError

Kind = Literal["treatment", "sum"]


class StatisticsError(GardenpathError):
    """A table does not have what a model is to be fitted to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """The levels of a factor, in order, and how they are coded."""

    levels: tuple[str, ...]
    kind: Kind = "treatment"

    def __post_init__(self) -> None:
        if len(self.levels) < 2 or len(set(self.levels)) != len(self.levels):
            raise StatisticsError(
                f"a factor needs at least two different levels, not {', '.join(self.levels)!r}"
            )

    @property
    def matrix(self) -> Floats:
        """One row per level, one column per coefficient."""
        count = len(self.levels)
        if self.kind == "treatment":
            return np.eye(count)[:, 1:]
        return np.vstack([np.eye(count - 1), -np.ones(count - 1)])

    @property
    def names(self) -> tuple[str, ...]:
        """The level that each column of the matrix speaks of."""
        return self.levels[1:] if self.kind == "treatment" else self.levels[:-1]

    def columns(self, values: Sequence[Any]) -> Floats:
        """The coded values of a column: one row per value, one column per coefficient."""
        places = {level: number for number, level in enumerate(self.levels)}
        if unknown := sorted({str(value) for value in values} - places.keys()):
            raise StatisticsError(f"not among the levels of the factor: {', '.join(unknown)}")
        return np.asarray(self.matrix[[places[str(value)] for value in values]])


def code_factors(
    table: pd.DataFrame, codings: Mapping[str, Coding]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table with its factors as ordered categories, and their contrast matrices."""
    coded = table.copy()
    for name, coding in codings.items():
        present = {str(value) for value in table[name]}
        if unknown := sorted(present - set(coding.levels)):
            raise StatisticsError(f"not among the levels of {name}: {', '.join(unknown)}")
        coded[name] = pd.Categorical(table[name].astype(str), categories=list(coding.levels))
    return coded, {name: coding.matrix for name, coding in codings.items()}


def coding_of(values: Iterable[Any], *, kind: Kind, order: Sequence[str] = ()) -> Coding | None:
    """The coding of the levels that are there, in the given order, others sorted after them.

    None if there are fewer than two, for then there is nothing to compare.
    """
    present = {str(value) for value in values}
    known = [level for level in order if level in present]
    levels = (*known, *sorted(present - set(known)))
    return Coding(levels=levels, kind=kind) if len(levels) > 1 else None


def readable_name(name: str, codings: Mapping[str, Coding]) -> str:
    """``modifier.1:syntax``, as columns of coded factors are numbered, with the level's name."""
    return ":".join(_readable_part(part, codings) for part in name.split(":"))


def _readable_part(part: str, codings: Mapping[str, Coding]) -> str:
    factor, dot, number = part.rpartition(".")
    if not dot or factor not in codings or not number.isdigit():
        return part
    return f"{factor}[{codings[factor].names[int(number) - 1]}]"
