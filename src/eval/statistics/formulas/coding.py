"""Contrast coding of factors.

With *treatment* coding a coefficient is the difference between a level and the first level. With
*sum* coding it is the difference between a level and the mean of all levels, and the intercept is
that mean. For example, the factor ``modifier`` with the levels none, adjective and rc::

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
    """The ordered levels of a factor and the kind of their contrasts."""

    levels: tuple[str, ...]
    kind: ContrastKind = "treatment"

    def __post_init__(self) -> None:
        if len(self.levels) < 2 or len(set(self.levels)) != len(self.levels):
            raise StatisticsError(
                f"a factor needs at least two different levels, not {', '.join(self.levels)!r}"
            )

    @property
    def matrix(self) -> Floats:
        """Contrast matrix, (levels, coefficients)."""
        count = len(self.levels)
        if self.kind == "treatment":
            return np.eye(count)[:, 1:]
        return np.vstack([np.eye(count - 1), -np.ones(count - 1)])

    @property
    def names(self) -> tuple[str, ...]:
        """The level to which each column of the matrix belongs."""
        return self.levels[1:] if self.kind == "treatment" else self.levels[:-1]

    def columns(self, values: Iterable[Any]) -> Floats:
        """Return the contrast-coded values, (values, coefficients)."""
        return np.asarray(self.matrix[self._places(values)])

    def indicators(self, values: Iterable[Any]) -> Floats:
        """Return one indicator (0 or 1) per level, (values, levels)."""
        return np.asarray(np.eye(len(self.levels))[self._places(values)])

    def _places(self, values: Iterable[Any]) -> list[int]:
        """Return the index of each value's level."""
        numbers = {level: number for number, level in enumerate(self.levels)}
        texts = [str(value) for value in values]
        if unknown := sorted(set(texts) - numbers.keys()):
            raise StatisticsError(f"not among the levels of the factor: {', '.join(unknown)}")
        return [numbers[text] for text in texts]


def coding_of(
    values: Iterable[Any], *, kind: ContrastKind, order: Sequence[str] = ()
) -> Coding | None:
    """Code the levels that occur: those in ``order`` first, then all others, sorted.

    Return None if there are fewer than two levels, because there is nothing to compare.
    """
    present = {str(value) for value in values}
    known = [level for level in order if level in present]
    levels = (*known, *sorted(present - set(known)))
    return Coding(levels=levels, kind=kind) if len(levels) > 1 else None
