"""A figure of error against cost, one line per series of searches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.error_rows import Row
from gardenpath.eval.report.figures import style


def error_against_cost(rows: Sequence[Row]) -> Figure:
    """Draw the mean error of each search against its CPU time, both on logarithmic axes."""
    figure, (axis,) = style.panels(1, columns=1, width=5.6, height=3.6)
    for number, series in enumerate(dict.fromkeys(row.series for row in rows)):
        points = sorted(
            (row.cpu_ms_per_word, row.mean_error_bits)
            for row in rows
            if row.series == series and math.isfinite(row.mean_error_bits)
        )
        axis.plot(
            [cost for cost, _ in points], [error for _, error in points], marker="o",
            color=style.SERIES[number % len(style.SERIES)], label=style.figure_label(series),
        )  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("CPU time, ms per word")
    axis.set_ylabel("mean error, bits per word")
    axis.legend()
    return figure


def write_figure(rows: Sequence[Row], path: Path) -> None:
    """Write the figure as SVG."""
    with style.look():
        figure = error_against_cost(rows)
        style.settle(figure)
        path.write_text(style.as_svg(figure), encoding="utf-8")
