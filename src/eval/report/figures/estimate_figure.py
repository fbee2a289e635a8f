"""Figure of the estimates of an analysis with their intervals, one row each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from gardenpath.eval.display import BLUE, models_in_order
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures.panels import CHANCE_LINE
from gardenpath.eval.report.study import Shown
from gardenpath.store.tables import ESTIMATES

INTERCEPTS = ("(Intercept)", "Intercept", "1")
BETWEEN = " · "

AXIS_WIDTH = 2.9  # inches
ROW_HEIGHT = 0.23
LETTER = 0.07
PLAIN = (BLUE, "o")
# Intervals that extend this many times further than most others are cut.
TOO_FAR = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A row: label, estimate with its interval, and model."""

    label: str
    value: float
    low: float
    high: float
    model: str = ""

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0.0 or self.high < 0.0

    @property
    def in_numbers(self) -> str:
        """The estimate and its interval as text."""
        text = f"{_number(self.value)}  [{_number(self.low)}, {_number(self.high)}]"
        return text.replace("-", "\N{MINUS SIGN}")


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.2g}"


def estimate_rows(analysis: Shown) -> list[Estimate]:
    """Return every term that can be drawn.

    Intercepts are omitted if there are other terms: they say little and would dominate the scale.
    """
    rows = []
    tables = analysis.tables
    if "estimates" in tables:
        tables = {"estimates": tables["estimates"]}
    for name, table in tables.items():
        if not set(ESTIMATES.names) <= set(table.columns):
            continue
        for record in table.to_dict("records"):
            term = str(record["term"])
            label = term
            if len(tables) > 1:
                label = f"{name}: {term}" if len(table) > 1 else name
            value, low, high = (float(record[column]) for column in ESTIMATES.names[1:])
            model = str(record.get("model", ""))
            row = Estimate(label=label, value=value, low=low, high=high, model=model)
            if all(map(math.isfinite, (value, low, high))):
                rows.append((term, row))
    slopes = [row for term, row in rows if term not in INTERCEPTS]
    return _shortened(slopes or [row for _, row in rows])


def _shortened(rows: Sequence[Estimate]) -> list[Estimate]:
    """Remove parts that all labels share, such as a corpus or the name of the term."""
    parts = [row.label.split(BETWEEN) for row in rows]
    if len(rows) < 2 or len(set(map(len, parts))) > 1:
        return list(rows)
    differing = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    if not any(differing):
        return list(rows)
    labels = [
        BETWEEN.join(part for part, differs in zip(one, differing, strict=True) if differs)
        for one in parts
    ]
    return [replace(row, label=label) for row, label in zip(rows, labels, strict=True)]


def estimates(analysis: Shown) -> style.ReportFigure:
    """Draw the estimates of an analysis with their intervals, one row per term, in groups."""
    rows = estimate_rows(analysis)
    places = _places(rows)
    left = 0.2 + LETTER * max(len(row.label) for row in rows)
    right = 0.3 + LETTER * max(len(row.in_numbers) for row in rows)
    top, bottom = 0.1, 0.5
    width = max(left + AXIS_WIDTH + right, style.MIN_WIDTH)
    height = top + ROW_HEIGHT * (places[-1] + 1.2) + bottom
    figure = style.empty(width, height)
    axis = figure.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height)
    )
    _draw(axis, rows, places)
    axis.set_yticks(places, [style.figure_label(row.label) for row in rows])
    axis.set_ylim(places[-1] + 0.6, -0.6)
    axis.grid(False, axis="y")
    figure.numbers = pd.DataFrame([asdict(row) for row in rows])
    return figure


def _places(rows: Sequence[Estimate]) -> list[float]:
    """Return the position of every row, with a gap where the first part of the label changes."""
    heads = [row.label.split(BETWEEN)[0] for row in rows]
    has_groups = len(set(heads)) < len(heads) and len(set(heads)) > 1
    places, place = [0.0], 0.0
    for before, head in itertools.pairwise(heads):
        place += 1.5 if has_groups and head != before else 1.0
        places.append(place)
    return places


def _draw(axis: Axes, rows: Sequence[Estimate], places: Sequence[float]) -> None:
    styles = style.model_styles(models_in_order([row.model for row in rows if row.model]))
    low, high = _limits(rows)
    axis.axvline(0.0, **CHANCE_LINE, zorder=1)
    looks = [(*styles.get(row.model, PLAIN), row.is_clear) for row in rows]
    for look in dict.fromkeys(looks):
        colour, mark, is_clear = look
        same = [(row, y) for row, y, own in zip(rows, places, looks, strict=True) if own == look]
        ys = [y for _, y in same]
        axis.hlines(
            ys, [row.low for row, _ in same], [row.high for row, _ in same], color=colour,
            linewidth=1.6,
        )  # fmt: skip
        # Filled marker: the interval excludes zero; hollow: it includes zero.
        face = colour if is_clear else style.PAPER
        axis.plot([row.value for row, _ in same], ys, mark, color=colour, markerfacecolor=face)
        for end, sign, beyond in (
            (low, "<", [y for row, y in same if row.low < low]),
            (high, ">", [y for row, y in same if row.high > high]),
        ):
            axis.plot([end] * len(beyond), beyond, sign, color=colour, markersize=4, clip_on=False)
    beside = axis.get_yaxis_transform()
    for row, place in zip(rows, places, strict=True):
        axis.text(1.03, place, row.in_numbers, transform=beside, va="center", fontsize=8.5)
    axis.set_xlim(low, high)
    is_cut = any(row.low < low or row.high > high for row in rows)
    goes_on = "; arrows: interval continues" if is_cut else ""
    axis.set_xlabel(f"estimate, 95 % interval (hollow: includes zero{goes_on})")


def _limits(rows: Sequence[Estimate]) -> tuple[float, float]:
    """Return the limits of the axis: all intervals and zero, without extreme intervals."""
    ends = np.array([[row.low, row.high] for row in rows])
    usual = TOO_FAR * float(np.quantile(np.abs(ends).max(axis=1), 0.75))
    low, high = min(ends.min(), 0.0), max(ends.max(), 0.0)
    low, high = max(low, -usual), min(high, usual)
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin
