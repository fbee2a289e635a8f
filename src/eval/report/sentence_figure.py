"""Surprisal along a sentence: the variants of an item, word by word, the critical region marked.

Variants are lined up by region, so that the same place in each of them stands at the same place in
the figure; their words stand below in the colours of their lines.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from src.eval.report import fonts, style
from src.eval.report.study import Study, in_order

PAGE_WIDTH = 10.6  # inches
PANEL_HEIGHT = 0.85
GAP = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One variant: its words, each with the place it has in the figure."""

    label: str
    condition: str
    variant: object
    places: Mapping[int, int]  # word_id → place
    words: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """The variants of an item on common places; ``critical`` are the ranges of places to mark."""

    lines: Sequence[Line]
    size: int
    critical: Sequence[tuple[int, int]]


def align(rows: pd.DataFrame, critical: Sequence[str]) -> Alignment:
    """Give every word of an item's variants its place. ``rows`` are those of a single run."""
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
            Line(
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
    """The regions of all variants; one that only some have stands after its neighbour there."""
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
    """The width of a word in half-width characters."""
    return sum(2.0 if unicodedata.east_asian_width(letter) in "WF" else 1.0 for letter in word)


def sentence(study: Study, *, suite: str, item: int | str, corpus: str) -> Figure:
    """The figure of an item: a panel per model, the words of all variants below each column."""
    table = study.surprisals
    chosen = (table["suite"] == suite) & (table["item"] == item) & (table["corpus"] == corpus)
    table = table[chosen]
    first = table[table["run"] == table["run"].iloc[0]]
    alignment = align(first, study.critical.get(suite, ()))
    models = in_order(table["model"])
    figure, axes, columns = _grid(alignment, len(models))
    for place, (axis, model) in enumerate(zip(axes, models, strict=True)):
        _draw_lines(axis, table[table["model"] == model], alignment)
        axis.set_title(style.readable(model))
        if place % columns == 0:
            axis.set_ylabel("bits", fontsize=8.5)
        if place + columns >= len(models):
            _write_words(axis, alignment, with_labels=place % columns == 0)
    finite = table["surprisal_bits"][np.isfinite(table["surprisal_bits"])]
    axes[-1].set_ylim(0, max(finite.max() * 1.2, 1.0) if len(finite) else 1.0)
    return figure


def _grid(alignment: Alignment, count: int) -> tuple[Figure, list[Axes], int]:
    """Axes in as many columns as a page is wide; every column has room for words at its foot."""
    widest = max(width_of(word) for line in alignment.lines for word in line.words.values())
    panel = max(0.4, 0.075 * widest + 0.1) * alignment.size
    # The conditions' names stand left of the words in the first column.
    margin = 0.5 + 0.075 * max(len(line.label) for line in alignment.lines)
    columns = max(1, min(count, int((PAGE_WIDTH - margin) // (panel + GAP))))
    rows = -(-count // columns)
    foot = 0.15 + 0.2 * len(alignment.lines)
    # The last row may be shorter: columns without a panel there have their words one row higher.
    between = 0.42 if count % columns == 0 else max(0.42, foot + 0.25)
    width = margin + columns * panel + (columns - 1) * GAP + 0.15
    height = rows * PANEL_HEIGHT + (rows - 1) * between + foot + 0.35
    figure = Figure(figsize=(width, height))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    figure.subplots_adjust(
        left=margin / width, right=1 - 0.15 / width, bottom=foot / height, top=1 - 0.3 / height,
        wspace=GAP / panel, hspace=between / PANEL_HEIGHT,
    )  # fmt: skip
    axes = [axis for row in grid for axis in row]
    for axis in axes[count:]:
        axis.remove()
    return figure, axes[:count], columns


def _draw_lines(axis: Axes, rows: pd.DataFrame, alignment: Alignment) -> None:
    """The lines of one model, seeds averaged; an impossible word is an ∞ at the top."""
    for start, end in alignment.critical:
        axis.axvspan(start - 0.5, end - 0.5, color=style.BAND, linewidth=0, zorder=0)
    means = rows.groupby(["condition", "variant", "word_id"], sort=False)["surprisal_bits"].mean()
    for number, line in enumerate(alignment.lines):
        colour = style.SERIES[number % len(style.SERIES)]
        values = [means.get((line.condition, line.variant, word), math.nan) for word in line.places]
        points = list(zip(line.places.values(), values, strict=True))
        finite = [(x, y) for x, y in points if math.isfinite(y)]
        axis.plot(
            [x for x, _ in finite], [y for _, y in finite], color=colour, marker="o",
            markersize=3.6, linestyle=style.DASHES[number % len(style.DASHES)], linewidth=1.3,
        )  # fmt: skip
        for x in (x for x, y in points if math.isinf(y)):
            axis.annotate(
                "∞", (x, 1.0), xycoords=("data", "axes fraction"), color=colour, ha="center",
                va="top", fontsize=11,
            )  # fmt: skip
    axis.set_xlim(-0.6, alignment.size - 0.4)
    axis.grid(False, axis="x")


def _write_words(axis: Axes, alignment: Alignment, *, with_labels: bool) -> None:
    """The words of the variants as rows below the axis, each with its condition before it."""
    axis.set_xticks([])
    for number, line in enumerate(alignment.lines):
        colour = style.SERIES[number % len(style.SERIES)]
        drop = -8 - 14.4 * number

        def write(
            x: float, text: str, align: str, colour: str = colour, drop: float = drop
        ) -> None:
            axis.annotate(
                fonts.drawable(text), (x, 0), xycoords=axis.get_xaxis_transform(),
                xytext=(0, drop), textcoords="offset points", ha=align, va="top", color=colour,
                fontsize=8.5, annotation_clip=False,
            )  # fmt: skip

        if with_labels:
            write(-0.75, line.label.replace("_", " "), "right")
        for word_id, place in line.places.items():
            write(place, line.words[word_id], "center")
