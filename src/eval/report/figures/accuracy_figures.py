"""Figures of accuracy by class, model and modifier, and of surprisal differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from gardenpath.eval.display import EXACT, models_in_order
from gardenpath.eval.report.figures import style
from gardenpath.eval.report.figures.panels import (
    ACCURACY,
    BITS,
    Scale,
    add_legend,
    models_as_rows,
    models_side_by_side,
    placed_rows,
    widest_label,
)
from gardenpath.eval.report.means import in_numbers
from gardenpath.eval.report.near_ties import with_near_range, with_near_share
from gardenpath.eval.report.study import Study

# Inches: on the screen of a phone, all of the figure has to be seen at once.
_PHONE = 4.8


def accuracy_by_class(study: Study, corpora: Sequence[str]) -> style.ReportFigure:
    """Draw one panel per class, with one row per model."""
    items = study.items[study.items["corpus"].isin(corpora)]
    table = study.by_class[study.by_class["corpus"].isin(corpora)]
    table = with_near_range(table, items, ["model", "corpus", "class"])
    models, classes = models_in_order(items["model"]), list(dict.fromkeys(items["class"]))
    rows = sum(model != EXACT for model in models)
    height = 0.65 + rows * (0.22 + 0.1 * (len(corpora) - 1))
    figure, axes = style.panels(len(classes), columns=3, width=2.6, height=height, foot=0.3)
    for axis, name in zip(axes, classes, strict=True):
        scale = replace(ACCURACY, reference=study.chance_of(name))
        part = table[table["class"] == name]
        models_as_rows(axis, part, models=models, corpora=corpora, scale=scale)
        axis.set_title(style.figure_label(name or "all items"))
    add_legend(figure, table, models=models, corpora=corpora, scale=ACCURACY, marks=False)
    return figure


def mean_accuracy(study: Study, corpora: Sequence[str]) -> style.ReportFigure:
    """Draw one row per model: the mean over all classes, as a marker and as a number."""
    items = study.items[study.items["corpus"].isin(corpora)]
    table = study.by_model[study.by_model["corpus"].isin(corpora)]
    table = with_near_range(table, items, ["model", "corpus"])
    models = models_in_order(items["model"])
    rows = sum(model != EXACT for model in models) * max(1.0, 0.75 * len(corpora))
    figure, (axis,) = style.panels(
        1, columns=1, width=_PHONE, height=1.1 + rows * 0.3, least=_PHONE
    )
    chances = [study.chance_of(name) for name in dict.fromkeys(items["class"])]
    scale = replace(ACCURACY, reference=sum(chances) / max(len(chances), 1))
    models_as_rows(axis, table, models=models, corpora=corpora, scale=scale)
    for place, row in placed_rows(table, models=models, corpora=corpora):
        axis.annotate(
            in_numbers(row),
            (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=8.5,
            annotation_clip=False,
        )  # fmt: skip
    axis.set_xlabel("mean accuracy over classes, 95 % interval over items")
    add_legend(figure, table, models=models, corpora=corpora, scale=scale, marks=False)
    return figure


def accuracy_by_modifier(study: Study, corpus: str) -> style.ReportFigure:
    """Draw one panel per class, with modifiers from simple to complex on the x axis."""
    return _by_modifier(study, corpus, value="outcome", scale=ACCURACY, connected=True)


def differences_by_condition(study: Study, corpus: str) -> style.ReportFigure:
    """Draw the mean surprisal difference of the compared conditions, by class and modifier."""
    scale = replace(BITS, label="difference, bits")
    items = study.items[study.items["corpus"] == corpus]
    if (items.groupby("class")["modifier"].nunique() == 1).all():
        return _by_class(study, items, corpus, value="difference_bits", scale=scale)
    return _by_modifier(study, corpus, value="difference_bits", scale=scale, connected=False)


def _by_class(
    study: Study, items: pd.DataFrame, corpus: str, *, value: str, scale: Scale
) -> style.ReportFigure:
    """Draw one panel per class, with one row per model, for classes with a single modifier."""
    keys = ["model", "corpus", "class"]
    table = with_near_share(study.bit_means(items, value=value, by=keys), items, keys)
    models = [model for model in models_in_order(items["model"]) if model in set(table["model"])]
    classes = list(dict.fromkeys(items["class"]))
    height = 0.75 + 0.22 * sum(model != EXACT for model in models)
    figure, axes = style.panels(len(classes), columns=3, width=2.7, height=height, foot=0.3)
    for axis, name in zip(axes, classes, strict=True):
        part = table[table["class"] == name]
        models_as_rows(axis, part, models=models, corpora=[corpus], scale=scale)
        axis.set_title(style.figure_label(name or "all items"))
        axis.set_xlabel(scale.label)
    add_legend(figure, table, models=models, corpora=[], scale=scale, marks=False)
    return figure


def _by_modifier(
    study: Study, corpus: str, *, value: str, scale: Scale, connected: bool
) -> style.ReportFigure:
    items = study.items[study.items["corpus"] == corpus]
    is_accuracy = value == "outcome"
    keys = ["model", "class", "modifier"]
    table = (
        study.by_modifier[study.by_modifier["corpus"] == corpus]
        if is_accuracy
        else study.bit_means(items, value=value, by=keys)
    )
    table = with_near_share(table, items, keys)
    models = [model for model in models_in_order(items["model"]) if model in set(table["model"])]
    along = {
        str(name): study.modifiers(part["modifier"])
        for name, part in items.groupby("class", sort=False)
    }
    most = max(map(len, along.values()))
    width = max(2.6, 0.4 + 0.14 * most * len(models), 0.5 + widest_label(along.values()))
    columns = 3 if width < 3.4 else 2
    figure, axes = style.panels(len(along), columns=columns, width=width, height=2.0, foot=0.5)
    for axis, (name, modifiers) in zip(axes, along.items(), strict=True):
        part = table[table["class"] == name]
        chance = study.chance_of(name) if is_accuracy else 0.0
        models_side_by_side(
            axis, part, x="modifier", values=modifiers, models=models,
            scale=replace(scale, reference=chance), connected=connected,
        )  # fmt: skip
        axis.set_title(style.figure_label(name or "all items"))
        if style.is_first(axis):
            axis.set_ylabel(scale.label)
    add_legend(figure, table, models=models, corpora=[], scale=scale, marks=True)
    return figure
