"""Accuracies are averages of averages; intervals are drawn over items."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import mean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.means import Stratum, bootstrap_interval, summarise


def _items(rows: Iterable[dict[str, object]]) -> pd.DataFrame:
    defaults: dict[str, object] = {
        "run": "r0", "model": "lstm", "corpus": "toy", "seed": 0, "suite": "s", "class": "c",
        "modifier": "none", "item": 1, "prediction": "p", "outcome": 1.0, "tie": False,
        "difference_bits": 1.0, "unknown": 0,
    }  # fmt: skip
    frame = pd.DataFrame([{**defaults, **row} for row in rows])
    frame["seed"] = frame["seed"].astype("Int64")
    return frame


def test_comparisons_are_averaged_before_items() -> None:
    items = _items(
        [
            {"item": 1, "prediction": "a", "outcome": 1.0},
            {"item": 1, "prediction": "b", "outcome": 0.0},
            {"item": 1, "prediction": "c", "outcome": 0.0},
            {"item": 1, "prediction": "d", "outcome": 0.0},
            {"item": 2, "prediction": "a", "outcome": 1.0},
        ]
    )
    assert summarise(items)["accuracy"].tolist() == [mean([0.25, 1.0])]


def test_a_small_modifier_type_weighs_like_a_large_one() -> None:
    rows: list[dict[str, object]] = [
        {"suite": "s/none", "modifier": "none", "item": n, "outcome": 1.0} for n in range(9)
    ]
    rows.append({"suite": "s/adj", "modifier": "adjective", "outcome": 0.0})
    items = _items(rows)
    by_class = summarise(items, by=("model", "class"))
    assert by_class["accuracy"].tolist() == [0.5]
    assert summarise(items)["accuracy"].tolist() == [1.0, 0.0]
    assert summarise(items)["items"].tolist() == [9, 1]


def test_pronouns_are_averaged_within_modifiers() -> None:
    outcomes = {("rc", "herself"): 1.0, ("rc", "himself"): 0.0, ("pp", "herself"): 1.0}
    items = _items(
        {"suite": f"{m}/{p}", "modifier": m, "pronoun": p, "outcome": value}
        for (m, p), value in outcomes.items()
    )
    assert summarise(items, by=("class",))["accuracy"].tolist() == [mean([0.5, 1.0])]
    assert summarise(items)["accuracy"].tolist() == [0.5, 1.0]


def test_what_stands_behind_an_accuracy_is_counted() -> None:
    items = _items(
        [
            {"run": "a", "seed": 1, "item": 1, "outcome": 0.5, "tie": True},
            {"run": "a", "seed": 1, "item": 2, "outcome": math.nan, "unknown": 2},
            {"run": "b", "seed": 2, "item": 1, "outcome": 1.0},
            {"run": "b", "seed": 2, "item": 2, "outcome": 0.0, "unknown": 2},
        ]
    )
    row = summarise(items).iloc[0]
    assert (row["items"], row["seeds"], row["ties"], row["missing"], row["unknown"]) == (
        2, 2, 1, 1, 1,
    )  # fmt: skip
    assert row["accuracy"] == mean([0.5, mean([1.0, 0.0])])


def test_runs_without_a_seed_are_kept() -> None:
    items = _items([{"seed": None}, {"seed": None, "item": 2, "outcome": 0.0}])
    assert summarise(items)["accuracy"].tolist() == [0.5]
    assert summarise(items, by=("model", "seed"))["accuracy"].tolist() == [0.5]


@pytest.mark.parametrize("seeds", [(None, 1, 2), (2, None, 1), (1, 2, None)])
def test_counts_stand_beside_their_group(seeds: tuple[int | None, ...]) -> None:
    """Also where the name of a group is a missing value, wherever it comes."""
    items = _items(
        {"seed": seed, "run": str(seed), "item": n, "outcome": 0.0 if seed is None else 1.0}
        for seed in seeds
        for n in range(3 if seed is None else seed + 4)
    )
    found = summarise(items, by=("model", "seed"))
    for _, row in found.iterrows():
        is_seedless = pd.isna(row["seed"])
        assert row["accuracy"] == (0.0 if is_seedless else 1.0)
        assert row["items"] == (3 if is_seedless else row["seed"] + 4)
    assert len(found) == 3


def test_nothing_but_missing_outcomes_has_no_accuracy() -> None:
    row = summarise(_items([{"outcome": math.nan}])).iloc[0]
    assert math.isnan(row["accuracy"]) and math.isnan(row["low"])
    assert row["missing"] == 1


grid = st.dictionaries(
    st.tuples(
        st.sampled_from("xy"), st.sampled_from("mn"), st.integers(1, 3), st.sampled_from("pq")
    ),
    st.sampled_from([0.0, 0.5, 1.0]),
    min_size=1,
)


@given(grid)
def test_means_of_means_by_hand(outcomes: dict[tuple[str, str, int, str], float]) -> None:
    items = _items(
        {"run": r, "model": "lstm", "suite": m, "modifier": m, "item": i, "prediction": p,
         "outcome": value}
        for (r, m, i, p), value in outcomes.items()
    )  # fmt: skip

    def over(place: int, prefix: tuple[object, ...]) -> float:
        """The mean over the different values at a place of the key, of the means below it."""
        if place == 4:
            return outcomes[prefix]  # type: ignore[index]
        below = dict.fromkeys(key[place] for key in outcomes if key[:place] == prefix)
        return mean(over(place + 1, (*prefix, value)) for value in below)

    found = summarise(items, by=("model",), samples=10)["accuracy"].tolist()
    assert found == [pytest.approx(over(0, ()))]


def test_the_interval_of_one_stratum_is_that_of_a_plain_bootstrap() -> None:
    values = np.random.default_rng(1).random(40)
    low, high = bootstrap_interval([Stratum(values)], samples=4000)
    spread = values.std() / math.sqrt(40)
    assert low == pytest.approx(values.mean() - 1.96 * spread, abs=0.01)
    assert high == pytest.approx(values.mean() + 1.96 * spread, abs=0.01)
    assert bootstrap_interval([Stratum(values)], samples=4000) == (low, high)


def test_strata_are_weighted() -> None:
    ones, zeros = np.ones(5), np.zeros(50)
    assert bootstrap_interval([Stratum(ones), Stratum(zeros)]) == (0.5, 0.5)
    assert bootstrap_interval([Stratum(ones, 3.0), Stratum(zeros, 1.0)]) == (0.75, 0.75)
    assert all(math.isnan(end) for end in bootstrap_interval([]))


def test_the_interval_surrounds_the_accuracy_of_uneven_levels() -> None:
    """Where modifiers have unequal numbers of suites, the interval is of the same average."""
    sizes = {("rc", "1a"): 1.0, ("rc", "2a"): 1.0, ("pp", "3"): 0.0}
    items = _items(
        {"suite": suite, "modifier": modifier, "item": n, "outcome": value}
        for (modifier, suite), value in sizes.items()
        for n in range(5)
    )
    row = summarise(items, by=("class",)).iloc[0]
    assert (row["accuracy"], row["low"], row["high"]) == (0.5, 0.5, 0.5)
