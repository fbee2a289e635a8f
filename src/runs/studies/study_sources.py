"""The sources of a study: released surprisals and runs of our own, with their analyses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gardenpath.console import show_counting, show_progress
from gardenpath.data.data_settings import DataSettings
from gardenpath.eval.display import EXACT
from gardenpath.eval.report.shown_analyses import run_analyses
from gardenpath.eval.statistics.choices import Correction, Weighting
from gardenpath.eval.statistics.corpora.corpus_statistics import (
    lengths_frame,
    statistics_frame,
    statistics_of,
)
from gardenpath.eval.statistics.corpora.patterns import construction_counts, counts_table
from gardenpath.eval.studies.evidence import Evidence
from gardenpath.eval.studies.study_parts import StudyData
from gardenpath.eval.usable import counted_with, is_enough, usable_counts
from gardenpath.runs.perplexities import perplexities_of_runs
from gardenpath.runs.results import Results
from gardenpath.runs.run import Run

if TYPE_CHECKING:
    import pandas as pd

# A study judges a model by its results in classes of suites.
_GROUP = ["model", "corpus", "class"]
# Words whose frequency in training corpora a study reports.
_COUNTED_WORDS = ("themselves", "himself", "herself")


@dataclass(frozen=True, kw_only=True)
class CorpusTables:
    """What a study says about corpora; None if it was not computed.

    ``perplexity`` are perplexities of runs on one corpus, ``statistics`` and ``lengths`` describe
    training corpora, ``constructions`` counts the constructions in treebanks, and ``networks`` has
    the sizes of neural networks.
    """

    perplexity: pd.DataFrame | None = None
    statistics: pd.DataFrame | None = None
    lengths: pd.DataFrame | None = None
    constructions: pd.DataFrame | None = None
    networks: pd.DataFrame | None = None


def study_evidence(
    study: str,
    source: str,
    results: Results,
    *,
    corpora: CorpusTables | None = None,
    correction: Correction | None = None,
    weights: Weighting = "none",
) -> Evidence:
    """Return the data of one source of a study, with the results of the study's analyses.

    ``correction`` adjusts p values for the number of tests of each analysis, ``weights`` are those
    of rows in linear mixed models. Models are left out in
    classes for which they have too few usable items, so that no claim is judged by these.
    """
    known = corpora or CorpusTables()
    tables = (results.items, results.effects, results.sentences, results.surprisals)
    items, effects, sentences, surprisals = _with_enough_items(results, map(_of_models, tables))
    data = StudyData(
        source=source,
        items=items,
        effects=effects,
        sentences=sentences,
        surprisals=surprisals,
        perplexity=known.perplexity,
        corpora=known.statistics,
        lengths=known.lengths,
        constructions=known.constructions,
        networks=known.networks,
    )
    found = run_analyses(
        items,
        effects,
        sentences,
        study=study,
        correction=correction,
        weights=weights,
        min_items=results.min_items,
    )
    return Evidence(data, {one.analysis.name: one for one in found})


def left_out(results: Results) -> list[str]:
    """Return the models and classes that a study leaves out, with the numbers of usable items."""
    if results.items.empty:
        return []
    few = counted_with(_of_models(results.items), _GROUP, results.min_items)
    return [f"{name} is left out: {reason}" for name, reason in few]


def _with_enough_items(
    results: Results, tables: Iterable[pd.DataFrame]
) -> tuple[pd.DataFrame, ...]:
    """Return tables without the models and classes that have too few usable items."""
    found = tuple(tables)
    if results.items.empty:
        return found
    counts = usable_counts(results.items, _GROUP)
    enough = [
        is_enough(usable, of, results.min_items)
        for usable, of in zip(counts["usable"], counts["items"], strict=True)
    ]
    few = counts[~np.array(enough)]
    if few.empty:
        return found
    classes = results.items.drop_duplicates("suite").set_index("suite")["class"]
    out = set(few[_GROUP].itertuples(index=False, name=None))
    kept = []
    for table in found:
        kinds = table["class"] if "class" in table.columns else table["suite"].map(classes)
        groups = zip(table["model"], table["corpus"], kinds, strict=True)
        kept.append(table[[group not in out for group in groups]])
    return tuple(kept)


def _of_models(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models; exact grammars are a yardstick, not a subject."""
    return table[table["model"] != EXACT]


def corpus_tables(
    runs: Sequence[Run],
    corpora: Sequence[DataSettings],
    *,
    cache: Path,
    perplexity: bool,
    marginal: int | None,
    allow_unknown: bool = False,
) -> CorpusTables:
    """Describe the named corpora.

    With ``perplexity``, that of all runs on the first corpus is measured, too; ``marginal`` is the
    number of sentences on which syntactic models are searched.
    """
    networks = _networks(runs)
    if not corpora:
        return CorpusTables(networks=networks)
    statistics = [
        one
        for data in corpora
        for one in statistics_of(data, cache=cache, words=_COUNTED_WORDS, progress=show_counting)
    ]
    counts = [
        one for data in corpora if data.language == "en" and data.reader.has_trees
        for one in construction_counts(data, progress=show_progress)
    ]  # fmt: skip
    measured = None
    if runs and perplexity:
        measured = perplexities_of_runs(
            runs,
            corpora=corpora[:1],
            marginal_sentences=marginal,
            allow_unknown=allow_unknown,
        )
    return CorpusTables(
        perplexity=measured,
        statistics=statistics_frame(statistics),
        lengths=lengths_frame(statistics),
        constructions=counts_table(counts) if counts else None,
        networks=networks,
    )


def _networks(runs: Sequence[Run]) -> pd.DataFrame | None:
    """Return the size of the network of each neural run; None if there is none."""
    import pandas as pd

    found = []
    for run in runs:
        shape = getattr(getattr(run.settings.model, "network", None), "shape", None)
        if shape is not None:
            # The embeddings of Transformers are as wide as their states.
            widths = {
                "hidden": shape.hidden,
                "embedding": getattr(shape, "embedding", shape.hidden),
            }
            name = {"model": run.name.model, "corpus": run.name.corpus}
            found.append({**name, "layers": shape.layers, **widths})
    return pd.DataFrame(found) if found else None
