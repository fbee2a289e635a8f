"""A figure of error against cost, one line per series of searches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks.error_rows import Row
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures.style import place_legend


def error_against_cost(rows: Sequence[Row]) -> Figure:
    """Draw the mean error of each search against its CPU time, both on logarithmic axes."""
    figure, (axis,) = style.panels(1, columns=1, width=5.6, height=3.4, foot=0.4)
    names = list(dict.fromkeys(row.series for row in rows))
    lines = []
    for number, series in enumerate(names):
        points = cheapest([row for row in rows if row.series == series])
        lines += axis.plot(
            [row.cpu_ms_per_word for row in points], [row.mean_error_bits for row in points],
            marker="o", color=style.SERIES[number % len(style.SERIES)],
            label=style.figure_label(series),
        )  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
    for each in (axis.xaxis, axis.yaxis):
        each.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        each.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        each.set_minor_formatter(NullFormatter())
    axis.set_xlabel("CPU time, ms per word")
    axis.set_ylabel("mean error, bits per word")
    place_legend(figure, lines)
    return figure


def cheapest(rows: Sequence[Row]) -> list[Row]:
    """Return one row of each setting, the cheapest, in the order of the costs."""
    kept: dict[str, Row] = {}
    for row in sorted(rows, key=lambda each: each.cpu_ms_per_word):
        # Zero, the error of the reference itself, has no logarithm.
        if row.mean_error_bits > 0:
            kept.setdefault(row.setting, row)
    return list(kept.values())


def write_figure(rows: Sequence[Row], path: Path) -> None:
    """Write the figure as SVG."""
    with style.look():
        figure = error_against_cost(rows)
        style.settle(figure)
        path.write_text(style.as_svg(figure), encoding="utf-8")
