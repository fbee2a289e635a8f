"""The rows of a table by model, with the keys and labels that models have in a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from gardenpath.eval.display import family_rank
from gardenpath.eval.statistics.questions.wording import prose_name


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyModels:
    """The models of a paper: labels by key, in the paper's order, and keys by other spellings.

    Spellings are compared without case, hyphens, underscores and blanks.
    """

    labels: Mapping[str, str]
    spellings: Mapping[str, str]

    def key(self, model: str) -> str:
        """Return the key of a model; a model that the paper does not have keeps its name."""
        plain = model.lower().replace("-", "").replace("_", "").replace(" ", "")
        return self.spellings.get(plain, plain if plain in self.labels else model)

    def label(self, key: str) -> str:
        """Return the label of a model."""
        return self.labels.get(key) or prose_name(key)

    def rank(self, key: str) -> tuple[int, int, str]:
        """Return the place of a model: the paper's order, others after it from simple ones on."""
        order = list(self.labels)
        place = order.index(key) if key in order else len(order)
        return place, family_rank(key), key


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRows:
    """The rows of a model that was trained on one corpus; ``key`` has the corpus if needed."""

    key: str
    label: str
    model: str
    corpus: str
    rows: pd.DataFrame


def rows_by_model(
    table: pd.DataFrame, models: StudyModels, *, corpora: Sequence[str]
) -> list[ModelRows]:
    """Return the rows of each model and corpus, in the paper's order.

    ``corpora`` are all corpora of the source: with several, keys and labels name the corpus. Models
    whose names are spellings of one key stay apart, under their own names.
    """
    found = []
    keys = {name: models.key(str(name)) for name in table["model"].unique()}
    shared = {key for key, count in Counter(keys.values()).items() if count > 1}
    names = table["model"].map({n: str(n) if key in shared else key for n, key in keys.items()})
    for (model, corpus), rows in table.groupby([names, table["corpus"]], sort=False, dropna=False):
        has_corpus = len(set(corpora)) > 1 and bool(corpus)
        found.append(
            ModelRows(
                key=f"{model} {corpus}" if has_corpus else str(model),
                label=models.label(model) + (f" ({prose_name(corpus)})" if has_corpus else ""),
                model=str(model),
                corpus=str(corpus),
                rows=rows,
            )
        )
    return sorted(found, key=lambda one: (*models.rank(one.model), one.corpus))


def corpora_of(*tables: pd.DataFrame) -> list[str]:
    """Return the training corpora in tables of a source."""
    return sorted({str(name) for table in tables for name in table.get("corpus", ())})
