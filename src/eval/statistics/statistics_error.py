"""The error raised if a statistic cannot be computed."""

from __future__ import annotations

from gardenpath.errors import GardenpathError


class StatisticsError(GardenpathError):
    """A formula is invalid, or a table lacks the data that a test or model needs."""
