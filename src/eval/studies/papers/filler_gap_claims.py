"""The claims of Ozaki et al. 2022, each judged by the data of a source.

The paper tests two LSTMs. A claim about both is reproduced if it judged for all models of a source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gardenpath.eval.statistics.questions.wording import prose_name
from gardenpath.eval.studies.evidence import WITH_GAP, WITHOUT_GAP, Evidence, significant
from gardenpath.eval.studies.study_spec import ClaimSpec, Judgement, judged, untested

SENTENCE_METRICS = ("local_bits", "global_bits_per_word", "slor")
POSITIONS = ("subject", "object", "prepositional")

_CLEFTS = ("cleft_adj", "cleft_noun")

_Row = Mapping[str, Any]
# Whether something is found, by model, corpus and construction; and how it is found for a class
# and a metric.
_Found = dict[tuple[str, str, str], bool]
_Finder = Callable[[Evidence, str, str], _Found]


def _direction(metric: str) -> int:
    """Return the sign of an effect that makes sentences less acceptable: surprisal rises."""
    return -1 if metric == "slor" else 1


def _key(row: _Row) -> tuple[str, str, str]:
    return str(row["model"]), str(row["corpus"]), str(row["modifier"])


def _flips(one: Evidence, kind: str, metric: str) -> _Found:
    """Return whether a metric flips, by model, corpus and construction."""
    rows = one.estimates("flip", **{"class": kind, "metric": metric})
    by_gap = {(*_key(row), str(row["gap"])): row for row in rows}
    worse = _direction(metric)
    return {
        key: significant(by_gap[*key, WITHOUT_GAP], worse)
        and significant(by_gap[*key, WITH_GAP], -worse)
        for key in dict.fromkeys(_key(row) for row in rows)
        if {(*key, WITH_GAP), (*key, WITHOUT_GAP)} <= set(by_gap)
    }


def _better(analysis: str, one: Evidence, kind: str, metric: str) -> _Found:
    """Return whether an effect makes sentences significantly more acceptable, by construction."""
    rows = one.estimates(analysis, **{"class": kind, "metric": metric})
    return {_key(row): significant(row, -_direction(metric)) for row in rows}


def _worse(analysis: str, one: Evidence, kind: str, metric: str) -> _Found:
    """Return whether an effect makes sentences significantly less acceptable."""
    rows = one.estimates(analysis, **{"class": kind, "metric": metric})
    return {_key(row): significant(row, _direction(metric)) for row in rows}


def _in_all(
    one: Evidence, *, found: _Finder, kind: str, metrics: Sequence[str], names: Sequence[str]
) -> Judgement:
    """Judge whether something is found for all models, metrics and constructions."""
    return _counted(one, found=found, kind=kind, metrics=metrics, names=names, wanted=True)


def _in_none(
    one: Evidence, *, found: _Finder, kind: str, metrics: Sequence[str], names: Sequence[str]
) -> Judgement:
    """Judge whether something is found for no model, metric and construction."""
    return _counted(one, found=found, kind=kind, metrics=metrics, names=names, wanted=False)


def _counted(
    one: Evidence, *, found: _Finder, kind: str, metrics: Sequence[str], names: Sequence[str],
    wanted: bool,
) -> Judgement:  # fmt: skip
    results = {
        (metric, *key): is_found
        for metric in metrics
        for key, is_found in found(one, kind, metric).items()
        if key[2] in names
    }
    if not results:
        return untested("there are no estimates for these constructions")
    others = [key for key, is_found in results.items() if is_found != wanted]
    share = f"{len(results) - len(others)} of {len(results)} cells as claimed"
    shown = "; ".join(
        f"{prose_name(model)}, {prose_name(name)}, {prose_name(metric.split('_')[0])}"
        for metric, model, _, name in others[:4]
    )
    return judged(not others, share + (f"; not {shown}" if others else ""))


def _learnt_in_order(one: Evidence) -> Judgement:
    """Judge whether embedded questions have the strongest, topicalisation the weakest effect."""
    strengths: dict[tuple[str, str, str], dict[str, float]] = {}
    for metric in SENTENCE_METRICS:
        for row in one.estimates("interaction", **{"class": "filler_gap", "metric": metric}):
            key = (metric, str(row["model"]), str(row["corpus"]))
            strength = -_direction(metric) * float(row["estimate"])
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


_STUDY_1, _STUDY_2 = "filler_gap_study1", "filler_gap"

_interaction = partial(_better, "interaction")
_division = partial(_better, "division")
_depth = partial(_worse, "depth")

FILLER_GAP_CLAIMS = (
    ClaimSpec(
        "section 3.3, Figure 1a",
        "Local surprisal flips for subject, object and prepositional gaps.",
        partial(
            _in_all, found=_flips, kind=_STUDY_1, metrics=("local_bits",), names=POSITIONS
        ),
    ),
    ClaimSpec(
        "sections 3.4 and 3.5, Figure 1b, c",
        "Global surprisal and SLOR do not flip for object and prepositional gaps.",
        partial(
            _in_none, found=_flips, kind=_STUDY_1, metrics=SENTENCE_METRICS[1:], names=POSITIONS[1:]
        ),
    ),
    ClaimSpec(
        "section 3.4",
        "Grammatical sentences have significantly lower global surprisal with subject gaps.",
        partial(
            _in_all, found=_division, kind=_STUDY_1, metrics=("global_bits_per_word",),
            names=("subject",),
        ),
    ),
    ClaimSpec(
        "section 3.4",
        "The difference is not significant with object and prepositional gaps.",
        partial(
            _in_none, found=_division, kind=_STUDY_1, metrics=("global_bits_per_word",),
            names=POSITIONS[1:],
        ),
    ),
    ClaimSpec(
        "section 3.5",
        "Grammatical sentences have significantly higher SLOR with subject and object gaps.",
        partial(
            _in_all, found=_division, kind=_STUDY_1, metrics=("slor",), names=POSITIONS[:2]
        ),
    ),
    ClaimSpec(
        "section 4.1, Figure 2",
        "Licensors and gaps interact for embedded questions in all metrics.",
        partial(
            _in_all, found=_interaction, kind=_STUDY_2, metrics=SENTENCE_METRICS, names=("embwhq",)
        ),
    ),
    ClaimSpec(
        "section 4.4",
        "Embedded questions are learnt best and topicalisation worst.",
        _learnt_in_order,
    ),
    ClaimSpec(
        "section 4.2, Figure 3",
        "Embedded questions flip in all metrics.",
        partial(_in_all, found=_flips, kind=_STUDY_2, metrics=SENTENCE_METRICS, names=("embwhq",)),
    ),
    ClaimSpec(
        "section 4.2, Figure 3",
        "Topicalisation and tough-movement flip in no metric.",
        partial(
            _in_none, found=_flips, kind=_STUDY_2, metrics=SENTENCE_METRICS,
            names=("topic", "tough"),
        ),
    ),
    ClaimSpec(
        "section 4.3, Figure 5a",
        "Grammatical clefts, comparatives and embedded questions have lower global surprisal.",
        partial(
            _in_all, found=_division, kind=_STUDY_2, metrics=("global_bits_per_word",),
            names=(*_CLEFTS, "comp_quant", "embwhq"),
        ),
    ),
    ClaimSpec(
        "section 4.3, Figure 5a",
        "Grammatical topicalisations do not have lower global surprisal.",
        partial(
            _in_none, found=_division, kind=_STUDY_2, metrics=("global_bits_per_word",),
            names=("topic",),
        ),
    ),
    ClaimSpec(
        "section 4.3, Figure 5c",
        "Each embedding raises the global surprisal of grammatical clefts and embedded questions.",
        partial(
            _in_all, found=_depth, kind=_STUDY_2, metrics=("global_bits_per_word",),
            names=(*_CLEFTS, "embwhq"),
        ),
    ),
)  # fmt: skip
