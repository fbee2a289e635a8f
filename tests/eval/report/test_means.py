"""Means in bits, against plain arithmetic."""

from __future__ import annotations

import io
import math
import re

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from gardenpath.eval.means import Stratum, bootstrap_interval, item_outcomes, summarise
from gardenpath.eval.report.means import accuracies, bit_means, effect_means, effect_tables

ROWS = [
    ("m", 1, "s", 1, 2.0),
    ("m", 2, "s", 1, 4.0),  # the same item with another seed: 3 together
    ("m", 1, "s", 2, 5.0),
    ("m", 1, "t", 1, 10.0),  # a suite of one item weighs as much as one of two
    ("m", 1, "t", 2, math.inf),
    ("n", 1, "s", 1, -1.0),
]
TABLE = pd.DataFrame(ROWS, columns=["model", "seed", "suite", "item", "bits"])


def test_items_count_once_and_suites_count_once() -> None:
    found = bit_means(TABLE, value="bits", by=["model"]).set_index("model")
    assert found["mean"].to_dict() == {"m": pytest.approx((4.0 + 10.0) / 2), "n": -1.0}
    assert found["items"].to_dict() == {"m": 3, "n": 1}
    assert found["infinite"].to_dict() == {"m": 1, "n": 0}


def test_intervals_hold_the_mean_and_shrink_with_items() -> None:
    noise = np.random.default_rng(0).normal(3.0, 1.0, size=400)
    widths = []
    for size in (25, 400):
        rows = [("m", 1, "s", item, noise[item]) for item in range(size)]
        (row,) = bit_means(
            pd.DataFrame(rows, columns=TABLE.columns), value="bits", by=["model"]
        ).to_dict("records")
        assert row["low"] < row["mean"] < row["high"]
        widths.append(row["high"] - row["low"])
        # Near the normal approximation, 1.96 standard errors to each side.
        error = noise[:size].std() / math.sqrt(size)
        assert widths[-1] == pytest.approx(2 * 1.96 * error, rel=0.15)
    assert widths[1] < widths[0] / 2


def test_nothing_finite_gives_no_rows() -> None:
    table = TABLE.assign(bits=math.nan)
    assert len(bit_means(table, value="bits", by=["model"])) == 0


def _random_items(seed: int, *, pronouns: bool) -> pd.DataFrame:
    """Outcomes of runs that have not all taken the same suites, some of them missing."""
    dice = np.random.default_rng(seed)
    rows = []
    for run in range(4):
        for suite in dice.permutation(5)[: dice.integers(2, 6)]:
            for item in range(dice.integers(1, 5)):
                for prediction in "ab":
                    outcome = dice.choice([0.0, 0.5, 1.0, math.nan], p=[0.4, 0.1, 0.4, 0.1])
                    pronoun = str(dice.choice(["himself", "herself"])) if pronouns else ""
                    rows.append(
                        (f"run{run}", f"model{run % 2}", "toy", f"suite{suite}",
                         f"class{suite % 2}", f"modifier{suite % 3}", item, prediction, outcome,
                         outcome == 0.5, int(dice.integers(0, 2)), pronoun)
                    )  # fmt: skip
    columns = [
        *("run", "model", "corpus", "suite", "class", "modifier", "item", "prediction"),
        *("outcome", "tie", "unknown", "pronoun"),
    ]
    table = pd.DataFrame(rows, columns=columns)
    return table if pronouns else table.drop(columns="pronoun")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pronouns", [False, True])
@pytest.mark.parametrize(
    "by", [["model", "corpus"], ["model", "class"], ["model", "corpus", "class", "modifier"]]
)
def test_accuracies_are_those_of_the_plain_way(seed: int, pronouns: bool, by: list[str]) -> None:
    items = _random_items(seed, pronouns=pronouns)
    # Missing and unknown values in the first item of a suite only, so that others are usable.
    items["unknown"] *= items["item"] == 0
    items["outcome"] = items["outcome"].where(items["item"] == 0, items["outcome"].fillna(0.5))
    found = accuracies(items, by=by, min_items=2)
    factors = [one for one in ("suite", "pronoun", "modifier", "class") if one in items.columns]
    levels = [one for one in factors if one not in by]
    outcomes = item_outcomes(items, [*by, *levels])
    groups = list(outcomes.groupby(by, sort=False))
    assert found[by].to_numpy().tolist() == [list(key) for key, _ in groups]
    assert found["mean"].tolist() == pytest.approx([_plain_mean(g, levels) for _, g in groups])
    intervals = [bootstrap_interval(_plain_strata(group, levels)) for _, group in groups]
    is_enough = (found["usable"] >= 2) & (2 * found["usable"] >= found["items"])
    assert is_enough.any() or len(by) == 4
    expected = np.where(is_enough.to_numpy()[:, None], intervals, np.nan)
    assert found[["low", "high"]].to_numpy() == pytest.approx(expected, nan_ok=True, rel=1e-12)
    summary = summarise(items, by=by, min_items=2).rename(columns={"accuracy": "mean"})
    pd.testing.assert_frame_equal(found, summary)


