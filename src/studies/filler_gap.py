"""Ozaki et al. 2022: filler-gap constructions, measured locally, globally and by SLOR.

``replicate`` computes ``FILLER_GAP`` from runs on our own suites; the materials were not released.
Flips and other effects come first, then the claims of the paper, each judged by the data of a
source, then the cells of its tables and figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from gardenpath.errors import StatisticsError
from gardenpath.eval.means import bootstrap_mean
from gardenpath.eval.statistics.answers import prose_name, rounded
from gardenpath.eval.statistics.inference import Correlation, pearson
from gardenpath.studies.compared import published_part
from gardenpath.studies.study import (
    WITH_GAP,
    WITHOUT_GAP,
    ClaimSpec,
    Evidence,
    FigureStyle,
    Judgement,
    PartSpec,
    StudyCell,
    StudySpec,
    depends,
    first_names,
    interval_cell,
    judged,
    significant,
    stars,
    untested,
)
from gardenpath.util import plural

STUDY_1, STUDY_2 = "filler_gap_study1", "filler_gap"
SENTENCE_METRICS = ("local_bits", "global_bits_per_word", "slor")
POSITIONS = ("subject", "object", "prepositional")
CLEFTS = ("cleft_adj", "cleft_noun")
FILLER_GAP_CONSTRUCTIONS = ("embwhq", "comp_quant", *CLEFTS, "tough", "topic")

# Constructions of treebanks, where both kinds of clefts are one.
_COUNTED = {
    "cleft": CLEFTS,
    **{name: (name,) for name in ("comp_quant", "embwhq", "topic", "tough")},
}
# Decimals of estimates that count: the others of exact fits are rounding errors, which would be
# correlated with anything.
_DECIMALS = 9

_Row = Mapping[str, Any]
# Whether there is an effect, by model, corpus and construction; and a function that finds it, given
# a class and a metric.
EffectsFound = dict[tuple[str, str, str], bool]
EffectFinder = Callable[[Evidence, str, str], EffectsFound]
# A check of an estimate, given the sign of effects that make sentences less acceptable.
EffectCheck = Callable[[_Row, int], bool]


def metric_direction(metric: str) -> int:
    """Return the sign of an effect that makes sentences less acceptable: surprisal rises."""
    return -1 if metric == "slor" else 1


def flips(evidence: Evidence, kind: str, metric: str) -> EffectsFound:
    """Return whether a metric flips, by model, corpus and construction."""
    rows = evidence.estimates("flip", **{"class": kind, "metric": metric})
    by_gap = {(*_key(row), str(row["gap"])): row for row in rows}
    worse = metric_direction(metric)
    return {
        key: significant(by_gap[*key, WITHOUT_GAP], worse)
        and significant(by_gap[*key, WITH_GAP], -worse)
        for key in dict.fromkeys(_key(row) for row in rows)
        if {(*key, WITH_GAP), (*key, WITHOUT_GAP)} <= set(by_gap)
    }


def effects(
    evidence: Evidence, kind: str, metric: str, *, analysis: str, check: str,
    gap: str | None = None,
) -> EffectsFound:  # fmt: skip
    """Return whether an effect passes a check, by construction; with or without a gap only."""
    wanted = {"class": kind, "metric": metric} | ({} if gap is None else {"gap": gap})
    worse = metric_direction(metric)
    return {_key(row): _CHECKS[check](row, worse) for row in evidence.estimates(analysis, **wanted)}


def _key(row: _Row) -> tuple[str, str, str]:
    return str(row["model"]), str(row["corpus"]), str(row["modifier"])


_CHECKS: Mapping[str, EffectCheck] = {
    "better": lambda row, worse: significant(row, -worse),
    "worse": significant,
    # Significantly or not.
    "tends to be better": lambda row, worse: bool(row["estimate"] * worse < 0),
    "affected": lambda row, worse: significant(row, worse) or significant(row, -worse),
}


def frequency_correlations(evidence: Evidence) -> dict[tuple[str, str, str, str], Correlation]:
    """Correlate interaction and frequency, by metric, model, its corpus, and treebank.

    The estimates of both kinds of clefts are averaged.
    """
    strengths: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in evidence.estimates("interaction", **{"class": STUDY_2}):
        key = (str(row["metric"]), str(row["model"]), str(row["corpus"]))
        estimate = round(float(row["estimate"]), _DECIMALS)
        strengths.setdefault(key, {})[str(row["modifier"])] = estimate
    correlations = {}
    for treebank, counts in construction_frequencies(evidence).items():
        for key, means in strengths.items():
            parts = {
                name: names
                for name, names in _COUNTED.items()
                if name in counts and {*names} <= {*means}
            }
            values = [sum(means[name] for name in names) / len(names) for names in parts.values()]
            # Too few constructions, or the same estimate for all: no correlation.
            with suppress(StatisticsError):
                correlations[*key, treebank] = pearson([counts[name] for name in parts], values)
    return correlations


def construction_frequencies(evidence: Evidence) -> dict[str, dict[str, float]]:
    """Return counts by treebank: the published ones, and those of the user's treebanks."""
    printed = published_part("filler_gap", "Table 2").values["printed"]
    rows = [(corpus, name, value.value) for (_, name, corpus), value in printed.items()]
    if evidence.data.constructions is not None:
        own = evidence.data.constructions[["corpus", "construction", "count"]]
        rows += own.itertuples(index=False, name=None)
    frequencies: dict[str, dict[str, float]] = {}
    for corpus, name, count in rows:
        frequencies.setdefault(str(corpus), {})[str(name)] = float(count)
    return frequencies


