"""Ranges of settings, written as types: ``dropout: Fraction`` is a number in [0, 1).

The settings check reads these annotations, so that an out-of-range value is reported together with
all other mistakes, before any data is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal


@dataclass(frozen=True, slots=True)
class Bounds:
    """A closed lower bound and an optional upper bound, open or closed."""

    low: float
    high: float = float("inf")
    high_is_open: bool = False

    def allow(self, value: float) -> bool:
        """Whether a value is within the bounds."""
        below = value < self.high if self.high_is_open else value <= self.high
        return self.low <= value and below

    def __str__(self) -> str:
        if self.high == float("inf"):
            return f"at least {self.low:.15g}"
        return f"in [{self.low:.15g}, {self.high:.15g}{')' if self.high_is_open else ']'}"


PositiveInt = Annotated[int, Bounds(1)]
NonNegativeInt = Annotated[int, Bounds(0)]
Seed = Annotated[int, Bounds(0, 2**32 - 1)]  # the range that NumPy accepts
NonNegativeFloat = Annotated[float, Bounds(0.0)]
Fraction = Annotated[float, Bounds(0.0, 1.0, high_is_open=True)]
Share = Annotated[float, Bounds(0.0, 1.0)]
PositiveFloat = Annotated[float, Bounds(1e-6)]

# Processes of one thread each that share the sentences of a task; ``auto`` lets the work decide.
ProcessCount = PositiveInt | Literal["auto"]
