"""Accuracies and effects of Hu et al. 2020, which its tables, figures and claims are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.eval.published.released.reflexives import (
    EXPERIMENTS_WITH_UNUSED_ITEMS,
    UNUSED_ITEMS,
)
from gardenpath.eval.statistics.inference.intervals import NORMAL
from gardenpath.eval.studies.evidence import Evidence
from gardenpath.eval.studies.model_rows import ModelRows, StudyModels, corpora_of, rows_by_model
from gardenpath.eval.studies.study_parts import ItemChoice

REFLEXIVE_EXPERIMENTS = ("exp1a", "exp2a", "exp1b", "exp2b", "exp3")
PRONOUNS = ("themselves", "himself", "herself")
REFLEXIVE_MODELS = StudyModels(
    labels={
        "bert": "BERT",
        "trans": "TransXL",
        "jrnn": "JRNN",
        "grnn": "GRNN",
        "tiny": "TinyLSTM",
        "rnng": "RNNG",
        "ngram": "n-gram",
    },
    spellings={
        **dict.fromkeys(("transxl", "transformerxl"), "trans"),
        "tinylstm": "tiny",
        "5gram": "ngram",
    },
)
CHANCE = 1.0 / 3.0

# The released suites with new nouns have 75 items per pronoun, of which the paper used 60.
_RELEASED_ITEMS = 75
_SUITE = ["model", "corpus", "modifier", "pronoun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexiveAccuracy:
    """The accuracy of a model in an experiment: per pronoun, then the mean of all three.

    ``reach`` is the half-width of the 95 % interval of the pooled items; ``n`` is their number.
    NaN if a pronoun lacks, with its name in ``lacking``.
    """

    experiment: str
    model: str
    corpus: str
    key: str
    label: str
    value: float
    reach: float
    n: int
    lacking: Sequence[str]

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - self.reach

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.value + self.reach


def chosen_items(table: pd.DataFrame, items: ItemChoice) -> pd.DataFrame:
    """Return the rows of the items that count.

    Suites of Exps. 2a, 2b and 3 with the 75 released items lose the 15 that the paper did not use;
    suites with another number of items, such as those of own runs, keep all.
    """
    if items == "all" or not len(table):
        return table
    sizes = table.groupby(_SUITE, dropna=False)["item"].transform("nunique")
    is_larger = table["modifier"].isin(EXPERIMENTS_WITH_UNUSED_ITEMS) & (sizes == _RELEASED_ITEMS)
    unused = [
        number in UNUSED_ITEMS.get(str(pronoun), ())
        for pronoun, number in zip(table["pronoun"], table["item"], strict=True)
    ]
    return table[~(is_larger & np.asarray(unused, dtype=bool))]


def outcomes(one: Evidence, experiment: str, items: ItemChoice) -> list[ModelRows]:
    """Return the items of an experiment by model; their outcomes are means over runs."""
    table = one.data.items
    if "pronoun" not in table.columns:
        return []
    table = table[(table["class"] == "reflexives") & (table["modifier"] == experiment)]
    table = chosen_items(table, items)
    means = table.groupby([*_SUITE, "item"], sort=False, dropna=False)["outcome"].mean()
    known = means.dropna().reset_index()
    return (
        rows_by_model(known, REFLEXIVE_MODELS, corpora=corpora_of(one.data.items, one.data.effects))
        if len(known)
        else []
    )


def reflexive_accuracies(
    one: Evidence, items: ItemChoice, experiments: Sequence[str] = REFLEXIVE_EXPERIMENTS
) -> list[ReflexiveAccuracy]:
    """Return the accuracy of every model in the experiments, in the order of Table 3."""
    return [
        _accuracy(found, experiment)
        for experiment in experiments
        for found in outcomes(one, experiment, items)
    ]


def _accuracy(found: ModelRows, experiment: str) -> ReflexiveAccuracy:
    by_pronoun = found.rows.groupby("pronoun")["outcome"].mean()
    lacking = [name for name in PRONOUNS if name not in by_pronoun.index]
    pooled = float(found.rows["outcome"].mean())
    reach = NORMAL * math.sqrt(pooled * (1.0 - pooled) / len(found.rows))
    return ReflexiveAccuracy(
        experiment=experiment,
        model=found.model,
        corpus=found.corpus,
        key=found.key,
        label=found.label,
        value=math.nan if lacking else float(by_pronoun.loc[list(PRONOUNS)].mean()),
        reach=math.nan if lacking else reach,
        n=len(found.rows),
        lacking=lacking,
    )


def reflexive_effects(one: Evidence, experiment: str, effect: str) -> list[ModelRows]:
    """Return an effect of all items of an experiment by model; values are means over runs."""
    table = one.data.effects
    if "pronoun" not in table.columns:
        return []
    is_wanted = (table["class"] == "reflexives") & (table["modifier"] == experiment)
    table = table[is_wanted & (table["effect"] == effect)]
    means = table.groupby([*_SUITE, "item"], sort=False, dropna=False)["value_bits"].mean()
    known = means[np.isfinite(means)].reset_index()
    return (
        rows_by_model(known, REFLEXIVE_MODELS, corpora=corpora_of(one.data.items, one.data.effects))
        if len(known)
        else []
    )


def of_pronoun(found: ModelRows, pronoun: str) -> Floats:
    """Return the values of an effect at a pronoun, in bits."""
    rows = found.rows[found.rows["pronoun"] == pronoun]
    return np.asarray(rows["value_bits"], dtype=np.float64)