# The claims, each judged by the data of a source.
#
# The paper tests two LSTMs, Google's and Gulordava's. What it says of both is claimed of all
# models of a source here; what it says of one of them only is left out.

# Number of cells that a reason names.
_SHOWN = 4

# An analysis and what is found in its estimates.
_Effect = tuple[str, EffectFinder]


def _counted(
    evidence: Evidence, *, analysis: str, find: EffectFinder, kind: str, metrics: Sequence[str],
    names: Sequence[str], wanted: bool,
) -> Judgement:  # fmt: skip
    """Judge whether something is found for all models, metrics and constructions, or for none.

    The verdict depends on cells without an estimate if all others are as claimed.
    """
    results = {
        (metric, *key): is_found
        for metric in metrics
        for key, is_found in find(evidence, kind, metric).items()
        if key[2] in names
    }
    if not results:
        return untested(f"no estimates for these constructions: {evidence.why_not(analysis)}")
    others = [key for key, is_found in results.items() if is_found != wanted]
    said = f"{len(results) - len(others)} of {plural(len(results), 'cell')} as claimed"
    said += f"; not {_cells(others)}" if others else ""
    models = dict.fromkeys((model, corpus) for _, model, corpus, _ in results)
    expected = ((metric, *run, name) for metric in metrics for run in models for name in names)
    unknown = [key for key in expected if key not in results]
    if unknown and not others:
        return depends(f"cells without an estimate: {_cells(unknown)}; {said}")
    return judged(not others, said + (f"; no estimate for {_cells(unknown)}" if unknown else ""))


def _cells(keys: Sequence[tuple[str, str, str, str]]) -> str:
    """Return the first cells in words; keys are metric, model, corpus and construction."""
    names = [
        f"{_model(model, corpus)}, {prose_name(name)}, {prose_name(metric)}"
        for metric, model, corpus, name in keys
    ]
    return first_names(names, _SHOWN)


def _model(model: str, corpus: str) -> str:
    return prose_name(model) + (f" ({prose_name(corpus)})" if corpus else "")


def _learnt_in_order(evidence: Evidence) -> Judgement:
    strengths: dict[tuple[str, str, str], dict[str, float]] = {}
    for metric in SENTENCE_METRICS:
        for row in evidence.estimates("interaction", **{"class": STUDY_2, "metric": metric}):
            key = (metric, str(row["model"]), str(row["corpus"]))
            strength = -metric_direction(metric) * float(row["estimate"])
            strengths.setdefault(key, {})[str(row["modifier"])] = strength
    full = [values for values in strengths.values() if {"embwhq", "topic"} < set(values)]
    if not full:
        return untested("needs embedded questions, topicalisation and other constructions")
    best = sum(max(values, key=values.__getitem__) == "embwhq" for values in full)
    worst = sum(min(values, key=values.__getitem__) == "topic" for values in full)
    said = (
        f"embedded questions strongest in {best}, topicalisation weakest in {worst} of {len(full)}"
    )
    return judged(best == worst == len(full), f"{said} models and metrics")


def _frequent_is_learnt(evidence: Evidence) -> Judgement:
    correlations = frequency_correlations(evidence).items()
    strengths = {key: value.r for key, value in correlations if key[3] == "wsj"}
    if not strengths:
        return untested("needs different estimates for at least three constructions")
    said = "; ".join(
        f"{_model(model, corpus)}, {prose_name(metric)} {rounded(r)}"
        for (metric, model, corpus, _), r in strengths.items()
    )
    is_so = all(r * metric_direction(metric) < 0 for (metric, *_), r in strengths.items())
    return judged(is_so, f"Pearson's r: {said}")


