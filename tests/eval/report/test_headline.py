"""The sentence that the report begins with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gardenpath.eval.display import EXACT
from gardenpath.eval.report.content import findings, near_tie_note
from gardenpath.store.tables import ITEMS

ITEM_COUNT = 40


def outcomes(**right: float | list[float]) -> pd.DataFrame:
    """Items of one suite; for each model its accuracy (the first items are right), or outcomes."""
    rows = []
    for model, accuracy in right.items():
        name = EXACT if model == "exact" else model
        values = accuracy if isinstance(accuracy, list) else [
            float(place < accuracy * ITEM_COUNT) for place in range(ITEM_COUNT)
        ]  # fmt: skip
        rows += [
            {
                "run": name, "model": name, "corpus": "toy", "seed": 1, "suite": "s", "class": "c",
                "modifier": "", "item": item, "prediction": "p", "outcome": value, "tie": False,
                "difference_bits": value, "unknown": 0,
            }
            for item, value in enumerate(values)
        ]  # fmt: skip
    return ITEMS.frame(rows)


def said(items: pd.DataFrame, **options: int) -> str:
    (sentence,) = findings(items, **options)
    return sentence


def test_the_best_alone_is_named_alone() -> None:
    text = said(outcomes(lstm=0.9, rnng=0.2, plm=0.1))
    assert text.startswith("On toy, lstm has the highest mean accuracy of 3 models: 0.900 [")
    assert "rnng" not in text and "plm" not in text


def test_the_group_of_the_best_is_named_and_not_its_first() -> None:
    dice = np.random.default_rng(3)
    noisy = {name: dice.permutation(ITEM_COUNT) < 0.8 * ITEM_COUNT for name in ("lstm", "plm")}
    items = outcomes(**{name: list(map(float, one)) for name, one in noisy.items()}, ngram=0.1)
    text = said(items)
    assert text.startswith("On toy, 2 of 3 models cannot be told apart from the best by their mean")
    assert "lstm (0.800 [" in text and "plm (0.800 [" in text and "ngram" not in text


def test_all_that_cannot_be_told_apart() -> None:
    one = [1.0, 0.0] * 20
    text = said(outcomes(lstm=one, rnng=one[::-1], plm=[0.0, 1.0, *one[2:]]))
    assert text.startswith("On toy, the 3 models have the same mean accuracy, 0.500 [")
    several = said(outcomes(lstm=one, rnng=[1.0, *one[::-1][1:]]))
    assert several.startswith("On toy, the mean accuracies of the 2 models cannot be told apart:")


def test_equal_ones_are_no_ranking_and_have_no_interval() -> None:
    text = said(outcomes(lstm=1.0, rnng=1.0, plm=1.0, exact=1.0))
    assert text == (
        "On toy, the 3 models have the same mean accuracy, 1.000; the exact grammar reaches 1.000."
    )


def test_one_model_is_not_compared() -> None:
    assert said(outcomes(rnng=0.5)).startswith("On toy, rnng has a mean accuracy of 0.500 [")
    assert said(outcomes(rnng=1.0)) == "On toy, rnng has a mean accuracy of 1.000."


def test_a_difference_on_every_item_is_seen_though_intervals_overlap() -> None:
    """The comparison is within items; the intervals of the two means overlap widely."""
    better = [1.0] * 24 + [0.0] * 16
    worse = [1.0] * 14 + [0.0] * 26
    assert "lstm has the highest mean accuracy of 2 models" in said(
        outcomes(lstm=better, rnng=worse)
    )


def test_too_few_items_are_too_few_to_say() -> None:
    text = said(outcomes(lstm=[1.0] * 6, rnng=[0.0] * 6))
    assert text == (
        "On toy, too few items are usable to say which of 2 models is the best (lstm: 6 of 6); "
        "the highest mean accuracy is 1.000 (lstm)."
    )
    assert "has the highest" in said(outcomes(lstm=[1.0] * 6, rnng=[0.0] * 6), min_items=3)


def test_models_without_outcomes_are_left_out() -> None:
    missing = [float("nan")] * ITEM_COUNT
    assert "lstm has a mean accuracy" in said(outcomes(lstm=0.5, rnng=missing))
    assert list(findings(outcomes(rnng=missing))) == []
    assert list(findings(outcomes(exact=1.0))) == [], "the exact grammar is no subject"
    assert list(findings(ITEMS.frame([]))) == []


@pytest.mark.parametrize("near", [0, 3])
def test_near_ties_are_counted_by_model(near: int) -> None:
    items = outcomes(lstm=0.5, rnng=0.5, exact=0.5)
    items["near_tie"] = (items["model"] != "lstm") & (items["item"] < near)
    note = near_tie_note(items)
    assert note.endswith("rnng 3 of 40.") if near else note == ""
