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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.choices import ContrastKind
from gardenpath.eval.statistics.statistics_error import StatisticsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """The levels of a factor, in order, and how they are coded."""

    levels: tuple[str, ...]
    kind: ContrastKind = "treatment"

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

    def columns(self, values: Iterable[Any]) -> Floats:
        """The coded values of a column: one row per value, one column per coefficient."""
        return np.asarray(self.matrix[self._places(values)])

    def indicators(self, values: Iterable[Any]) -> Floats:
        """One column per level, 1 where a value is that level and 0 elsewhere."""
        return np.asarray(np.eye(len(self.levels))[self._places(values)])

    def _places(self, values: Iterable[Any]) -> list[int]:
        """The number of each value's level."""
        numbers = {level: number for number, level in enumerate(self.levels)}
        texts = [str(value) for value in values]
        if unknown := sorted(set(texts) - numbers.keys()):
            raise StatisticsError(f"not among the levels of the factor: {', '.join(unknown)}")
        return [numbers[text] for text in texts]


def coding_of(
    values: Iterable[Any], *, kind: ContrastKind, order: Sequence[str] = ()
) -> Coding | None:
    """The coding of the levels that are there, in the given order, others sorted after them.

    None if there are fewer than two, for then there is nothing to compare.
    """
    present = {str(value) for value in values}
    known = [level for level in order if level in present]
    levels = (*known, *sorted(present - set(known)))
    return Coding(levels=levels, kind=kind) if len(levels) > 1 else None
