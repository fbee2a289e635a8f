"""Surprisal by word: the variants of an item, with the critical region marked.

Variants are aligned by region, so corresponding words are at the same position in the figure; the
words are written below, in the colours of the lines.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from gardenpath.eval.display import models_in_order
from gardenpath.eval.means import NORMAL
from gardenpath.eval.report.content import Study
from gardenpath.eval.report.figures import style
from gardenpath.store.tables import SURPRISAL_SE

PAGE_WIDTH = 10.6  # inches
PANEL_HEIGHT = 0.85
GAP = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantLine:
    """One variant: its words and their positions in the figure."""

    label: str
    condition: str
    variant: object
    places: Mapping[int, int]  # word_id → position
    words: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """The aligned variants of an item; ``critical`` are the ranges of positions to mark."""

    lines: Sequence[VariantLine]
    size: int
    critical: Sequence[tuple[int, int]]


def align(rows: pd.DataFrame, critical: Sequence[str]) -> Alignment:
    """Align the variants of an item; ``rows`` are those of a single run."""
    variants = list(rows.groupby(["condition", "variant"], sort=False))
    regions = _region_order([list(dict.fromkeys(part["region"])) for _, part in variants])
    widths = {
        region: max(int((part["region"] == region).sum()) for _, part in variants)
        for region in regions
    }
    starts: dict[object, int] = {}
    place = 0
    for region in regions:
        starts[region] = place
        place += widths[region]
    several = rows.groupby("condition", sort=False)["variant"].nunique()
    lines = []
    for (condition, variant), part in variants:
        within = part.groupby("region", sort=False).cumcount()
        places = part["region"].map(starts) + within
        ids = part["word_id"].tolist()
        lines.append(
            VariantLine(
                label=f"{condition} {variant}" if several[condition] > 1 else str(condition),
                condition=str(condition),
                variant=variant,
                places=dict(zip(ids, places.tolist(), strict=True)),
                words=dict(zip(ids, part["word"].astype(str).tolist(), strict=True)),
            )
        )
    marked = [(starts[one], starts[one] + widths[one]) for one in regions if str(one) in critical]
    return Alignment(lines=lines, size=place, critical=marked)


def _region_order(sequences: Sequence[Sequence[object]]) -> list[object]:
    """Merge the regions of all variants; a region that some lack follows its neighbour."""
    order: list[object] = []
    for sequence in sequences:
        place = 0
        for region in sequence:
            if region in order:
                place = order.index(region) + 1
            else:
                order.insert(place, region)
                place += 1
    return order


def width_of(word: str) -> float:
    """Return the width of a word in half-width characters."""
    return sum(2.0 if unicodedata.east_asian_width(letter) in "WF" else 1.0 for letter in word)


def surprisal_figure(
    study: Study, *, suite: str, item: int | str, corpus: str
) -> style.ReportFigure:
    """Draw an item: one panel per model, with the words of all variants below each column."""
    table = study.surprisals
    chosen = (table["suite"] == suite) & (table["item"] == item) & (table["corpus"] == corpus)
    table = table[chosen]
    first = table[table["run"] == table["run"].iloc[0]]
    alignment = align(first, study.critical.get(suite, ()))
    models = models_in_order(table["model"])
    bits = table["surprisal_bits"].to_numpy(dtype=np.float64)
    finite = bits[np.isfinite(bits)]
    grid = Grid.of(alignment, len(models), top=max(finite.max(initial=0.0) * 1.2, 1.0))
    figure = style.empty(grid.width, grid.height)
    axis = _sheet(figure)
    keys = ["model", "condition", "variant", "word_id"]
    means = table.groupby(keys, sort=False)["surprisal_bits"].mean().to_dict()
    reaches = _search_reaches(table, keys)
    for place, model in enumerate(models):
        left, base = grid.corner(place)
        _frame(
            axis, grid, left, base, title=style.figure_label(model), is_first=grid.is_first(place)
        )
        _mark(axis, grid, left, base, alignment.critical)
        for number, line in enumerate(alignment.lines):
            words = [(model, line.condition, line.variant, word) for word in line.places]
            values = [(means.get(word), reaches.get(word, 0.0)) for word in words]
            _draw_line(axis, grid, left, base, number, line, values)
        if grid.is_last(place):
            _write_words(axis, grid, left, base, alignment, with_labels=grid.is_first(place))
    figure.numbers = _numbers(table, [*keys, "region", "word"], reaches)
    return figure


def _numbers(table: pd.DataFrame, keys: list[str], reaches: Mapping[Any, float]) -> pd.DataFrame:
    """Return the mean surprisal of each word, and half the interval of its search error."""
    means = table.groupby(keys, sort=False)["surprisal_bits"].mean().reset_index()
    if not reaches:
        return means
    words = means[keys[:4]].itertuples(index=False, name=None)
    return means.assign(search_error_95=[reaches.get(word) for word in words])


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The positions of the panels, in inches from the lower left corner of the figure.

    There are as many columns as fit on the page, and every column has space for words at its foot.
    ``unit`` is the width of a word, ``top`` the surprisal (bits) at the upper edge of a panel.
    """

    count: int
    columns: int
    size: int
    unit: float
    margin: float
    between: float
    foot: float
    top: float

    @classmethod
    def of(cls, alignment: Alignment, count: int, *, top: float) -> Grid:
        """Return the grid for ``count`` panels."""
        widest = max(width_of(word) for line in alignment.lines for word in line.words.values())
        unit = max(0.4, 0.075 * widest + 0.1)
        # The names of conditions are left of the words in the first column.
        margin = 0.5 + 0.075 * max(len(line.label) for line in alignment.lines)
        fitting = int((PAGE_WIDTH - margin) // (unit * alignment.size + GAP))
        columns = style.balanced(count, fitting)
        foot = 0.15 + 0.2 * len(alignment.lines)
        # The last row may be shorter: columns without a panel there have their words one row above.
        between = 0.42 if count % columns == 0 else max(0.42, foot + 0.25)
        return cls(
            count=count, columns=columns, size=alignment.size, unit=unit, margin=margin,
            between=between, foot=foot, top=top,
        )  # fmt: skip

    @property
    def panel(self) -> float:
        """The width of a panel."""
        return self.unit * self.size

    @property
    def width(self) -> float:
        """The width of the figure."""
        return self.margin + self.columns * (self.panel + GAP) - GAP + 0.15

    @property
    def height(self) -> float:
        """The height of the figure."""
        rows = -(-self.count // self.columns)
        return rows * (PANEL_HEIGHT + self.between) - self.between + self.foot + 0.35

    def corner(self, place: int) -> tuple[float, float]:
        """Return the lower left corner of a panel."""
        row, column = divmod(place, self.columns)
        above = 0.3 + PANEL_HEIGHT + row * (PANEL_HEIGHT + self.between)
        return self.margin + column * (self.panel + GAP), self.height - above

    def is_first(self, place: int) -> bool:
        """Whether a panel is the first of its row."""
        return place % self.columns == 0

    def is_last(self, place: int) -> bool:
        """Whether a panel is the last of its column."""
        return place + self.columns >= self.count

    def x(self, left: float, place: float) -> float:
        """Return the horizontal position of a word."""
        return left + (place + 0.5) * self.unit

    def y(self, base: float, bits: float) -> float:
        """Return the vertical position of a surprisal."""
        return base + PANEL_HEIGHT * bits / self.top


def _sheet(figure: Figure) -> Axes:
    """Add axes in inches over the whole figure; one per panel would be much slower."""
    axis = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axis.set_axis_off()
    axis.set_xlim(0.0, figure.get_figwidth())
    axis.set_ylim(0.0, figure.get_figheight())
    return axis


def _frame(axis: Axes, grid: Grid, left: float, base: float, *, title: str, is_first: bool) -> None:
    """Draw the title of a panel, its two edges, and grid lines with their surprisals."""
    steps = MaxNLocator(3, steps=[1, 2, 5, 10]).tick_values(0.0, grid.top)
    ticks = [tick for tick in steps if 0 <= tick <= grid.top]
    for tick in ticks:
        y = grid.y(base, tick)
        axis.plot([left, left + grid.panel], [y, y], color=style.GRID, linewidth=0.7, zorder=0.5)
        if is_first:
            axis.text(left - 0.06, y, f"{tick:g}", ha="right", va="center")
    corners = [left, left, left + grid.panel], [base + PANEL_HEIGHT, base, base]
    axis.plot(*corners, color=style.MUTED, linewidth=0.8)
    axis.text(left, base + PANEL_HEIGHT + 0.07, title, fontsize=10.5)
    if is_first:
        middle = base + PANEL_HEIGHT / 2
        axis.text(left - 0.4, middle, "bits", rotation=90, ha="center", va="center", fontsize=8.5)


def _mark(
    axis: Axes, grid: Grid, left: float, base: float, critical: Sequence[tuple[int, int]]
) -> None:
    for start, end in critical:
        band = Rectangle(
            (left + start * grid.unit, base), (end - start) * grid.unit, PANEL_HEIGHT,
            color=style.BAND, linewidth=0, zorder=0,
        )  # fmt: skip
        axis.add_patch(band)


def _draw_line(
    axis: Axes,
    grid: Grid,
    left: float,
    base: float,
    number: int,
    line: VariantLine,
    values: Sequence[tuple[float | None, float]],
) -> None:
    """Draw the surprisals of one variant, with bars that reach as far as their search errors.

    A word with zero probability is an ∞ at the top.
    """
    colour = style.SERIES[number % len(style.SERIES)]
    points = [
        (grid.x(left, place), math.nan if value is None else value)
        for place, (value, _) in zip(line.places.values(), values, strict=True)
    ]
    finite = [(x, grid.y(base, bits)) for x, bits in points if math.isfinite(bits)]
    for (x, bits), (_, reach) in zip(points, values, strict=True):
        if reach > 0.0 and math.isfinite(bits):
            ends = [grid.y(base, max(0.0, bits - reach)), grid.y(base, min(grid.top, bits + reach))]
            axis.plot([x, x], ends, color=colour, linewidth=0.9)
    axis.plot(
        [x for x, _ in finite], [y for _, y in finite], color=colour, marker="o",
        markersize=3.6, linestyle=style.DASHES[number % len(style.DASHES)], linewidth=1.3,
    )  # fmt: skip
    for x in (x for x, bits in points if math.isinf(bits)):
        axis.text(x, base + PANEL_HEIGHT, "∞", color=colour, ha="center", va="top", fontsize=11)


def _search_reaches(table: pd.DataFrame, keys: list[str]) -> dict[Any, float]:
    """Return half the widths of the 95 % intervals of search errors of means over runs, if any."""
    if SURPRISAL_SE not in table.columns:
        return {}
    squares = table.assign(square=table[SURPRISAL_SE] ** 2).groupby(keys, sort=False)["square"]
    errors = NORMAL * np.sqrt(squares.sum(min_count=1)) / squares.size()
    return dict(errors.dropna().items())


def _write_words(
    axis: Axes, grid: Grid, left: float, base: float, alignment: Alignment, *, with_labels: bool
) -> None:
    """Write the words of the variants as rows below the panel, with their conditions."""
    for number, line in enumerate(alignment.lines):
        y = base - 0.11 - 0.2 * number
        colour = style.SERIES[number % len(style.SERIES)]
        kind: dict[str, Any] = {"color": colour, "fontsize": 8.5, "va": "top"}
        if with_labels:
            label = style.figure_label(line.label)
            axis.text(left - 0.06, y, label, ha="right", **kind)
        for word_id, place in line.places.items():
            word = style.drawable(line.words[word_id])
            axis.text(grid.x(left, place), y, word, ha="center", **kind)
