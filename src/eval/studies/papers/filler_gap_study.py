"""Ozaki et al. 2022: filler-gap constructions, measured locally, globally and by SLOR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from gardenpath.eval.statistics.inference.intervals import bootstrap_mean
from gardenpath.eval.statistics.questions.wording import prose_name
from gardenpath.eval.studies.evidence import WITH_GAP, WITHOUT_GAP, Evidence
from gardenpath.eval.studies.papers.filler_gap_claims import FILLER_GAP_CLAIMS
from gardenpath.eval.studies.papers.filler_gap_measures import (
    FILLER_GAP_CONSTRUCTIONS,
    POSITIONS,
    SENTENCE_METRICS,
    STUDY_1,
    STUDY_2,
    frequency_correlations,
)
from gardenpath.eval.studies.study_means import stars
from gardenpath.eval.studies.study_parts import FigureStyle, StudyCell
from gardenpath.eval.studies.study_spec import PartSpec, StudySpec

_VARIANTS = {
    "that_nogap": "−licensor −gap",
    "what_nogap": "+licensor −gap",
    "that_gap": "−licensor +gap",
    "what_gap": "+licensor +gap",
}
_METRIC_NAMES = {
    "local_bits": "local surprisal in bits",
    "global_bits_per_word": "global surprisal in bits per word",
    "slor": "SLOR in nats per word",
}
_GAPS = {WITHOUT_GAP: "−gap", WITH_GAP: "+gap"}
# The models of the paper, each trained on one corpus.
_MODELS = {"google": "Google", "gulordava": "Gulordava"}
_LABELS = {
    **_VARIANTS,
    **_METRIC_NAMES,
    **{
        f"{key} {gap}": f"{_METRIC_NAMES[key]}, {_GAPS[gap]}"
        for key in _METRIC_NAMES
        for gap in _GAPS
    },
    **{
        f"{key} {place}": f"{_METRIC_NAMES[key]}, {place} gap"
        for key in _METRIC_NAMES
        for place in POSITIONS
    },
    "comp_quant": "comparative",
    "cleft_adj": "cleft (adj.)",
    "cleft_noun": "cleft (noun)",
    "brown": "Brown",
    "wsj": "WSJ",
    **_MODELS,
}
# Orders in the paper's figures: of metrics, constructions or positions, and variants.
_ORDERS = {
    "metric": SENTENCE_METRICS,
    "gap": tuple(_GAPS),
    "modifier": (*POSITIONS, *FILLER_GAP_CONSTRUCTIONS),
    "condition": tuple(_VARIANTS),
}


def _place(row: Mapping[str, Any]) -> list[int]:
    """Return the place of a row in the paper's figures, for sorting."""
    return [
        order.index(row[column]) if row[column] in order else len(order)
        for column, order in _ORDERS.items()
        if column in row
    ]


def _row_labels(one: Evidence) -> dict[str, str]:
    """Return labels of models with their training corpus: ``LSTM (PTB)``."""
    runs = one.data.sentences[["model", "corpus"]].drop_duplicates().to_dict("records")
    return {
        _row(run): f"{_LABELS.get(run['model'], prose_name(run['model']))}"
        + (f" ({prose_name(run['corpus'])})" if run["corpus"] else "")
        for run in runs
    }


def _row(row: Mapping[str, Any]) -> str:
    """Return the key of a model, with its training corpus if the paper has not one for it."""
    model, corpus = str(row["model"]), str(row["corpus"])
    return model if model in _MODELS else f"{model} {corpus}".strip()


def _estimated(
    one: Evidence, *, analysis: str, kind: str, metric: str | None = None
) -> Iterator[StudyCell]:
    """Yield estimates with intervals by construction and model.

    There is a panel for each metric, unless one is chosen, with and without a gap if the analysis
    separates them.
    """
    for found in sorted(one.estimates(analysis, **{"class": kind}), key=_place):
        if metric is not None and found["metric"] != metric:
            continue
        keys = [] if metric is not None else [str(found["metric"])]
        keys += [str(found["gap"])] if "gap" in found else []
        yield StudyCell(
            source=one.source, panel=" ".join(keys), row=_row(found),
            column=str(found["modifier"]), value=found["estimate"], low=found["low"],
            high=found["high"], note=f"p = {found['p']:.4f}", stars=stars(found["p"]),
        )  # fmt: skip


def _of(analysis: str, kind: str, metric: str | None = None) -> Callable[..., Iterator[StudyCell]]:
    return partial(_estimated, analysis=analysis, kind=kind, metric=metric)


def _means(one: Evidence) -> Iterator[StudyCell]:
    """Yield the means of the variants of Study 1, with bootstrap intervals over sentences."""
    table = one.data.sentences
    table = table[table["class"] == STUDY_1]
    keys = ["modifier", "condition", "model", "corpus"]
    for metric in SENTENCE_METRICS:
        groups = dict(iter(table.groupby(keys, sort=False)))
        for name in sorted(groups, key=lambda name: _place(dict(zip(keys, name, strict=True)))):
            position, condition, model, corpus = name
            values = groups[name].groupby("item", sort=False)[metric].mean().dropna()
            if len(values):
                mean = bootstrap_mean(np.asarray(values, dtype=np.float64))
                yield StudyCell(
                    source=one.source, panel=f"{metric} {position}",
                    row=_row({"model": model, "corpus": corpus}), column=str(condition),
                    value=mean.mean,
                    low=mean.low, high=mean.high, n=mean.n,
                )  # fmt: skip


