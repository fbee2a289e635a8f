"""Accuracy on published minimal pairs, scored and averaged as their authors do.

A pair is correct if the score of its good sentence is higher. Scores are the log probability of the
words, or it divided by a power of the number of tokens; the end of the sentence is no part of it,
because models without such a symbol could not be compared. Accuracies of pairs are averaged over
the pairs of a paradigm; those of paradigms over phenomena, fields, and all paradigms; the mean over
phenomena is given beside the latter. Every score is computed for every set; that of its authors,
with their rule for exact ties, is marked where all pairs of the set were scored. Near ties are
counted; they have half the credit only where exact ties do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.formats.minimal_pairs import BAD, GOOD
from gardenpath.eval.suites.pairs.pair_sets import PAIR_SCORES, PairScore, PairSet
from gardenpath.eval.suites.pairs.pair_suites import WORDS_ENTRY, pair_set_of
from gardenpath.eval.suites.scoring.regions import exact_sum
from gardenpath.eval.suites.scoring.scored_items import RunName
from gardenpath.eval.suites.scoring.search_error import Deviations, weighted_sum
from gardenpath.eval.suites.scoring.tie_rule import USUAL_TIES, TieRule
from gardenpath.store.tables import AGGREGATE, NEAR_TIES
from gardenpath.text import Words

# Levels of averages, and the two overall means.
PARADIGM, PHENOMENON, FIELD, OVERALL = "paradigm", "phenomenon", "field", "overall"
OVER_PARADIGMS, OVER_PHENOMENA = "mean over paradigms", "mean over phenomena"

TokenCount = Callable[[Words], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPairs:
    """The surprisals (bits) of one run on a suite of pairs, a row for every sentence, in order.

    ``tokens`` returns the number of tokens of a sentence; for models of words, these are the words.
    ``errors`` are the search errors of the sums of the rows, as far as they are known, and empty if
    none is; ``is_searched`` says whether the surprisals come from a search.
    """

    name: RunName
    suite: Suite
    rows: Sequence[Sequence[float]]
    tokens: TokenCount = len
    errors: Sequence[Deviations | None] = ()
    is_searched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """Number of pairs of a paradigm by outcome; ``near_correct`` are the correct near ties."""

    correct: int = 0
    ties: int = 0
    near_ties: int = 0
    near_correct: int = 0
    missing: int = 0
    pairs: int = 0

    def accuracy(self, tie_counts: float) -> float:
        """Return the share of correct pairs among those that have a score; NaN without any."""
        return self._share(self.correct + tie_counts * self.ties)

    @property
    def accuracy_ties_half(self) -> float:
        """The same if ties and near ties count 1/2."""
        clear = self.correct - self.near_correct
        return self._share(clear + 0.5 * (self.ties + self.near_ties))

    def _share(self, credit: float) -> float:
        scored = self.pairs - self.missing
        return credit / scored if scored else math.nan


@dataclass(frozen=True, slots=True)
class _Paradigm:
    name: str
    phenomenon: str
    field: str
    count: _Count


def pair_accuracies(scored: Iterable[ScoredPairs], ties: TieRule = USUAL_TIES) -> pd.DataFrame:
    """Return the accuracies of every run on every published set among the suites.

    Suites that belong to no set are left out.
    """
    sets: dict[tuple[str, str], tuple[RunName, PairSet, list[ScoredPairs]]] = {}
    for one in scored:
        which = pair_set_of(one.suite)
        if which is not None:
            sets.setdefault((one.name.run, which.name), (one.name, which, []))[2].append(one)
    return AGGREGATE.frame(
        [
            row
            for name, which, members in sets.values()
            for row in _rows_of_set(name, which, members, ties)
        ]
    )


def _rows_of_set(
    name: RunName, which: PairSet, members: Sequence[ScoredPairs], ties: TieRule
) -> Iterator[dict[str, object]]:
    sums = [[exact_sum(row) for row in one.rows] for one in members]
    words = ", ".join(dict.fromkeys(str(one.suite.meta.get(WORDS_ENTRY, "")) for one in members))
    for score in PAIR_SCORES:
        paradigms = [
            _paradigm(one, totals, score, ties) for one, totals in zip(members, sums, strict=True)
        ]
        is_official = score == which.score and _is_complete(which, paradigms)
        fixed = {
            "run": name.run,
            "model": name.model,
            "corpus": name.corpus,
            "seed": name.seed,
            "set": which.name,
            "words": words,
            "score": score,
            "official": is_official,
        }
        for row in _averages(paradigms, float(which.tie_is_correct)):
            yield {**fixed, **row}


def _paradigm(
    one: ScoredPairs, sums: Sequence[float], score: PairScore, ties: TieRule
) -> _Paradigm:
    first = one.suite.items[0].labels
    return _Paradigm(
        name=first.get(PARADIGM, one.suite.name),
        phenomenon=one.suite.kind,
        field=first.get(FIELD, ""),
        count=_counted(one, sums, PAIR_SCORES[score], ties),
    )


def _counted(one: ScoredPairs, sums: Sequence[float], power: float, ties: TieRule) -> _Count:
    errors = one.errors or [None] * len(sums)
    given = iter(zip(sums, errors, strict=True))
    correct = tied = near = near_correct = missing = 0
    for item in one.suite.items:
        found: dict[str, tuple[float, float, Deviations | None]] = {}
        for variant in item.variants:
            size = max(one.tokens(variant.words), 1) ** power
            total, error = next(given)
            found[variant.condition] = total / size, size, error
        (good, good_size, good_error), (bad, bad_size, bad_error) = found[GOOD], found[BAD]
        spread = weighted_sum([(1.0 / good_size, good_error), (-1.0 / bad_size, bad_error)])
        threshold = ties.threshold_bits(
            None if spread is None else spread.reach,
            is_searched=one.is_searched,
            share=1.0 / min(good_size, bad_size),
        )
        is_near = 0.0 < abs(good - bad) <= threshold
        correct += good < bad
        tied += good == bad
        near += is_near
        near_correct += is_near and good < bad
        missing += math.isnan(good) or math.isnan(bad)
    return _Count(
        correct=correct,
        ties=tied,
        near_ties=near,
        near_correct=near_correct,
        missing=missing,
        pairs=len(one.suite.items),
    )


def _is_complete(which: PairSet, paradigms: Sequence[_Paradigm]) -> bool:
    """Whether all pairs of a set were scored."""
    return len(paradigms) == which.paradigms and all(
        one.count.pairs == which.pairs and not one.count.missing for one in paradigms
    )


def _averages(paradigms: Sequence[_Paradigm], tie_counts: float) -> Iterator[dict[str, object]]:
    """Yield the rows of paradigms, fields and phenomena, and the two overall means."""
    for one in paradigms:
        yield _row(PARADIGM, one.name, [[one]], tie_counts)
    groups = _grouped(paradigms, [one.phenomenon for one in paradigms])
    for level, found in (
        (PHENOMENON, groups),
        (FIELD, _grouped(paradigms, [one.field for one in paradigms])),
    ):
        for name, members in found.items():
            if name:
                yield _row(level, name, [[one] for one in members], tie_counts)
    yield _row(OVERALL, OVER_PARADIGMS, [[one] for one in paradigms], tie_counts)
    yield _row(OVERALL, OVER_PHENOMENA, list(groups.values()), tie_counts)


def _grouped(paradigms: Sequence[_Paradigm], keys: Sequence[str]) -> dict[str, list[_Paradigm]]:
    found: dict[str, list[_Paradigm]] = {}
    for one, key in sorted(zip(paradigms, keys, strict=True), key=lambda pair: pair[1]):
        found.setdefault(key, []).append(one)
    return found


def _row(
    level: str, name: str, groups: Sequence[Sequence[_Paradigm]], tie_counts: float
) -> dict[str, object]:
    """Return the mean over groups of the means over their paradigms."""
    members = [one for group in groups for one in group]
    return {
        "level": level,
        "name": name,
        "accuracy": _mean_of_means(groups, lambda one: one.accuracy(tie_counts)),
        "accuracy_ties_half": _mean_of_means(groups, lambda one: one.accuracy_ties_half),
        "paradigms": len(members),
        "pairs": sum(one.count.pairs for one in members),
        "ties": sum(one.count.ties for one in members),
        "missing": sum(one.count.missing for one in members),
        NEAR_TIES: sum(one.count.near_ties for one in members),
    }


def _mean_of_means(
    groups: Sequence[Sequence[_Paradigm]], accuracy: Callable[[_Count], float]
) -> float:
    return _mean([_mean([accuracy(one.count) for one in group]) for group in groups])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
