"""Surprisal by word: the variants of an item, with the critical region marked.

``all`` draws an item of every class with it. Variants are aligned by region, so corresponding words
are at the same position in the figure; the words are written below, in the colours of the lines.
All panels are drawn on one axis in inches, because an axis per panel would be much slower.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from gardenpath.eval.display import models_in_order
from gardenpath.eval.means import NORMAL
from gardenpath.eval.report.content import ReportContent
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
    ends = list(itertools.accumulate(widths.values()))
    starts = {region: end - widths[region] for region, end in zip(regions, ends, strict=True)}
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
    marked = [
        (starts[region], starts[region] + widths[region])
        for region in regions
        if str(region) in critical
    ]
    return Alignment(lines=lines, size=ends[-1], critical=marked)


def _region_order(sequences: Sequence[Sequence[object]]) -> list[object]:
    """Merge the regions of all variants; a region that some lack follows its neighbour."""
    order: list[object] = []
    for sequence in sequences:
        place = 0
        for region in sequence:
            if region not in order:
                order.insert(place, region)
            place = order.index(region) + 1
    return order


def width_of(word: str) -> float:
    """Return the width of a word in half-width characters."""
    return sum(2.0 if unicodedata.east_asian_width(letter) in "WF" else 1.0 for letter in word)


def surprisal_figure(
    content: ReportContent, *, suite: str, item: int | str, corpus: str
) -> style.ReportFigure:
    """Draw an item: one panel per model, with the words of all variants below each column."""
    table = content.surprisals
    chosen = (table["suite"] == suite) & (table["item"] == item) & (table["corpus"] == corpus)
    table = table[chosen]
    first = table[table["run"] == table["run"].iloc[0]]
    alignment = align(first, content.critical.get(suite, ()))
    models = models_in_order(table["model"])
    bits = table["surprisal_bits"].to_numpy(dtype=np.float64)
    finite = bits[np.isfinite(bits)]
    grid = Grid.of(alignment, len(models), top=max(finite.max(initial=0.0) * 1.2, 1.0))
    figure = style.empty(grid.width, grid.height)
    axis = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axis.set_axis_off()
    axis.set_xlim(0.0, grid.width)
    axis.set_ylim(0.0, grid.height)
    keys = ["model", "condition", "variant", "word_id"]
    means = table.groupby(keys, sort=False)["surprisal_bits"].mean().to_dict()
    reaches = _search_reaches(table, keys)
    for place, model in enumerate(models):
        left, base = grid.corner(place)
        panel = _Panel(axis, grid, left, base, is_first=place % grid.columns == 0)
        panel.frame(style.figure_label(model), alignment.critical)
        for number, line in enumerate(alignment.lines):
            words = [(model, line.condition, line.variant, word) for word in line.places]
            panel.line(number, line, [(means.get(word), reaches.get(word, 0.0)) for word in words])
        if place + grid.columns >= grid.count:
            panel.words(alignment)
    numbers = table.groupby([*keys, "region", "word"], sort=False)["surprisal_bits"].mean()
    figure.numbers = numbers.reset_index()
    if reaches:
        names = figure.numbers[keys].itertuples(index=False, name=None)
        figure.numbers["search_error_95"] = [reaches.get(word) for word in names]
    return figure


def _search_reaches(table: pd.DataFrame, keys: list[str]) -> dict[Any, float]:
    """Return half the widths of the 95 % intervals of search errors of means over runs, if any."""
    if SURPRISAL_SE not in table.columns:
        return {}
    squares = table.assign(square=table[SURPRISAL_SE] ** 2).groupby(keys, sort=False)["square"]
    errors = NORMAL * np.sqrt(squares.sum(min_count=1)) / squares.size()
    return dict(errors.dropna().items())


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
        return self.unit * self.size

    @property
    def width(self) -> float:
        return self.margin + self.columns * (self.panel + GAP) - GAP + 0.15

    @property
    def height(self) -> float:
        rows = -(-self.count // self.columns)
        return rows * (PANEL_HEIGHT + self.between) - self.between + self.foot + 0.35

    def corner(self, place: int) -> tuple[float, float]:
        """Return the lower left corner of a panel."""
        row, column = divmod(place, self.columns)
        above = 0.3 + PANEL_HEIGHT + row * (PANEL_HEIGHT + self.between)
        return self.margin + column * (self.panel + GAP), self.height - above


@dataclass(frozen=True, slots=True)
class _Panel:
    """A panel whose lower left corner is at ``left`` and ``base``; the first has labels."""

    axis: Axes
    grid: Grid
    left: float
    base: float
    is_first: bool

    def _x(self, place: float) -> float:
        return self.left + (place + 0.5) * self.grid.unit

    def _y(self, bits: float) -> float:
        return self.base + PANEL_HEIGHT * bits / self.grid.top

    def frame(self, title: str, critical: Sequence[tuple[int, int]]) -> None:
        axis, left, base = self.axis, self.left, self.base
        right = left + self.grid.panel
        steps = MaxNLocator(3, steps=[1, 2, 5, 10]).tick_values(0.0, self.grid.top)
        for tick in (tick for tick in steps if 0 <= tick <= self.grid.top):
            y = self._y(tick)
            axis.plot([left, right], [y, y], color=style.GRID, linewidth=0.7, zorder=0.5)
            if self.is_first:
                axis.text(left - 0.06, y, f"{tick:g}", ha="right", va="center")
        top = base + PANEL_HEIGHT
        axis.plot([left, left, right], [top, base, base], color=style.MUTED, linewidth=0.8)
        axis.text(left, top + 0.07, title, fontsize=10.5)
        if self.is_first:
            look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8.5}
            axis.text(left - 0.4, base + PANEL_HEIGHT / 2, "bits", rotation=90, **look)
        for start, end in critical:
            unit = self.grid.unit
            band = Rectangle(
                (left + start * unit, base), (end - start) * unit, PANEL_HEIGHT, color=style.BAND,
                linewidth=0, zorder=0,
            )  # fmt: skip
            axis.add_patch(band)

    def line(
        self, number: int, line: VariantLine, values: Sequence[tuple[float | None, float]]
    ) -> None:
        """Draw the surprisals of one variant, with bars as long as their search errors.

        A word with zero probability is an ∞ at the top.
        """
        axis, top = self.axis, self.grid.top
        colour = style.SERIES[number % len(style.SERIES)]
        points = [
            (self._x(place), math.nan if bits is None else bits, reach)
            for place, (bits, reach) in zip(line.places.values(), values, strict=True)
        ]
        finite = [(x, self._y(bits)) for x, bits, _ in points if math.isfinite(bits)]
        for x, bits, reach in points:
            if reach > 0.0 and math.isfinite(bits):
                ends = [self._y(max(0.0, bits - reach)), self._y(min(top, bits + reach))]
                axis.plot([x, x], ends, color=colour, linewidth=0.9)
        axis.plot(
            [x for x, _ in finite], [y for _, y in finite], color=colour, marker="o",
            markersize=3.6, linestyle=style.DASHES[number % len(style.DASHES)], linewidth=1.3,
        )  # fmt: skip
        look: dict[str, Any] = {"color": colour, "ha": "center", "va": "top", "fontsize": 11}
        for x in (x for x, bits, _ in points if math.isinf(bits)):
            axis.text(x, self.base + PANEL_HEIGHT, "∞", **look)

    def words(self, alignment: Alignment) -> None:
        for number, line in enumerate(alignment.lines):
            y = self.base - 0.11 - 0.2 * number
            colour = style.SERIES[number % len(style.SERIES)]
            look: dict[str, Any] = {"color": colour, "fontsize": 8.5, "va": "top"}
            if self.is_first:
                label = style.figure_label(line.label)
                self.axis.text(self.left - 0.06, y, label, ha="right", **look)
            for word_id, place in line.places.items():
                word = style.drawable(line.words[word_id])
                self.axis.text(self._x(place), y, word, ha="center", **look)