def _counts(one: Evidence) -> Iterator[StudyCell]:
    """Yield the frequency of each construction in the treebanks that were counted."""
    table = one.data.constructions
    if table is None:
        return
    for row in table.to_dict("records"):
        yield StudyCell(
            source=one.source, row=str(row["construction"]), column=str(row["corpus"]),
            value=float(row["count"]),
        )  # fmt: skip


def _correlations(one: Evidence) -> Iterator[StudyCell]:
    """Yield Pearson's r of the interaction with the frequency of constructions, by metric."""
    for (metric, model, corpus, treebank), found in frequency_correlations(one).items():
        yield StudyCell(
            source=one.source, panel=metric, row=_row({"model": model, "corpus": corpus}),
            column=treebank, value=found.r, n=found.n,
        )  # fmt: skip


# Metrics have different units.
_EFFECT = FigureStyle(y_label="effect", reference=0.0, same_scale=False)
_GLOBAL_STYLE = FigureStyle(y_label="effect in bits per word", reference=0.0)
_SLOR_STYLE = FigureStyle(y_label="effect in nats per word", reference=0.0)
_NO_RUNS = "there are no runs on these suites"

FILLER_GAP = StudySpec(
    name="filler_gap",
    title="Filler-gap constructions",
    reference="Ozaki, Yurovsky and Levin 2022",
    labels=_LABELS,
    row_labels=_row_labels,
    claims=FILLER_GAP_CLAIMS,
    parts=(
        PartSpec(
            number="Figure 1", title="Study 1: surprisal and SLOR of the four variants",
            cells=_means, lacking=_NO_RUNS, style=FigureStyle(y_label="mean", same_scale=False),
            note="Means with bootstrap intervals over sentences. The paper prints no numbers.",
        ),
        PartSpec(
            number="Section 3 flips", title="Study 1: effect of the licensor with and without gap",
            cells=_of("flip", STUDY_1), analysis=["flip", STUDY_1],
            lacking=_NO_RUNS,
            note="A flip: reliably positive without a gap and negative with one (SLOR: the other "
            "way round). The paper prints signs of SLOR that are those of a flip of surprisal.",
        ),
        PartSpec(
            number="Section 3 divisions", title="Study 1: effect of grammaticality",
            cells=_of("division", STUDY_1), analysis=["division", STUDY_1],
            lacking=_NO_RUNS,
        ),
        PartSpec(
            number="Figure 2", title="Interaction of licensor and gap, no embedding",
            cells=_of("interaction", STUDY_2), analysis=["interaction", STUDY_2],
            lacking=_NO_RUNS, style=_EFFECT,
        ),
        PartSpec(
            number="Figure 3", title="Effect of the licensor with and without a gap, no embedding",
            cells=_of("flip", STUDY_2), analysis=["flip", STUDY_2],
            lacking=_NO_RUNS,
            style=_EFFECT,
        ),
        PartSpec(
            number="Figure 4", title="Effect of islands on the licensor, one embedding",
            cells=_of("islandhood", STUDY_2), analysis=["islandhood", STUDY_2],
            lacking=_NO_RUNS, style=_EFFECT,
            note="Interaction of licensor and island, with and without a gap.",
        ),
        PartSpec(
            number="Figure 5a", title="Effect of grammaticality on global surprisal, no embedding",
            cells=_of("division", STUDY_2, "global_bits_per_word"),
            analysis=["division", STUDY_2, "global_bits_per_word"],
            lacking=_NO_RUNS, style=_GLOBAL_STYLE,
        ),
        PartSpec(
            number="Figure 5b", title="Effect of grammaticality on SLOR, no embedding",
            cells=_of("division", STUDY_2, "slor"), analysis=["division", STUDY_2, "slor"],
            lacking=_NO_RUNS, style=_SLOR_STYLE,
        ),
        PartSpec(
            number="Figure 5c", title="Grammaticality and depth: global surprisal, no islands",
            cells=_of("depth", STUDY_2, "global_bits_per_word"),
            analysis=["depth", STUDY_2, "global_bits_per_word"],
            lacking=_NO_RUNS, style=_GLOBAL_STYLE,
        ),
        PartSpec(
            number="Figure 5d", title="Grammaticality and depth: SLOR, no islands",
            cells=_of("depth", STUDY_2, "slor"), analysis=["depth", STUDY_2, "slor"],
            lacking=_NO_RUNS,
            style=_SLOR_STYLE,
        ),
        PartSpec(
            number="Table 1", title="Correlation of the interaction with frequency (Pearson's r)",
            cells=_correlations, lacking="it needs different estimates for three constructions",
            analysis=["interaction", STUDY_2], digits=2,
            note="Over five constructions; the estimates of both kinds of clefts are averaged. "
            "Frequencies of Brown and WSJ are those that the paper prints in Table 2.",
        ),
        PartSpec(
            number="Table 2", title="Frequency of the constructions in treebanks", cells=_counts,
            lacking="no treebank was given; corpora=[brown,ptb] counts constructions",
            digits=0,
        ),
    ),
)  # fmt: skip
