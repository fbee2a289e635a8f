"""Usable items: which they are, what is said of the others, and what is left out without them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.eval.means import summarise
from gardenpath.eval.report.content import Study, run_analyses, write_analyses
from gardenpath.eval.report.explorer import ExplorerLimits
from gardenpath.eval.report.means import accuracies, bit_means, in_numbers
from gardenpath.eval.report.page import page
from gardenpath.eval.suites.outcomes import (
    MIN_ITEMS,
    USABLE,
    ItemCount,
    too_few,
    unusable_items,
    usable_counts,
    usable_items,
    with_usable,
)
from gardenpath.eval.suites.summary import ScoredItems
from gardenpath.store.tables import ITEMS, read_table


def items_table(
    *, known: int, unknown: int, missing: int = 0, models: int = 1, seeds: int = 1
) -> pd.DataFrame:
    """Outcomes of a class of garden paths; the last items are not usable."""
    dice = np.random.default_rng(4)
    flags = [(0, False)] * known + [(1, False)] * unknown + [(0, True)] * missing
    rows = [
        {
            "run": f"runs/ctb/model{model}/seed{seed}",
            "model": f"model{model}",
            "corpus": "ctb",
            "seed": seed,
            "suite": "mandarin/garden_path_object",
            "class": "garden_path_object",
            "modifier": "none",
            "item": number,
            "prediction": "p",
            "outcome": math.nan if is_missing else float(dice.integers(0, 2)),
            "tie": False,
            "difference_bits": math.nan if is_missing else float(dice.normal(1.0)),
            "unknown": count,
            "unknown_words": "wug" * count,
        }
        for model in range(models)
        for seed in range(seeds)
        for number, (count, is_missing) in enumerate(flags)
    ]
    return ITEMS.frame(rows)


def test_counts_and_what_is_said() -> None:
    items = items_table(known=4, unknown=36)
    (found,) = unusable_items(items)
    assert (found.items, found.unknown, found.missing) == (40, 36, 0)
    assert str(found) == (
        "model0 (ctb): 36 of 40 items have unknown critical words (90%); its accuracies say little"
    )
    (found,) = unusable_items(items_table(known=38, unknown=1, missing=1))
    assert not found.is_large
    assert str(found) == (
        "model0 (ctb): 1 of 40 items have unknown critical words, and 1 of 40 items lack a "
        "surprisal (5%)"
    )
    assert unusable_items(items_table(known=5, unknown=0)) == []
    assert unusable_items(ITEMS.frame([])) == []
    assert ItemCount(name="m", items=0, unknown=0, missing=0).share == 0.0


def test_the_worst_suites_are_named_and_the_worst_model_is_first() -> None:
    one = items_table(known=2, unknown=8)
    other = items_table(known=10, unknown=1).assign(suite="other", model="model1", run="r1")
    both = items_table(known=9, unknown=1).assign(suite="other")
    found = unusable_items(pd.concat([other, one, both]))
    assert [count.name for count in found] == ["model0 (ctb)", "model1 (ctb)"]
    assert found[0].suites == ("mandarin/garden path object: 8 of 10",)


def test_seeds_do_not_add_items() -> None:
    items = items_table(known=3, unknown=2, seeds=4)
    row = usable_counts(items, ["model"]).iloc[0]
    assert (row["items"], row["usable"], row["unknown"]) == (5, 3, 2)
    assert math.isnan(summarise(items)["low"].iloc[0])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 14), st.integers(0, 4), st.integers(0, 4), st.integers(1, 3))
def test_intervals_exist_if_and_only_if_items_suffice(
    known: int, unknown: int, missing: int, seeds: int
) -> None:
    items = items_table(known=known, unknown=unknown, missing=missing, seeds=seeds)
    if items.empty:
        return
    summary = summarise(items, samples=20)
    is_most = 2 * known >= len(items) // seeds
    assert summary["usable"].tolist() == [known]
    assert summary["low"].notna().tolist() == [known >= MIN_ITEMS and is_most]
    pd.testing.assert_series_equal(
        accuracies(items, by=["model"])["low"].notna(), summary["low"].notna()
    )
    means = bit_means(with_usable(items, items), value="difference_bits", by=["model"])
    assert means["low"].notna().tolist() == [known >= MIN_ITEMS] * len(means)
    lowered = summarise(items, samples=20, min_items=1)["low"]
    assert lowered.notna().tolist() == [known >= 1 and is_most]


def test_flags_of_items_are_carried_to_other_tables() -> None:
    items = items_table(known=2, unknown=1)
    effects = items[["run", "suite", "item"]].assign(value_bits=1.0)
    assert with_usable(effects, items)[USABLE].tolist() == [True, True, False]
    assert usable_items(items)[USABLE].tolist() == [True, True, False]
    other = effects.assign(suite="without predictions")
    assert with_usable(other, items)[USABLE].all()
    assert USABLE not in with_usable(effects, ITEMS.frame([])).columns


def test_means_without_an_interval_are_alone() -> None:
    assert in_numbers({"mean": 0.5, "low": 0.25, "high": 0.75}) == "0.500  [0.25, 0.75]"
    assert in_numbers({"mean": 0.5, "low": math.nan, "high": math.nan}) == "0.500"


@pytest.mark.parametrize(("known", "unknown"), [(2, 0), (2, 18), (9, 31), (40, 41)])
def test_no_statistic_from_few_usable_items(tmp_path: Path, known: int, unknown: int) -> None:
    items = items_table(known=known, unknown=unknown, seeds=3)
    results = run_analyses(items)
    assert all(result.is_empty for result in results)
    reasons = {result.analysis.name: result.skipped for result in results}
    expected = too_few(known, known + unknown, MIN_ITEMS)
    assert f"{known} of {known + unknown} items are usable; statistics need at least" in expected
    assert ("task.min_items" in expected) == (known < MIN_ITEMS)
    for name in ("garden_path", "garden_path_by_item"):
        assert reasons[name] == (f"CTB · model0 · garden path object: {expected}",)
    write_analyses(tmp_path, results)
    assert [path.name for path in tmp_path.iterdir()] == ["skipped.txt"]
    assert expected in (tmp_path / "skipped.txt").read_text(encoding="utf-8")
    # The usable items alone give statistics if the user lowers the minimum.
    usable = items[items["unknown"] == 0]
    lowered = {one.analysis.name: one for one in run_analyses(usable, min_items=2)}
    assert not lowered["garden_path_by_item"].is_empty


def test_enough_usable_items_are_tested_with_all_items() -> None:
    items = items_table(known=10, unknown=10)
    found = {one.analysis.name: one for one in run_analyses(items)}["garden_path"]
    assert found.estimates["n"].tolist() == [20], "as in the published studies"
    assert USABLE not in found.data.columns


def test_the_summary_file_has_the_counts(tmp_path: Path) -> None:
    ScoredItems(items=items_table(known=2, unknown=18)).write(tmp_path)
    summary = pd.read_csv(tmp_path / "summary.csv")
    assert summary[["items", "unknown", "usable"]].to_numpy().tolist() == [[20, 18, 2]]
    assert summary[["low", "high"]].isna().all(axis=None)
    assert len(read_table(tmp_path / "items.csv", ITEMS)) == 20


def test_the_unusable_items_stand_beside_the_answer() -> None:
    items = items_table(known=2, unknown=18)
    study = Study(title="t", items=items, summary=summarise(items))
    html = page(study, {}, ExplorerLimits())
    warning = "Items with unknown critical words: model0 (ctb) 18 of 20. Accuracies of"
    places = [html.index(one) for one in ("a mean accuracy", warning, "<h2>Accuracy")]
    assert places == sorted(places)
    assert "nan" not in html[html.index("a mean accuracy") :][:200]
