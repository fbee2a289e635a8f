"""The two kinds of panels in most figures: models as rows, and models side by side.

Both require a table with the columns model, corpus, mean, low and high. If it has the column error,
a broad pale bar shows the 95 % interval of the search error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gardenpath.eval.display import EXACT, models_in_order
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures.near_marks import (
    draw_near_range,
    is_mostly_near,
    near_handles,
)
from gardenpath.eval.statistics.inference.intervals import NORMAL

CEILING_LINE: dict[str, Any] = {
    "color": style.INK,
    "linewidth": 1.3,
    "linestyle": (0, (6, 2, 1, 2)),
}
CHANCE_LINE: dict[str, Any] = {"color": style.MUTED, "linewidth": 1.0, "linestyle": (0, (2, 2))}
# The interval of the search error, behind the interval over items.
SEARCH_BAR: dict[str, Any] = {"linewidth": 5.0, "alpha": 0.3, "zorder": 1.5}
SEARCH_ENDS: dict[str, Any] = {"markersize": 6.0, "markeredgewidth": 0.9, "zorder": 1.6}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The scale of an axis: its label, reference line and limits."""

    label: str
    reference: float
    reference_label: str
    exact_label: str = EXACT
    limits: tuple[float, float] | None = None


ACCURACY = Scale(
    label="accuracy",
    reference=0.5,
    reference_label="chance",
    exact_label=f"{EXACT} (ceiling)",
    limits=(-0.03, 1.05),
)
BITS = Scale(label="bits", reference=0.0, reference_label="no difference")


def spread(axis: Axes, *, scale: Scale, vertical: bool) -> None:
    """Set limits and ticks of the numeric axis."""
    if scale.limits is None:
        axis.margins(0.08)
        return
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
    labels = ["0", ".25", ".5", ".75", "1"]
    if vertical:
        axis.set_ylim(*scale.limits)
        axis.set_yticks(ticks, labels)
    else:
        axis.set_xlim(*scale.limits)
        axis.set_xticks(ticks, labels)


def _offsets(count: int, total: float) -> list[float]:
    step = total / max(count, 1)
    return [(place - (count - 1) / 2) * step for place in range(count)]


