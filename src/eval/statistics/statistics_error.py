"""The error of statistics that a table does not allow."""

from __future__ import annotations

from gardenpath.errors import GardenpathError


class StatisticsError(GardenpathError):
    """A formula cannot be read, or a table lacks what a test or a model needs."""