def _plain_mean(outcomes: pd.DataFrame, levels: list[str]) -> float:
    """The mean over items, then over each level in turn, then over runs."""
    keys = ["run", *reversed(levels)]
    means = outcomes.groupby(keys, sort=False)["outcome"].mean()
    while len(keys) > 1:
        keys.pop()
        means = means.groupby(level=keys, sort=False).mean()
    return float(means.mean())


def _plain_strata(outcomes: pd.DataFrame, levels: list[str]) -> list[Stratum]:
    """The outcomes of items, averaged over runs, for each combination of the levels."""
    if not levels:
        means = outcomes.groupby(["suite", "item"], sort=False)["outcome"].mean().dropna()
        return [Stratum(means.to_numpy(dtype=np.float64))]
    parts = [part for _, part in outcomes.groupby(levels[-1], sort=False)]
    return [
        Stratum(stratum.values, stratum.weight / len(parts))
        for part in parts
        for stratum in _plain_strata(part, levels[:-1])
    ]


def test_error_of_a_mean_of_means_by_hand() -> None:
    table = pd.DataFrame(
        [("a", "s", 1, 0.4), ("a", "s", 1, 0.2), ("a", "s", 2, 0.3), ("a", "t", 1, 0.5),
         ("b", "s", 1, np.nan), ("c", "s", 1, np.nan), ("c", "s", 2, 0.6)],
        columns=["model", "suite", "item", "value_se"],
    ).assign(value_bits=1.0)  # fmt: skip
    found = bit_means(table, value="value_bits", by=["model"]).set_index("model")["error"]
    squares = [(0.4 / 8) ** 2, (0.2 / 8) ** 2, (0.3 / 4) ** 2, (0.5 / 2) ** 2]
    assert found["a"] == pytest.approx(np.sqrt(sum(squares)))
    assert np.isnan(found["b"]) and found["c"] == pytest.approx(0.3)
    assert "error" not in bit_means(TABLE, value="bits", by=["model"]).columns


def test_outcomes_that_could_flip_are_counted() -> None:
    items = pd.DataFrame({"run": list("aaab"), "suite": "s", "item": [1, 2, 3, 1], "outcome": 1.0})
    flips = pd.array([True, False, True, pd.NA], dtype="boolean")
    items = items.assign(model=items["run"], tie=False, unknown=0, could_flip=flips)
    found = accuracies(items, by=["model"]).set_index("model")["could_flip"]
    assert found["a"] == 2 and found.isna()["b"]
    assert "could_flip" not in accuracies(items.drop(columns="could_flip"), by=["model"]).columns


def test_near_ties_are_counted_beside_mean_effects() -> None:
    keys = {"corpus": "", "suite": "s", "class": "c", "modifier": "", "effect": "e", "seed": 1}
    rows = [
        {**keys, "run": model, "model": model, "item": item, "value_bits": bits, "near_tie": near}
        for model, bits, near in (("m", 1e-5, True), ("n", 2.0, False))
        for item in (1, 2, 3)
    ]
    effects = pd.DataFrame(rows)
    items = effects.assign(outcome=1.0, unknown=0, prediction="p", tie=False)
    means = effect_means(effects, items, min_items=1)
    assert means.set_index("model")["near_ties"].to_dict() == {"m": 3, "n": 0}
    (table,) = effect_tables(means, title="T")
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table)
    (line,) = [one for one in console.export_text().splitlines() if "near ties" in one]
    assert re.findall(r"\d+", line) == ["3", "0"]
    (table,) = effect_tables(means[means["model"] == "n"], title="T")
    assert len(table.rows) == 1


def test_effects_that_are_infinite_for_all_items_are_shown_as_such() -> None:
    keys = {"corpus": "", "suite": "s", "class": "c", "modifier": "", "effect": "e", "seed": 1}
    values = {"m": [1.0, math.inf], "exact": [math.inf] * 2, "lost": [math.nan] * 2}
    rows = [
        {**keys, "run": model, "model": model, "item": item, "value_bits": bits, "near_tie": False}
        for model, each in values.items()
        for item, bits in enumerate(each, start=1)
    ]
    effects = pd.DataFrame(rows)
    items = effects.assign(outcome=1.0, unknown=0, prediction="p", tie=False)
    means = effect_means(effects, items).set_index("model")
    assert means.loc["m", ["mean_bits", "items", "infinite"]].tolist() == [1.0, 1, 1]
    assert means.loc["exact", ["mean_bits", "items", "infinite"]].tolist() == [math.inf, 0, 2]
    assert math.isnan(means.loc["lost", "mean_bits"]) and means.loc["lost", "infinite"] == 2
    (table,) = effect_tables(means.reset_index(), title="T")
    cells = {str(column.header): next(iter(column.cells)) for column in table.columns}
    assert (cells["m"], cells["exact"], cells["lost"]) == ("1.00", "∞", "–")
