"""Which parts of an analysis have enough usable items."""

from __future__ import annotations

import pandas as pd
import pytest

from gardenpath.eval.statistics.analysis import AnalysisResult, make_analysis
from gardenpath.eval.statistics.answering import run_analysis
from gardenpath.eval.suites.outcomes import USABLE
from tests.eval.statistics.tables import ANALYSES, item_table


def _supervision(table: pd.DataFrame) -> AnalysisResult:
    return run_analysis(ANALYSES["supervision"], table)


def test_one_of_two_models_without_usable_items_prevents_their_comparison() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    assert _supervision(table).skipped == ()
    unknown = (table["model"] == "rnng") & (table["item"] > 5)
    result = _supervision(table.assign(unknown=unknown.astype(int)))
    (reason,) = result.skipped
    assert "items are usable (rnng); statistics need at least" in reason
    assert result.is_empty and result.tables == {}


def test_every_level_of_a_predictor_needs_items() -> None:
    table = item_table({"lstm": 0.6})
    settings = {
        "title": "t", "test": "mixed", "formula": "outcome ~ modifier + (1 | item)",
        "split": ["model"],
    }  # fmt: skip
    analysis = make_analysis(settings, name="a")
    last = sorted(table["modifier"].unique())[-1]
    assert run_analysis(analysis, table).skipped == ()
    few = table[(table["modifier"] != last) | (table["item"] < 3)]
    (reason,) = run_analysis(analysis, few).skipped
    assert f"(modifier {last}); statistics need at least 10" in reason


def test_averages_over_items_are_held_to_the_same_minimum() -> None:
    """Rows of averages are suites and seeds; what counts are the items behind them."""
    table = pd.concat([item_table({"lstm": 0.6}).assign(corpus=name) for name in ("ctb", "xinhua")])
    analysis = ANALYSES["data_size"]
    assert "usable" not in " ".join(run_analysis(analysis, table).skipped)
    few = table[table["item"] < 2]
    (reason,) = run_analysis(analysis, few).skipped
    assert "items are usable" in reason


def test_a_table_without_items_is_not_counted() -> None:
    table = pd.DataFrame({"model": ["lstm"] * 4, "y": [1.0, 2.0, 3.0, 5.0]})
    analysis = make_analysis({"title": "t", "test": "t_test", "response": "y"}, name="a")
    result = run_analysis(analysis, table)
    assert result.skipped == () and USABLE not in result.data.columns


@pytest.mark.parametrize("least", [1, 10, 21])
def test_the_minimum_is_a_setting(least: int) -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    result = run_analysis(ANALYSES["supervision"], table, min_items=least)
    assert result.is_empty == (table.groupby("class")["item"].nunique().max() * 2 < least)
