"""Effects on filler-gap sentences: flips, checks of effects, correlations with frequency."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from gardenpath.eval.statistics.inference.correlation import Correlation, pearson
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.eval.studies.evidence import WITH_GAP, WITHOUT_GAP, Evidence, significant
from gardenpath.eval.studies.published_values import published_part

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
# Whether something is found, by model, corpus and construction; and a function that finds it, given
# a class and a metric.
EffectsFound = dict[tuple[str, str, str], bool]
EffectFinder = Callable[[Evidence, str, str], EffectsFound]
# A check of an estimate, given the sign of effects that make sentences less acceptable.
EffectCheck = Callable[[_Row, int], bool]


def metric_direction(metric: str) -> int:
    """Return the sign of an effect that makes sentences less acceptable: surprisal rises."""
    return -1 if metric == "slor" else 1


def flips(one: Evidence, kind: str, metric: str) -> EffectsFound:
    """Return whether a metric flips, by model, corpus and construction."""
    rows = one.estimates("flip", **{"class": kind, "metric": metric})
    by_gap = {(*_key(row), str(row["gap"])): row for row in rows}
    worse = metric_direction(metric)
    return {
        key: significant(by_gap[*key, WITHOUT_GAP], worse)
        and significant(by_gap[*key, WITH_GAP], -worse)
        for key in dict.fromkeys(_key(row) for row in rows)
        if {(*key, WITH_GAP), (*key, WITHOUT_GAP)} <= set(by_gap)
    }


def effects(
    one: Evidence,
    kind: str,
    metric: str,
    *,
    analysis: str,
    check: EffectCheck,
    gap: str | None = None,
) -> EffectsFound:
    """Return whether an effect passes a check, by construction; with or without a gap only."""
    wanted = {"class": kind, "metric": metric} | ({} if gap is None else {"gap": gap})
    worse = metric_direction(metric)
    return {_key(row): check(row, worse) for row in one.estimates(analysis, **wanted)}


def _key(row: _Row) -> tuple[str, str, str]:
    return str(row["model"]), str(row["corpus"]), str(row["modifier"])


def is_better(row: _Row, worse: int) -> bool:
    """Whether an effect makes sentences significantly more acceptable."""
    return significant(row, -worse)


def is_worse(row: _Row, worse: int) -> bool:
    """Whether an effect makes sentences significantly less acceptable."""
    return significant(row, worse)


def tends_to_be_better(row: _Row, worse: int) -> bool:
    """Whether an effect makes sentences more acceptable, significantly or not."""
    return bool(row["estimate"] * worse < 0)


def is_affected(row: _Row, worse: int) -> bool:
    """Whether there is a significant effect in either direction."""
    return significant(row, worse) or significant(row, -worse)


def frequency_correlations(one: Evidence) -> dict[tuple[str, str, str, str], Correlation]:
    """Correlate interaction and frequency, by metric, model, its corpus, and treebank.

    The estimates of both kinds of clefts are averaged.
    """
    strengths: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in one.estimates("interaction", **{"class": STUDY_2}):
        key = (str(row["metric"]), str(row["model"]), str(row["corpus"]))
        estimate = round(float(row["estimate"]), _DECIMALS)
        strengths.setdefault(key, {})[str(row["modifier"])] = estimate
    found = {}
    for treebank, counts in construction_frequencies(one).items():
        for key, means in strengths.items():
            names = [
                name for name, parts in _COUNTED.items() if name in counts and {*parts} <= {*means}
            ]
            values = [sum(means[part] for part in _COUNTED[name]) for name in names]
            values = [v / len(_COUNTED[name]) for v, name in zip(values, names, strict=True)]
            # Too few constructions, or the same estimate for all: no correlation.
            with suppress(StatisticsError):
                found[*key, treebank] = pearson([counts[name] for name in names], values)
    return found


def construction_frequencies(one: Evidence) -> dict[str, dict[str, float]]:
    """Return counts by treebank: the published ones, and those of the user's treebanks."""
    found: dict[str, dict[str, float]] = {}
    published = published_part("filler_gap", "Table 2")
    for (_, construction, corpus), value in published.values["printed"].items():
        found.setdefault(corpus, {})[construction] = value.value
    if one.data.constructions is not None:
        for row in one.data.constructions.to_dict("records"):
            found.setdefault(str(row["corpus"]), {})[str(row["construction"])] = float(row["count"])
    return found
