"""Means and intervals of Wilcox et al. 2019, which its figures and claims are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from gardenpath.eval.statistics.inference.intervals import Interval, within_item_intervals
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.eval.studies.evidence import Evidence
from gardenpath.eval.studies.model_rows import ModelRows, StudyModels, corpora_of, rows_by_model
from gardenpath.eval.suites.scoring.effects import ORDERING

SUPPRESSION_MODELS = StudyModels(
    labels={
        "ngram": "n-gram",
        "transformer": "Transformer",
        "google": "Google",
        "gulordava": "Gulordava",
    },
    spellings={
        "5gram": "ngram",
        **dict.fromkeys(("trans", "transxl", "transformerxl"), "transformer"),
        "jrnn": "google",
        "grnn": "gulordava",
    },
)
# Structures of centre embedding, and the verb of the relative clause and of the main clause.
DESIGNS = ("sentence", "embedding", "long")
VERBS = {"verb1": "VP1", "verb2": "VP2"}


def suppression_models(one: Evidence, effects: pd.DataFrame) -> list[ModelRows]:
    """Return the rows of a table of effects by model."""
    return rows_by_model(effects, SUPPRESSION_MODELS, corpora=corpora_of(one.data.effects))


def condition_means(
    rows: pd.DataFrame, column: str, conditions: Sequence[str]
) -> dict[str, Interval]:
    """Return the means of conditions in bits, with 95 % intervals of values centred by item.

    Items are averaged over runs; those that lack a condition are left out. With one condition or
    one item there is no variance within items, and no interval.
    """
    chosen = rows[rows[column].isin(conditions) & np.isfinite(rows["value_bits"])]
    try:
        return within_item_intervals(
            chosen, value="value_bits", condition=column, item="item", method="item_centred"
        )
    except StatisticsError:
        by_item = chosen.groupby([column, "item"], sort=False)["value_bits"].mean()
        return {
            str(name): Interval(
                mean=float(values.mean()), low=math.nan, high=math.nan, n=len(values)
            )
            for name, values in by_item.groupby(column, sort=False)
        }


def embeddings(one: Evidence) -> pd.DataFrame:
    """Return the effects of centre embedding; toy suites, whose items are others, are left out."""
    table = one.data.effects
    return table[(table["class"] == "center_embedding") & (table["modifier"] != "toy")]


def ordering_means(one: Evidence) -> list[tuple[ModelRows, dict[str, Interval]]]:
    """Return the ordering effects of every model by structure."""
    designs = {f"{ORDERING}_{design}": design for design in DESIGNS}
    table = embeddings(one)
    table = table[table["effect"].isin(designs)]
    found = suppression_models(one, table.assign(design=table["effect"].map(designs)))
    return [(each, condition_means(each.rows, "design", DESIGNS)) for each in found]