_LOCAL, _GLOBAL, _SLOR = SENTENCE_METRICS


def _claim(
    place: str, text: str, effect: _Effect, kind: str, metrics: Sequence[str], *names: str,
    wanted: bool = True,
) -> ClaimSpec:  # fmt: skip
    analysis, find = effect
    judge = partial(
        _counted, analysis=analysis, find=find, kind=kind, metrics=metrics, names=names,
        wanted=wanted,
    )  # fmt: skip
    return ClaimSpec(place, text, judge)


def _effect(analysis: str, check: str, gap: str | None = None) -> _Effect:
    return analysis, partial(effects, analysis=analysis, check=check, gap=gap)


_FLIP: _Effect = ("flip", flips)
_INTERACTION = _effect("interaction", "better")
_DIVISION = _effect("division", "better")
_DIVISION_TREND = _effect("division", "tends to be better")
_HURT_BY_ISLANDS = _effect("islandhood", "worse", WITH_GAP)

FILLER_GAP_CLAIMS = (
    _claim("section 3.3, Figure 1a",
           "Local surprisal flips for subject, object and prepositional gaps.", _FLIP, STUDY_1,
           [_LOCAL], *POSITIONS),
    _claim("sections 3.4 and 3.5, Figure 1b, c",
           "Global surprisal and SLOR do not flip for object and prepositional gaps.", _FLIP,
           STUDY_1, [_GLOBAL, _SLOR], *POSITIONS[1:], wanted=False),
    _claim("sections 3.4 and 3.5",
           "Grammatical sentences have lower global surprisal and higher SLOR for all gaps, "
           "significantly or not.", _DIVISION_TREND, STUDY_1, [_GLOBAL, _SLOR], *POSITIONS),
    _claim("section 3.4",
           "Grammatical sentences have significantly lower global surprisal with subject gaps.",
           _DIVISION, STUDY_1, [_GLOBAL], "subject"),
    _claim("section 3.4", "This difference is not significant with object and prepositional gaps.",
           _DIVISION, STUDY_1, [_GLOBAL], *POSITIONS[1:], wanted=False),
    _claim("section 3.5",
           "Grammatical sentences have significantly higher SLOR with subject and object gaps.",
           _DIVISION, STUDY_1, [_SLOR], *POSITIONS[:2]),
    _claim("section 3.5", "This difference is not significant with prepositional gaps.", _DIVISION,
           STUDY_1, [_SLOR], POSITIONS[2], wanted=False),
    _claim("section 4.1, Figure 2",
           "Licensors and gaps interact for embedded questions in all metrics.", _INTERACTION,
           STUDY_2, SENTENCE_METRICS, "embwhq"),
    _claim("section 4.1, Figure 2",
           "Licensors and gaps interact for clefts and comparatives in global surprisal and SLOR.",
           _INTERACTION, STUDY_2, [_GLOBAL, _SLOR], *CLEFTS, "comp_quant"),
    ClaimSpec("section 4.4", "Embedded questions are learnt best and topicalisation worst.",
              _learnt_in_order),
    _claim("section 4.2, Figure 3", "Embedded questions flip in all metrics.", _FLIP, STUDY_2,
           SENTENCE_METRICS, "embwhq"),
    _claim("section 4.2, Figure 3", "Clefts and comparatives flip in global surprisal.", _FLIP,
           STUDY_2, [_GLOBAL], *CLEFTS, "comp_quant"),
    _claim("section 4.2, Figure 3", "Comparatives do not flip in local surprisal and SLOR.", _FLIP,
           STUDY_2, [_LOCAL, _SLOR], "comp_quant", wanted=False),
    _claim("section 4.2, Figure 3", "Clefts do not flip in SLOR.", _FLIP, STUDY_2, [_SLOR], *CLEFTS,
           wanted=False),
    _claim("section 4.2, Figure 3", "Topicalisation and tough-movement flip in no metric.", _FLIP,
           STUDY_2, SENTENCE_METRICS, "topic", "tough", wanted=False),
    _claim("section 4.2, Figure 4",
           "Without a gap, islands do not change the effect of the licensor.",
           _effect("islandhood", "affected", WITHOUT_GAP), STUDY_2, SENTENCE_METRICS,
           *FILLER_GAP_CONSTRUCTIONS, wanted=False),
    _claim("section 4.2, Figure 4",
           "With a gap, islands make embedded questions worse in all metrics.", _HURT_BY_ISLANDS,
           STUDY_2, SENTENCE_METRICS, "embwhq"),
    _claim("section 4.2, Figure 4",
           "With a gap, islands make clefts and comparatives worse in local and global surprisal.",
           _HURT_BY_ISLANDS, STUDY_2, [_LOCAL, _GLOBAL], *CLEFTS, "comp_quant"),
    _claim("section 4.2, Figure 4", "With a gap, islands do not affect topicalisation.",
           _effect("islandhood", "affected", WITH_GAP), STUDY_2, SENTENCE_METRICS, "topic",
           wanted=False),
    _claim("section 4.3, Figure 5a",
           "Grammatical clefts, comparatives and embedded questions have lower global surprisal.",
           _DIVISION, STUDY_2, [_GLOBAL], *CLEFTS, "comp_quant", "embwhq"),
    _claim("section 4.3, Figure 5b",
           "Grammatical clefts, comparatives and embedded questions have higher SLOR, "
           "significantly or not.", _DIVISION_TREND, STUDY_2, [_SLOR], *CLEFTS, "comp_quant",
           "embwhq"),
    _claim("section 4.3, Figure 5a, b",
           "Grammatical topicalisations have higher global surprisal and lower SLOR.",
           _DIVISION_TREND, STUDY_2, [_GLOBAL, _SLOR], "topic", wanted=False),
    _claim("section 4.3, Figure 5c",
           "Each embedding raises the global surprisal of grammatical clefts and embedded "
           "questions.", _effect("depth", "worse"), STUDY_2, [_GLOBAL], *CLEFTS, "embwhq"),
    _claim("section 4.3, Figure 5d",
           "Each embedding lowers the SLOR of grammatical embedded questions.",
           _effect("depth", "worse"), STUDY_2, [_SLOR], "embwhq"),
    _claim("section 4.3, Figure 5c, d",
           "Each embedding lowers the global surprisal of grammatical topicalisations and raises "
           "their SLOR.", _effect("depth", "better"), STUDY_2, [_GLOBAL, _SLOR], "topic"),
    ClaimSpec("section 5, Table 1",
              "Licensors and gaps interact more strongly in constructions that are more frequent "
              "in WSJ.", _frequent_is_learnt),
)  # fmt: skip


