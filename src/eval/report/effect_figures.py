"""Effects beside accuracy: wh-effects and the like by condition, and estimates of analyses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from src.eval.report import style
from src.eval.report.means import bit_means
from src.eval.report.panels import BITS, CHANCE, add_legend, models_side_by_side
from src.eval.report.study import ESTIMATE_COLUMNS, Analysis, Study, in_order

INTERCEPTS = ("(Intercept)", "Intercept", "1")


def condition_column(effects: pd.DataFrame) -> str:
    """What tells the conditions of effects apart: the modifier, else the class, else the suite."""
    for column in ("modifier", "class"):
        if effects[column].nunique() > 1:
            return column
    return "suite"


def effects_by_condition(study: Study, corpus: str, effects: Sequence[str]) -> Figure:
    """A panel per effect, along it the conditions, at each of them a mark for every model."""
    table = study.effects
    table = table[(table["corpus"] == corpus) & table["effect"].isin(effects)]
    column = condition_column(table)
    means = bit_means(table, value="value_bits", by=["model", "effect", column])
    models = [model for model in in_order(table["model"]) if model in set(means["model"])]
    values = list(dict.fromkeys(means[column]))
    width = max(3.0, 0.5 + 0.1 * len(values) * (len(models) + 1), 0.5 + 0.6 * len(values))
    width = min(width, 10.0)
    columns = max(1, min(len(effects), int(9.0 // width)))
    figure, axes = style.panels(len(effects), columns=columns, width=width, height=2.1, foot=0.5)
    for place, (axis, effect) in enumerate(zip(axes, effects, strict=True)):
        part = means[means["effect"] == effect]
        models_side_by_side(
            axis, part, x=column, values=values, models=models, scale=BITS, connected=False
        )
        axis.set_title(style.readable(effect))
        if place % columns == 0:
            axis.set_ylabel("bits")
    scale = replace(BITS, reference_label="no effect")
    add_legend(figure, models=models, corpora=[], scale=scale, marks=True)
    return figure


def estimate_rows(analysis: Analysis) -> list[tuple[str, float, float, float]]:
    """Label, estimate and interval of every term that can be drawn.

    Intercepts are left out where there is anything else: their size says little and hides the rest.
    """
    rows = []
    tables = analysis.tables
    if "estimates" in tables:
        tables = {"estimates": tables["estimates"]}
    for name, table in tables.items():
        if not set(ESTIMATE_COLUMNS) <= set(table.columns):
            continue
        for record in table.to_dict("records"):
            label = str(record["term"])
            if len(tables) > 1:
                label = f"{name}: {label}" if len(table) > 1 else name
            estimate, low, high = (float(record[column]) for column in ESTIMATE_COLUMNS[1:])
            rows.append((str(record["term"]), label, estimate, low, high))
    slopes = [row for row in rows if row[0] not in INTERCEPTS]
    return [row[1:] for row in slopes or rows if all(map(math.isfinite, row[2:]))]


def _in_words(estimate: float, low: float, high: float) -> str:
    text = f"{estimate:.3f}  [{low:.3f}, {high:.3f}]"
    return text.replace("-", "\N{MINUS SIGN}")


def estimates(analysis: Analysis) -> Figure:
    """Estimates of an analysis with their intervals, one row per term."""
    rows = estimate_rows(analysis)
    figure, (axis,) = style.panels(1, columns=1, width=6.8, height=0.9 + 0.26 * len(rows))
    axis.axvline(0.0, **CHANCE, zorder=1)
    for place, (_, estimate, low, high) in enumerate(rows):
        # An interval without zero is filled, one with zero hollow: readable without colour.
        clear = low > 0.0 or high < 0.0
        axis.errorbar(
            [estimate], [place], xerr=[[estimate - low], [high - estimate]], fmt="o",
            color=style.BLUE, markerfacecolor=style.BLUE if clear else style.PAPER,
            elinewidth=1.6,
        )  # fmt: skip
        axis.annotate(
            _in_words(estimate, low, high), (1.02, place),
            xycoords=("axes fraction", "data"), va="center", fontsize=8.5, annotation_clip=False,
        )  # fmt: skip
    axis.set_yticks(range(len(rows)), [style.readable(row[0]) for row in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.margins(x=0.08)
    axis.grid(False, axis="y")
    axis.set_xlabel("estimate, 95 % interval (hollow: includes zero)")
    return figure
