"""Figures of effect sizes, such as wh-effects, by condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from gardenpath.eval.display import models_in_order
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures.panels import (
    BITS,
    add_legend,
    models_side_by_side,
    widest_label,
)
from gardenpath.eval.report.near_ties import with_near_share
from gardenpath.eval.report.study import Study


def condition_column(effects: pd.DataFrame) -> str:
    """Return the column that distinguishes conditions: the modifier, else class, else suite."""
    for column in ("modifier", "class"):
        if effects[column].nunique() > 1:
            return column
    return "suite"


def effects_by_condition(study: Study, corpus: str, effects: Sequence[str]) -> style.ReportFigure:
    """Draw one panel per effect, with conditions on the x axis and one marker per model."""
    table = study.effects
    table = table[(table["corpus"] == corpus) & table["effect"].isin(effects)]
    column = condition_column(table)
    means = study.bit_means(table, value="value_bits", by=["model", "effect", column])
    means = with_near_share(means, table, ["model", "effect", column])
    models = [model for model in models_in_order(table["model"]) if model in set(means["model"])]
    # Not every effect is defined in every condition: a panel shows only those where it is.
    along = {
        effect: _conditions(study, means[means["effect"] == effect], column) for effect in effects
    }
    most = max(map(len, along.values()))
    width = max(3.0, 0.5 + 0.1 * most * (len(models) + 1), 0.5 + widest_label(along.values()))
    width = min(width, 10.0)
    columns = max(1, int(9.0 // width))
    figure, axes = style.panels(len(effects), columns=columns, width=width, height=2.1, foot=0.5)
    for axis, (effect, values) in zip(axes, along.items(), strict=True):
        part = means[means["effect"] == effect]
        models_side_by_side(
            axis, part, x=column, values=values, models=models, scale=BITS, connected=False
        )
        axis.set_title(style.figure_label(effect))
        if style.is_first(axis):
            axis.set_ylabel("bits")
    scale = replace(BITS, reference_label="no effect")
    add_legend(figure, means, models=models, corpora=[], scale=scale, marks=True)
    return figure


def _conditions(study: Study, means: pd.DataFrame, column: str) -> list[str]:
    values = list(dict.fromkeys(means[column]))
    return study.modifiers(values) if column == "modifier" else values