# The cells of tables and figures.

_NO_RUNS = "there are no runs on these suites"
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
    **{f"{key} {gap}": f"{name}, {sign}" for key, name in _METRIC_NAMES.items()
       for gap, sign in _GAPS.items()},
    **{f"{key} {place}": f"{name}, {place} gap" for key, name in _METRIC_NAMES.items()
       for place in POSITIONS},
    "comp_quant": "comparative",
    "cleft_adj": "cleft (adj.)",
    "cleft_noun": "cleft (noun)",
    "brown": "Brown",
    "wsj": "WSJ",
    **_MODELS,
}  # fmt: skip
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


def _row_labels(evidence: Evidence) -> dict[str, str]:
    """Return labels of models with their training corpus: ``LSTM (PTB)``."""
    labels = {}
    runs = evidence.data.sentences[["model", "corpus"]].drop_duplicates()
    for model, corpus in runs.itertuples(index=False, name=None):
        name = _LABELS.get(model, prose_name(model))
        labels[_row(model, corpus)] = name + (f" ({prose_name(corpus)})" if corpus else "")
    return labels


def _row(model: object, corpus: object) -> str:
    """Return the key of a model, with its training corpus if the paper has not one for it."""
    return str(model) if model in _MODELS else f"{model} {corpus}".strip()


def _estimated(
    evidence: Evidence, *, analysis: str, kind: str, metric: str | None = None
) -> Iterator[StudyCell]:
    """Yield estimates with intervals by construction and model.

    There is a panel for each metric, unless one is chosen, with and without a gap if the analysis
    separates them.
    """
    for row in sorted(evidence.estimates(analysis, **{"class": kind}), key=_place):
        if metric is not None and row["metric"] != metric:
            continue
        keys = [] if metric is not None else [str(row["metric"])]
        keys += [str(row["gap"])] if "gap" in row else []
        yield StudyCell(
            panel=" ".join(keys), row=_row(row["model"], row["corpus"]),
            column=str(row["modifier"]), value=row["estimate"], low=row["low"], high=row["high"],
            note=f"p = {row['p']:.4f}", stars=stars(row["p"]),
        )  # fmt: skip


