"""Marks of near ties: a zigzag over the accuracies they could make, and hollow means in bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.path import Path as MarkerPath

from gardenpath.eval.display import EXACT
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.near_ties import IF_RIGHT, IF_WRONG, MOSTLY_NEAR, NEAR_SHARE

ZIGZAG: dict[str, Any] = {"linewidth": 0.9, "zorder": 1.4}
RANGE_LABEL = "near ties as wrong … as right"
MEAN_LABEL = "hollow: half or more near ties"

_STEP = 0.018  # of the axis of accuracies
_MARK = MarkerPath([(-2.0, -0.5), (-1.0, 0.5), (0.0, -0.5), (1.0, 0.5), (2.0, -0.5)])


def draw_near_range(axis: Axes, row: Mapping[str, Any], *, place: float, colour: str) -> None:
    """Draw a zigzag from the accuracy with near ties as wrong to that with near ties as right."""
    low, high = row.get(IF_WRONG, np.nan), row.get(IF_RIGHT, np.nan)
    if not high - low > 1e-9:
        return
    along = np.linspace(low, high, 2 * max(1, round((high - low) / (2 * _STEP))) + 1)
    across = place + 0.13 * np.where(np.arange(len(along)) % 2, 1.0, -1.0)
    axis.plot(along, across, color=colour, **ZIGZAG)


def is_mostly_near(row: Mapping[str, Any]) -> bool:
    """Whether half or more of the values of a mean are near ties."""
    return bool(row.get(NEAR_SHARE, 0.0) >= MOSTLY_NEAR)


def near_handles(table: pd.DataFrame) -> Iterator[Line2D]:
    """Yield the entries of the legend for the marks that a table of means leads to."""
    models = table[table["model"] != EXACT]
    if IF_RIGHT in table.columns and (models[IF_RIGHT] - models[IF_WRONG] > 1e-9).any():
        yield Line2D(
            [], [], color=style.MUTED, marker=_MARK, markersize=18, fillstyle="none", ls="none",
            label=RANGE_LABEL,
        )  # fmt: skip
    if NEAR_SHARE in table.columns and (models[NEAR_SHARE] >= MOSTLY_NEAR).any():
        yield Line2D(
            [], [], color=style.MUTED, marker="o", ls="none", markerfacecolor=style.PAPER,
            label=MEAN_LABEL,
        )  # fmt: skip