def placed_rows(
    table: pd.DataFrame, *, models: Sequence[str], corpora: Sequence[str]
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield the position and values of every model; the exact grammar has no row."""
    rows = [model for model in models if model != EXACT]
    offsets = _offsets(len(corpora), 0.6 if len(corpora) > 1 else 0.0)
    for record in table.to_dict("records"):
        if record["model"] != EXACT:
            yield rows.index(record["model"]) + offsets[corpora.index(record["corpus"])], record


def models_as_rows(
    axis: Axes, table: pd.DataFrame, *, models: Sequence[str], corpora: Sequence[str], scale: Scale
) -> None:
    """Draw one row per model, with one marker per corpus.

    The exact grammar is a vertical line instead of a row because it is the ceiling, not a model.
    """
    rows = [model for model in models if model != EXACT]
    styles = style.model_styles(models)
    axis.axvline(scale.reference, **CHANCE_LINE, zorder=1)
    for ceiling in table[table["model"] == EXACT]["mean"]:
        axis.axvline(ceiling, **CEILING_LINE, zorder=1)
    for y, record in placed_rows(table, models=models, corpora=corpora):
        colour, mark = styles[record["model"]]
        corpus = corpora.index(record["corpus"])
        axis.plot(_interval(record), [y, y], color=colour, linewidth=1.6)
        draw_near_range(axis, record, place=y, colour=colour)
        if (reach := search_reach(record)) > 0.0:
            ends = [record["mean"] - reach, record["mean"] + reach]
            axis.plot(ends, [y, y], color=colour, **SEARCH_BAR)
            axis.plot(ends, [y, y], "|", color=colour, **SEARCH_ENDS)
        look = _corpus_look(1 if is_mostly_near(record) else corpus, colour)
        axis.plot([record["mean"]], [y], mark, color=colour, **look)
    axis.set_yticks(range(len(rows)), [style.figure_label(row) for row in rows])
    axis.set_ylim(len(rows) - 0.45, -0.55)
    axis.grid(False, axis="y")
    spread(axis, scale=scale, vertical=False)


def models_side_by_side(
    axis: Axes,
    table: pd.DataFrame,
    *,
    x: str,
    values: Sequence[str],
    models: Sequence[str],
    scale: Scale,
    connected: bool,
) -> None:
    """Draw the values of ``x`` along the axis, with one marker per model at each value."""
    styles = style.model_styles(models)
    axis.axhline(scale.reference, **CHANCE_LINE, zorder=1)
    records = sorted(table.to_dict("records"), key=lambda row: values.index(row[x]))
    for model, offset in zip(models, _offsets(len(models), 0.62), strict=True):
        rows = [row for row in records if row["model"] == model]
        places = [values.index(row[x]) + offset for row in rows]
        means = [row["mean"] for row in rows]
        colour, mark = styles[model]
        if model == EXACT:
            axis.plot(places, means, marker=mark, markerfacecolor=style.PAPER, **CEILING_LINE)
            continue
        lows, highs = zip(*map(_interval, rows), strict=True) if rows else ((), ())
        axis.vlines(places, lows, highs, color=colour, linewidth=1.4)
        for place, mean, reach in zip(places, means, map(search_reach, rows), strict=True):
            if reach > 0.0:
                axis.vlines(place, mean - reach, mean + reach, color=colour, **SEARCH_BAR)
                ends = [mean - reach, mean + reach]
                axis.plot([place, place], ends, "_", color=colour, **SEARCH_ENDS)
        line = "-" if connected else "none"
        axis.plot(places, means, mark, color=colour, linestyle=line, linewidth=0.7)
        near = [at for at, row in enumerate(rows) if is_mostly_near(row)]
        axis.plot(
            [places[at] for at in near], [means[at] for at in near], mark, color=colour,
            markerfacecolor=style.PAPER,
        )  # fmt: skip
    axis.set_xticks(range(len(values)), [_folded(value) for value in values])
    axis.set_xlim(-0.55, len(values) - 0.45)
    axis.grid(False, axis="x")
    spread(axis, scale=scale, vertical=True)


def _corpus_look(place: int, colour: str) -> dict[str, Any]:
    """Return what tells corpora apart: filled and hollow markers, from the third on small ones."""
    face = style.PAPER if place % 2 else colour
    return {"markerfacecolor": face, "markersize": 5.5 if place < 2 else 3.5}


def search_reach(row: Mapping[str, float]) -> float:
    """Return half the width of the 95 % interval of the search error; 0 if it is not known."""
    error = row.get("error", math.nan)
    return NORMAL * error if math.isfinite(error) else 0.0


def _interval(row: Mapping[str, float]) -> tuple[float, float]:
    """Return both ends of the interval, or the mean twice if the interval is unknown."""
    low, high, mean = row["low"], row["high"], row["mean"]
    if not (math.isfinite(low) and math.isfinite(high)):
        return mean, mean
    return min(low, mean), max(high, mean)


def _folded(name: object) -> str:
    """Wrap a label to at most three lines."""
    words, lines = style.figure_label(name or "all items").split(), [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) > 9 and len(lines) < 3:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def widest_label(panels: Iterable[Sequence[str]]) -> float:
    """Return the width, in inches, at which the labels of all panels do not overlap."""
    found = 0.0
    for values in panels:
        lines = [line for value in values for line in _folded(value).split("\n")]
        found = max(found, len(values) * (0.1 + 0.075 * max(map(len, lines))))
    return found


def _handles(
    models: Sequence[str], corpora: Sequence[str], scale: Scale, marks: bool
) -> Iterator[Line2D]:
    """Yield the entries of the legend."""
    styles = style.model_styles(models)
    for model in models:
        colour, mark = styles[model]
        if model == EXACT:
            marker = mark if marks else "none"
            label = scale.exact_label
            yield Line2D(
                [], [], **CEILING_LINE, marker=marker, markerfacecolor=style.PAPER, label=label
            )
        elif marks:
            yield Line2D(
                [], [], color=colour, marker=mark, ls="none", label=style.figure_label(model)
            )
    if len(corpora) > 1:
        for place, corpus in enumerate(corpora):
            yield Line2D(
                [], [], color=style.MUTED, marker="o", ls="none",
                label=style.figure_label(corpus), **_corpus_look(place, style.MUTED),
            )  # fmt: skip
    yield Line2D([], [], **CHANCE_LINE, label=scale.reference_label)


def add_legend(
    figure: style.ReportFigure,
    table: pd.DataFrame,
    *,
    models: Sequence[str],
    corpora: Sequence[str],
    scale: Scale,
    marks: bool,
) -> None:
    """Add one legend below all panels; models are listed only if they are not rows.

    ``table`` has the means that are drawn, and becomes the ``numbers`` of the figure.
    """
    known = _handles(models_in_order(models), corpora, scale, marks)
    place_legend(figure, [*known, *near_handles(table)])
    figure.numbers = table


def place_legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    """Place a legend below all panels, in as few rows as possible, of about equal length."""
    widths = [0.5 + 0.07 * len(str(handle.get_label())) for handle in handles]
    fits = max(1, int(figure.get_figwidth() // max(widths)))
    if sum(widths) <= figure.get_figwidth():
        fits = len(handles)
    rows = -(-len(handles) // fits)
    columns = -(-len(handles) // rows)
    figure.legend(
        handles=_by_rows(handles, columns), loc="outside lower center", ncols=columns,
        columnspacing=1.4,
    )  # fmt: skip


def _by_rows(handles: Sequence[Line2D], columns: int) -> list[Line2D]:
    """Reorder the entries to be read row by row, as legends are filled column by column."""
    return [one for column in range(columns) for one in handles[column::columns]]
