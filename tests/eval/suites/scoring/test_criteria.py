"""Flip and island contrast in the summary, against the functions that define them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gardenpath.eval.suites.effects import (
    LICENSING,
    WH_GAP,
    WH_NO_GAP,
    ItemEffect,
    WhEffects,
    flip,
    flip_rate,
    island_contrast,
)
from gardenpath.eval.suites.outcomes import ItemOutcome
from gardenpath.eval.suites.summary import (
    CRITERIA,
    RunName,
    ScoredItems,
    effects_frame,
    items_frame,
    with_criteria,
)
from gardenpath.store.tables import SUMMARY_KEYS

ONE = RunName(run="lstm-1", model="lstm", corpus="toy", seed=1)
TWO = RunName(run="lstm-2", model="lstm", corpus="toy", seed=2)
EXACT = RunName(run="exact", model="exact grammar")

# Both effects of some items, and their labels.
Items = Sequence[tuple[tuple[float, float], dict[str, str]]]


def _effects(items: Items, modifier: str = "cleft") -> list[ItemEffect]:
    return [
        ItemEffect(f"filler_gap/{modifier}", "filler_gap", modifier, number, labels, name, value)
        for number, ((gap, nogap), labels) in enumerate(items, start=1)
        for name, value in ((WH_GAP, gap), (WH_NO_GAP, nogap), (LICENSING, nogap + gap))
    ]


def _summary(effects: pd.DataFrame) -> pd.DataFrame:
    """A row for each group, as the summary of accuracies has it."""
    rows = effects[list(SUMMARY_KEYS)].drop_duplicates(ignore_index=True)
    return rows.assign(accuracy=0.5)


def _criteria(*measured: tuple[RunName, list[ItemEffect]]) -> pd.DataFrame:
    effects = effects_frame(measured)
    return with_criteria(_summary(effects), effects, SUMMARY_KEYS)


def _outside(*values: tuple[float, float], depth: str = "1") -> Items:
    return [(pair, {"island": "no", "depth": depth}) for pair in values]


def _inside(*values: tuple[float, float], depth: str = "1") -> Items:
    return [(pair, {"island": "yes", "depth": depth}) for pair in values]


def test_each_row_has_the_criteria_of_its_items() -> None:
    dice = np.random.default_rng(0)
    near = [(float(a), float(b)) for a, b in dice.normal((3, 3), 1, (12, 2))]
    far = [(float(a), float(b)) for a, b in dice.normal((0.2, 0.2), 1, (12, 2))]
    learnt = _effects([*_outside(*near), *_inside(*far)])
    not_learnt = _effects([*_outside(*far), *_inside(*near)], "tough")
    found = _criteria((ONE, [*learnt, *not_learnt])).set_index("modifier")
    for name, outside, inside in (("cleft", near, far), ("tough", far, near)):
        one = [WhEffects(*pair) for pair in outside]
        other = [WhEffects(*pair) for pair in inside]
        assert found.loc[name, "flip_rate"] == pytest.approx(flip_rate(one))
        assert found.loc[name, "flip"] == flip(one).is_met
        assert found.loc[name, "island_contrast"] == island_contrast(one, other).is_met
    assert found["flip"].tolist() == [True, False]
    assert found["island_contrast"].tolist() == [True, False]


def test_items_are_averaged_over_runs_and_rates_are_means_of_runs() -> None:
    first = _effects(_outside(*[(5.0, 5.0)] * 6))
    second = _effects(_outside(*[(-1.0, 1.0)] * 3, *[(1.0, 1.0)] * 3))
    found = _criteria((ONE, first), (TWO, second)).iloc[0]
    assert found["flip_rate"] == pytest.approx((1 + 0.5) / 2)
    # (5 - 1) / 2 and (5 + 1) / 2 are above 0, whichever items are drawn.
    assert bool(found["flip"])
    assert pd.isna(found["island_contrast"])


def test_island_contrast_compares_items_of_the_same_depth() -> None:
    """Without an embedding effects are stronger, but that is not the islands' doing."""
    deep = [*_outside((1.0, 1.0), (1.0, 1.0)), *_inside((1.0, 1.0), (1.0, 1.0))]
    shallow = _outside(*[(9.0, 9.0)] * 8, depth="0")
    found = _criteria((ONE, _effects([*deep, *shallow]))).iloc[0]
    assert bool(found["flip"]) and not bool(found["island_contrast"])
    assert not pd.isna(found["island_contrast"])


def test_islands_alone_and_unlabelled_items_have_no_criteria() -> None:
    inside = _effects(_inside((1.0, 1.0), (1.0, 1.0)), "adjunct")
    outside = _effects(_outside((1.0, 1.0), (1.0, 1.0)), "object")
    unlabelled = _effects([((1.0, 1.0), {})], "discharge")
    found = _criteria((ONE, [*inside, *outside, *unlabelled])).set_index("modifier")
    assert found.loc[["adjunct", "discharge"], list(CRITERIA)].isna().all(axis=None)
    assert found.loc["object", "flip_rate"] == 1.0 and pd.isna(
        found.loc["object", "island_contrast"]
    )
    for effects in (inside, unlabelled):
        assert not set(CRITERIA) & set(_criteria((ONE, effects)).columns)


def test_infinite_effects_have_signs_but_no_interval() -> None:
    certain = _effects([*_outside(*[(math.inf, math.inf)] * 3), *_inside((0.0, 0.0))])
    found = _criteria((EXACT, certain)).iloc[0]
    assert found["flip_rate"] == 1.0
    assert pd.isna(found["flip"]) and pd.isna(found["island_contrast"])


def test_the_file_has_them_and_rows_without_stay(tmp_path: Path) -> None:
    outcomes = [
        ItemOutcome("filler_gap/cleft", "filler_gap", "cleft", 1, {}, "gap", 1.0, False, 1.0),
        ItemOutcome("s", "reflexives", "rc", 1, {"pronoun": "herself"}, "p", 0.0, False, 1.0),
    ]
    effects = effects_frame([(ONE, _effects(_outside(*[(1.0, 2.0)] * 4)))])
    items = items_frame([(ONE, outcomes)])
    results = ScoredItems(items=items, effects=effects, min_items=1)
    results.write(tmp_path)
    written = pd.read_csv(tmp_path / "summary.csv", keep_default_na=False, dtype=str)
    assert list(written.columns)[-3:] == list(CRITERIA)
    assert written["class"].tolist() == ["filler_gap", "reflexives"]
    assert written[list(CRITERIA)].to_numpy().tolist() == [["1.0", "TRUE", ""], ["", "", ""]]
    assert list(written.columns)[:-3] == list(results.summary.columns)
    assert written["accuracy"].tolist() == ["1.0", "0.0"]
