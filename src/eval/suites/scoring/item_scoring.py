"""Scoring of a suite: one outcome for every item and prediction."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gardenpath.eval.suites.design.formula import WHOLE_SENTENCE, Formula
from gardenpath.eval.suites.design.suite import Item, Prediction, Suite
from gardenpath.eval.suites.scoring.outcome import outcome
from gardenpath.eval.suites.scoring.regions import RegionTable
from gardenpath.eval.suites.scoring.tie_rule import USUAL_TIES, TieRule
from gardenpath.text import Words


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """Outcome of one prediction for one item.

    ``outcome`` is between 0 and 1, or NaN if a surprisal is missing; ``tie`` and ``near_tie`` say
    whether quantities are equal, or too close to tell apart; ``difference_bits`` is the
    difference in the predicted direction; ``unknown`` are the distinct critical words that are out
    of vocabulary. ``difference_se`` is the standard error of the difference in bits, and
    ``could_flip`` whether the outcome is undecided within its error; NaN and None if the search
    error is not known.
    """

    suite: str
    kind: str
    modifier: str
    item: int
    labels: Mapping[str, str]
    prediction: str
    outcome: float
    tie: bool
    difference_bits: float
    unknown: tuple[str, ...] = ()
    near_tie: bool = False
    difference_se: float = math.nan
    could_flip: bool | None = None


def score_suite(
    suite: Suite,
    surprisals: Mapping[Words, Sequence[float]],
    *,
    unknown: Collection[str] = (),
    ties: TieRule = USUAL_TIES,
    is_searched: bool = False,
) -> list[ItemOutcome]:
    """Score a suite from the surprisals (bits) of the words of its sentences.

    ``unknown`` are the out-of-vocabulary words; ``is_searched`` says whether the surprisals come
    from a search.
    """
    table = RegionTable.from_words(suite, surprisals)
    return score_table(table, unknown=unknown, ties=ties, is_searched=is_searched)


def score_table(
    table: RegionTable,
    *,
    unknown: Collection[str] = (),
    ties: TieRule = USUAL_TIES,
    is_searched: bool = False,
) -> list[ItemOutcome]:
    """Score a suite from its region surprisals."""
    suite = table.suite
    return [
        _item_outcome(table, item, prediction, unknown, ties, is_searched)
        for item in suite.items
        for prediction in suite.predictions
    ]


def _item_outcome(
    table: RegionTable,
    item: Item,
    prediction: Prediction,
    unknown: Collection[str],
    ties: TieRule,
    is_searched: bool,
) -> ItemOutcome:
    suite = table.suite
    found = outcome(
        prediction.formula,
        table.lookup(item.number),
        ties=ties,
        # The coin depends only on seed, item and prediction, not on the order of scoring.
        coin=f"{ties.seed}/{suite.name}/{item.number}/{prediction.name}",
        counted=suite.ties,
        errors=table.errors(item.number),
        is_searched=is_searched,
    )
    words = critical_words(suite, item, prediction.formula)
    return ItemOutcome(
        suite=suite.name,
        kind=suite.kind,
        modifier=suite.modifier,
        item=item.number,
        labels=item.labels,
        prediction=prediction.name,
        outcome=found.value,
        tie=found.is_tie,
        difference_bits=found.difference_bits,
        unknown=tuple(word for word in words if word in unknown),
        near_tie=found.is_near_tie,
        difference_se=found.error.standard_error,
        could_flip=found.error.could_flip,
    )


def critical_words(suite: Suite, item: Item, formula: Formula) -> tuple[str, ...]:
    """Return the distinct words on which a prediction for an item depends.

    These are the words of the regions in the formula and of the suite's critical regions, in the
    conditions of the formula.
    """
    regions: dict[str, set[int]] = {}
    for term in formula.terms:
        wanted = regions.setdefault(
            term.condition, {suite.region_index(name) for name in suite.critical}
        )
        if term.region == WHOLE_SENTENCE:
            wanted.update(range(len(suite.regions)))
        else:
            wanted.add(suite.region_index(term.region))
    return tuple(
        dict.fromkeys(
            word
            for variant in item.variants
            for number, region in enumerate(variant.regions)
            if number in regions.get(variant.condition, ())
            for word in region
        )
    )
