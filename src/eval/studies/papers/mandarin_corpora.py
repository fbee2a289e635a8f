"""Cells of Wang et al. 2021 on corpora and networks, which files of surprisals do not contain."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gardenpath.eval.display import EXACT
from gardenpath.eval.perplexity.comparison import JOINT, MARGINAL
from gardenpath.eval.studies.evidence import Evidence
from gardenpath.eval.studies.papers.mandarin_claims import NEURAL
from gardenpath.eval.studies.study_means import short_count
from gardenpath.eval.studies.study_parts import StudyCell

# Numbers of words of a sentence.
_LENGTHS = (*(f"{low + 1}–{low + 10}" for low in range(0, 100, 10)), "over 100")


def perplexity_cells(one: Evidence) -> Iterator[StudyCell]:
    """Yield perplexities of words: of syntactic models, those marginalised over trees."""
    table = one.data.perplexity
    if table is None:
        return
    table = table[~table["model"].str.endswith(JOINT) & (table["model"] != EXACT)]
    table = table.assign(model=table["model"].str.removesuffix(MARGINAL))
    means = table.groupby(["model", "trained_on"], sort=False)["perplexity"].mean()
    for (model, corpus), value in means.items():
        yield StudyCell(source=one.source, row=str(model), column=str(corpus), value=float(value))


def corpus_cells(one: Evidence) -> Iterator[StudyCell]:
    """Yield numbers of words and sizes of vocabularies of the training corpora."""
    table = one.data.corpora
    if table is None:
        return
    for row in table[table["split"] == "train"].to_dict("records"):
        for column in ("tokens", "vocabulary"):
            if row[column] is None or math.isnan(row[column]):
                continue
            value = int(row[column])
            yield StudyCell(
                source=one.source, row=row["corpus"], column=column, value=value,
                text=short_count(value),
            )  # fmt: skip


def network_cells(one: Evidence) -> Iterator[StudyCell]:
    """Yield the sizes of neural networks; of runs with one name but several sizes, all of them."""
    table = one.data.networks
    if table is None:
        return
    for model, rows in table[table["model"].isin(NEURAL)].groupby("model", sort=False):
        for column in ("layers", "hidden", "embedding"):
            values = sorted(set(rows[column]))
            yield StudyCell(
                source=one.source, row=str(model), column=column, value=float(values[0]),
                text="" if len(values) == 1 else ", ".join(map(str, values)),
            )  # fmt: skip


def length_cells(one: Evidence) -> Iterator[StudyCell]:
    """Yield the share of sentences by length in each training corpus, and the longest."""
    table = one.data.lengths
    if table is None:
        return
    table = table[(table["split"] == "train") & (table["sentences"] > 0)]
    for corpus, rows in table.groupby("corpus", sort=False):
        total = float(rows["sentences"].sum())
        bins = (rows["length"] - 1).clip(0, 10 * len(_LENGTHS) - 1) // 10
        counts = rows.groupby(bins)["sentences"].sum()
        keys: dict[str, Any] = {"source": one.source, "row": str(corpus)}
        for number, column in enumerate(_LENGTHS):
            share = 100.0 * float(counts.get(number, 0)) / total
            yield StudyCell(panel="share", column=column, value=share, text=f"{share:.2f}", **keys)
        longest = float(rows["length"].max())
        yield StudyCell(panel="longest", column="words", value=longest, **keys)