def _effect_part(number: str, title: str, analysis: str, *key: str, **options: Any) -> PartSpec:
    """Return a part with the estimates of an analysis; ``key`` is a class, and maybe a metric."""
    cells = partial(_estimated, analysis=analysis, kind=key[0], metric=(*key, None)[1])
    return PartSpec(
        number=number, title=title, cells=cells, analysis=[analysis, *key], lacking=_NO_RUNS,
        **options,
    )  # fmt: skip


def _means(evidence: Evidence) -> Iterator[StudyCell]:
    """Yield the means of the variants of Study 1, with bootstrap intervals over sentences."""
    table = evidence.data.sentences
    table = table[table["class"] == STUDY_1]
    keys = ["modifier", "condition", "model", "corpus"]
    for metric in SENTENCE_METRICS:
        groups = dict(iter(table.groupby(keys, sort=False)))
        for name in sorted(groups, key=lambda name: _place(dict(zip(keys, name, strict=True)))):
            position, condition, model, corpus = name
            values = groups[name].groupby("item", sort=False)[metric].mean().dropna()
            if len(values):
                mean = bootstrap_mean(np.asarray(values, dtype=np.float64))
                place = {"panel": f"{metric} {position}", "row": _row(model, corpus)}
                yield interval_cell(mean, **place, column=str(condition))


def _counts(evidence: Evidence) -> Iterator[StudyCell]:
    table = evidence.data.constructions
    for row in [] if table is None else table.to_dict("records"):
        name, corpus, count = str(row["construction"]), str(row["corpus"]), float(row["count"])
        yield StudyCell(row=name, column=corpus, value=count)


def _correlations(evidence: Evidence) -> Iterator[StudyCell]:
    for (metric, model, corpus, treebank), known in frequency_correlations(evidence).items():
        row = _row(model, corpus)
        yield StudyCell(panel=metric, row=row, column=treebank, value=known.r, n=known.n)


# Metrics have different units.
_EFFECT = FigureStyle(y_label="effect", reference=0.0, same_scale=False)
_GLOBAL_STYLE = FigureStyle(y_label="effect in bits per word", reference=0.0)
_SLOR_STYLE = FigureStyle(y_label="effect in nats per word", reference=0.0)

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
        _effect_part("Section 3 flips", "Study 1: effect of the licensor with and without gap",
                     "flip", STUDY_1,
                     note="A flip: reliably positive without a gap and negative with one (SLOR: "
                     "the other way round). The paper prints signs of SLOR that are those of a "
                     "flip of surprisal."),
        _effect_part("Section 3 divisions", "Study 1: effect of grammaticality", "division",
                     STUDY_1),
        _effect_part("Figure 2", "Interaction of licensor and gap, no embedding", "interaction",
                     STUDY_2, style=_EFFECT),
        _effect_part("Figure 3", "Effect of the licensor with and without a gap, no embedding",
                     "flip", STUDY_2, style=_EFFECT),
        _effect_part("Figure 4", "Effect of islands on the licensor, one embedding", "islandhood",
                     STUDY_2, style=_EFFECT,
                     note="Interaction of licensor and island, with and without a gap."),
        _effect_part("Figure 5a", "Effect of grammaticality on global surprisal, no embedding",
                     "division", STUDY_2, _GLOBAL, style=_GLOBAL_STYLE),
        _effect_part("Figure 5b", "Effect of grammaticality on SLOR, no embedding", "division",
                     STUDY_2, _SLOR, style=_SLOR_STYLE),
        _effect_part("Figure 5c", "Grammaticality and depth: global surprisal, no islands", "depth",
                     STUDY_2, _GLOBAL, style=_GLOBAL_STYLE),
        _effect_part("Figure 5d", "Grammaticality and depth: SLOR, no islands", "depth", STUDY_2,
                     _SLOR, style=_SLOR_STYLE),
        PartSpec(
            number="Table 1", title="Correlation of the interaction with frequency (Pearson's r)",
            cells=_correlations, lacking="it needs different estimates for three constructions",
            analysis=["interaction", STUDY_2], digits=2,
            note="Over five constructions; the estimates of both kinds of clefts are averaged. "
            "Frequencies of Brown and WSJ are those that the paper prints in Table 2.",
        ),
        PartSpec(number="Table 2", title="Frequency of the constructions in treebanks",
                 cells=_counts,
                 lacking="no treebank was given; corpora=[brown,ptb] counts constructions",
                 digits=0),
    ),
)  # fmt: skip
