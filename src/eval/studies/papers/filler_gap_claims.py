"""The claims of Ozaki et al. 2022, each judged by the data of a source.

The paper tests two LSTMs, Google's and Gulordava's. What it says of both is claimed of all models
of a source here; what it says of one of them only is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gardenpath.eval.statistics.questions.wording import prose_name, rounded
from gardenpath.eval.studies.evidence import WITH_GAP, WITHOUT_GAP, Evidence
from gardenpath.eval.studies.papers.filler_gap_measures import (
    CLEFTS,
    FILLER_GAP_CONSTRUCTIONS,
    POSITIONS,
    SENTENCE_METRICS,
    STUDY_1,
    STUDY_2,
    EffectCheck,
    EffectFinder,
    effects,
    flips,
    frequency_correlations,
    is_affected,
    is_better,
    is_worse,
    metric_direction,
    tends_to_be_better,
)
from gardenpath.eval.studies.study_spec import ClaimSpec, Judgement, depends, judged, untested
from gardenpath.text import plural

# Number of cells that a reason names.
_SHOWN = 4

# An analysis and what is found in its estimates.
_Effect = tuple[str, EffectFinder]


def _counted(
    one: Evidence, *, analysis: str, found: EffectFinder, kind: str, metrics: Sequence[str],
    names: Sequence[str], wanted: bool,
) -> Judgement:  # fmt: skip
    """Judge whether something is found for all models, metrics and constructions, or for none.

    The verdict depends on cells without an estimate if all others are as claimed.
    """
    results = {
        (metric, *key): is_found
        for metric in metrics
        for key, is_found in found(one, kind, metric).items()
        if key[2] in names
    }
    if not results:
        return untested(f"no estimates for these constructions: {one.why_not(analysis)}")
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
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return "; ".join(names[:_SHOWN]) + more


def _model(model: str, corpus: str) -> str:
    return prose_name(model) + (f" ({prose_name(corpus)})" if corpus else "")


def _learnt_in_order(one: Evidence) -> Judgement:
    """Judge whether embedded questions have the strongest, topicalisation the weakest effect."""
    strengths: dict[tuple[str, str, str], dict[str, float]] = {}
    for metric in SENTENCE_METRICS:
        for row in one.estimates("interaction", **{"class": STUDY_2, "metric": metric}):
            key = (metric, str(row["model"]), str(row["corpus"]))
            strength = -metric_direction(metric) * float(row["estimate"])
            strengths.setdefault(key, {})[str(row["modifier"])] = strength
    full = [found for found in strengths.values() if {"embwhq", "topic"} < set(found)]
    if not full:
        return untested("needs embedded questions, topicalisation and other constructions")
    best = sum(max(found, key=found.__getitem__) == "embwhq" for found in full)
    worst = sum(min(found, key=found.__getitem__) == "topic" for found in full)
    said = (
        f"embedded questions strongest in {best}, topicalisation weakest in {worst} of {len(full)}"
    )
    return judged(best == worst == len(full), f"{said} models and metrics")


def _frequent_is_learnt(one: Evidence) -> Judgement:
    """Judge whether frequent constructions interact more, in all models and metrics."""
    found = {key: it.r for key, it in frequency_correlations(one).items() if key[3] == "wsj"}
    if not found:
        return untested("needs different estimates for at least three constructions")
    said = "; ".join(
        f"{_model(model, corpus)}, {prose_name(metric)} {rounded(r)}"
        for (metric, model, corpus, _), r in found.items()
    )
    is_so = all(r * metric_direction(metric) < 0 for (metric, *_), r in found.items())
    return judged(is_so, f"Pearson's r: {said}")


_LOCAL, _GLOBAL, _SLOR = SENTENCE_METRICS


def _claim(
    place: str, text: str, effect: _Effect, kind: str, metrics: Sequence[str], *names: str,
    wanted: bool = True,
) -> ClaimSpec:  # fmt: skip
    analysis, found = effect
    judge = partial(
        _counted, analysis=analysis, found=found, kind=kind, metrics=metrics, names=names,
        wanted=wanted,
    )  # fmt: skip
    return ClaimSpec(place, text, judge)


def _effect(analysis: str, check: EffectCheck, gap: str | None = None) -> _Effect:
    return analysis, partial(effects, analysis=analysis, check=check, gap=gap)


_FLIP: _Effect = ("flip", flips)
_INTERACTION = _effect("interaction", is_better)
_DIVISION = _effect("division", is_better)
_DIVISION_TREND = _effect("division", tends_to_be_better)
_HURT_BY_ISLANDS = _effect("islandhood", is_worse, WITH_GAP)

FILLER_GAP_CLAIMS = (
    _claim(
        "section 3.3, Figure 1a",
        "Local surprisal flips for subject, object and prepositional gaps.",
        _FLIP, STUDY_1, [_LOCAL], *POSITIONS,
    ),
    _claim(
        "sections 3.4 and 3.5, Figure 1b, c",
        "Global surprisal and SLOR do not flip for object and prepositional gaps.",
        _FLIP, STUDY_1, [_GLOBAL, _SLOR], *POSITIONS[1:], wanted=False,
    ),
    _claim(
        "sections 3.4 and 3.5",
        "Grammatical sentences have lower global surprisal and higher SLOR for all gaps, "
        "significantly or not.",
        _DIVISION_TREND, STUDY_1, [_GLOBAL, _SLOR],
        *POSITIONS,
    ),
    _claim(
        "section 3.4",
        "Grammatical sentences have significantly lower global surprisal with subject gaps.",
        _DIVISION, STUDY_1, [_GLOBAL], "subject",
    ),
    _claim(
        "section 3.4",
        "This difference is not significant with object and prepositional gaps.",
        _DIVISION, STUDY_1, [_GLOBAL], *POSITIONS[1:], wanted=False,
    ),
    _claim(
        "section 3.5",
        "Grammatical sentences have significantly higher SLOR with subject and object gaps.",
        _DIVISION, STUDY_1, [_SLOR], *POSITIONS[:2],
    ),
    _claim(
        "section 3.5",
        "This difference is not significant with prepositional gaps.",
        _DIVISION, STUDY_1, [_SLOR], POSITIONS[2], wanted=False,
    ),
    _claim(
        "section 4.1, Figure 2",
        "Licensors and gaps interact for embedded questions in all metrics.",
        _INTERACTION, STUDY_2, SENTENCE_METRICS, "embwhq",
    ),
    _claim(
        "section 4.1, Figure 2",
        "Licensors and gaps interact for clefts and comparatives in global surprisal and SLOR.",
        _INTERACTION, STUDY_2, [_GLOBAL, _SLOR], *CLEFTS, "comp_quant",
    ),
    ClaimSpec(
        "section 4.4",
        "Embedded questions are learnt best and topicalisation worst.",
        _learnt_in_order,
    ),
    _claim(
        "section 4.2, Figure 3",
        "Embedded questions flip in all metrics.",
        _FLIP, STUDY_2, SENTENCE_METRICS, "embwhq",
    ),
    _claim(
        "section 4.2, Figure 3",
        "Clefts and comparatives flip in global surprisal.",
        _FLIP, STUDY_2, [_GLOBAL], *CLEFTS, "comp_quant",
    ),
    _claim(
        "section 4.2, Figure 3",
        "Comparatives do not flip in local surprisal and SLOR.",
        _FLIP, STUDY_2, [_LOCAL, _SLOR], "comp_quant", wanted=False,
    ),
    _claim(
        "section 4.2, Figure 3",
        "Clefts do not flip in SLOR.",
        _FLIP, STUDY_2, [_SLOR], *CLEFTS, wanted=False,
    ),
    _claim(
        "section 4.2, Figure 3",
        "Topicalisation and tough-movement flip in no metric.",
        _FLIP, STUDY_2, SENTENCE_METRICS, "topic", "tough", wanted=False,
    ),
    _claim(
        "section 4.2, Figure 4",
        "Without a gap, islands do not change the effect of the licensor.",
        _effect("islandhood", is_affected, WITHOUT_GAP), STUDY_2,
        SENTENCE_METRICS, *FILLER_GAP_CONSTRUCTIONS, wanted=False,
    ),
    _claim(
        "section 4.2, Figure 4",
        "With a gap, islands make embedded questions worse in all metrics.",
        _HURT_BY_ISLANDS, STUDY_2, SENTENCE_METRICS, "embwhq",
    ),
    _claim(
        "section 4.2, Figure 4",
        "With a gap, islands make clefts and comparatives worse in local and global surprisal.",
        _HURT_BY_ISLANDS, STUDY_2, [_LOCAL, _GLOBAL], *CLEFTS, "comp_quant",
    ),
    _claim(
        "section 4.2, Figure 4",
        "With a gap, islands do not affect topicalisation.",
        _effect("islandhood", is_affected, WITH_GAP), STUDY_2,
        SENTENCE_METRICS, "topic", wanted=False,
    ),
    _claim(
        "section 4.3, Figure 5a",
        "Grammatical clefts, comparatives and embedded questions have lower global surprisal.",
        _DIVISION, STUDY_2, [_GLOBAL], *CLEFTS, "comp_quant", "embwhq",
    ),
    _claim(
        "section 4.3, Figure 5b",
        "Grammatical clefts, comparatives and embedded questions have higher SLOR, significantly "
        "or not.",
        _DIVISION_TREND, STUDY_2, [_SLOR],
        *CLEFTS, "comp_quant", "embwhq",
    ),
    _claim(
        "section 4.3, Figure 5a, b",
        "Grammatical topicalisations have higher global surprisal and lower SLOR.",
        _DIVISION_TREND, STUDY_2, [_GLOBAL, _SLOR],
        "topic", wanted=False,
    ),
    _claim(
        "section 4.3, Figure 5c",
        "Each embedding raises the global surprisal of grammatical clefts and embedded questions.",
        _effect("depth", is_worse), STUDY_2, [_GLOBAL], *CLEFTS, "embwhq",
    ),
    _claim(
        "section 4.3, Figure 5d",
        "Each embedding lowers the SLOR of grammatical embedded questions.",
        _effect("depth", is_worse), STUDY_2, [_SLOR], "embwhq",
    ),
    _claim(
        "section 4.3, Figure 5c, d",
        "Each embedding lowers the global surprisal of grammatical topicalisations and raises "
        "their SLOR.",
        _effect("depth", is_better), STUDY_2, [_GLOBAL, _SLOR], "topic",
    ),
    ClaimSpec(
        "section 5, Table 1",
        "Licensors and gaps interact more strongly in constructions that are more frequent in WSJ.",
        _frequent_is_learnt,
    ),
)  # fmt: skip
