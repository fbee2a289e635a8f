"""A small suite with known surprisals, for tests of scoring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gardenpath.eval.suites.formula import And, Comparison, Formula, Lookup, Or
from gardenpath.eval.suites.outcomes import ItemOutcome, score_table
from gardenpath.eval.suites.regions import RegionTable, quantity, variant_rows
from gardenpath.eval.suites.suite import Item, Prediction, Suite, Variant, holds_in_order


def cats_suite(
    predictions: Mapping[str, str] | None = None, *, items: int = 2, name: str = "cats"
) -> Suite:
    """Regions classifier, noun and end; conditions match and mismatch."""
    wanted = predictions or {"fits": "(noun;%mismatch%) > (noun;%match%)"}
    return Suite(
        name=name,
        language="zh",
        regions=("classifier", "noun", "end"),
        conditions=("match", "mismatch"),
        predictions=tuple(Prediction(n, Formula.parse(text)) for n, text in wanted.items()),
        items=tuple(
            Item(
                number,
                (
                    Variant("match", (("一", "只"), (f"猫{number}",), ("。",))),
                    Variant("mismatch", (("一", "本"), (f"猫{number}",), ("。",))),
                ),
                {"animal": "cat"},
            )
            for number in range(1, items + 1)
        ),
        kind="classifier_noun",
        modifier="none",
        spaced=False,
        critical=("noun",),
    )


def surprisals_of(
    suite: Suite, nouns: Sequence[tuple[float, float]]
) -> dict[tuple[str, ...], tuple[float, ...]]:
    """Surprisals in which only nouns count: one pair (match, mismatch) per item."""
    return {
        variant.words: (1.0, 2.0, value, 0.5)
        for item, pair in zip(suite.items, nouns, strict=True)
        for variant, value in zip(item.variants, pair, strict=True)
    }


def holds(formula: Formula, lookup: Lookup) -> bool:
    """Whether a claim is true; ties get no special treatment."""
    assert isinstance(formula.tree, Comparison | And | Or)
    sides = [side for each in formula.comparisons for side in (each.left, each.right)]
    return holds_in_order(formula.tree, {side: quantity(side, lookup) for side in sides}, {})


def table_of(suite: Suite, surprisals: Mapping[tuple[str, ...], Sequence[float]]) -> RegionTable:
    """The region surprisals of a suite from those of the words of its sentences (bits)."""
    return RegionTable.from_rows(suite, variant_rows(suite, surprisals))


def score_suite(
    suite: Suite, surprisals: Mapping[tuple[str, ...], Sequence[float]], **options: Any
) -> list[ItemOutcome]:
    """The outcomes of a suite from the surprisals (bits) of the words of its sentences."""
    return score_table(table_of(suite, surprisals), **options)
