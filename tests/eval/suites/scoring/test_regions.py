"""Region surprisals by every metric, means over variants, and SyntaxGym's own numbers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.published.files import read_token_table
from gardenpath.eval.suites.regions import (
    MissingSurprisalError,
    RegionTable,
    exact_mean,
    exact_sum,
    region_value,
)
from gardenpath.eval.suites.suite import Item, Metric, Suite, Variant
from gardenpath.eval.suites.syntaxgym import load_syntaxgym
from tests.eval.suites.samples import cats_suite, surprisals_of


@pytest.mark.parametrize(
    ("metric", "normalised", "expected"),
    [
        ("sum", False, 9.0),
        ("mean", False, 3.0),
        ("max", False, 5.0),
        ("first", False, 3.0),
        ("sum", True, 4.5),  # three pieces of two words
        ("max", True, 2.5),
    ],
)
def test_metrics(metric: Metric, normalised: bool, expected: float) -> None:
    assert region_value([3, 1, 5], metric=metric, normalised=normalised, words=2) == expected


def test_a_region_without_words_sums_to_nothing_and_has_no_mean() -> None:
    assert region_value([], words=0) == 0
    for metric in ("mean", "max", "first"):
        assert math.isnan(region_value([], metric=metric, words=0))
    assert math.isnan(region_value([], normalised=True, words=0))


def test_gaps_and_infinities_are_not_lost() -> None:
    assert region_value([1, math.inf], words=2) == math.inf
    assert math.isnan(region_value([1, math.nan], words=2))
    assert math.isnan(region_value([math.nan, 1], metric="max", words=2))
    assert math.isnan(region_value([1, math.nan], metric="max", words=2))
    assert math.isnan(exact_sum([math.inf, -math.inf]))
    assert math.isnan(exact_mean([]))


@given(st.lists(st.floats(0, 40), min_size=1, max_size=8))
def test_sums_do_not_depend_on_the_order(values: list[float]) -> None:
    assert exact_sum(values) == exact_sum(values[::-1])
    assert exact_sum(values) == pytest.approx(sum(values))
    assert exact_mean(values) == exact_mean(sorted(values))


def test_values_by_name_number_and_whole_sentence() -> None:
    suite = cats_suite(items=2)
    table = RegionTable.from_words(suite, surprisals_of(suite, [(4, 7), (5, 6)]))
    assert table.value(1, "classifier", "match") == 3
    assert table.value(2, "noun", "mismatch") == 6
    assert table.value(2, "2", "mismatch") == 6
    assert table.value(1, "*", "match") == 7.5
    assert table.lookup(1)("noun", "match") == 4


def test_the_whole_sentence_has_its_own_metric() -> None:
    suite = replace(cats_suite(items=1), metric="max")
    table = RegionTable.from_words(suite, surprisals_of(suite, [(4, 7)]))
    assert table.value(1, "*", "mismatch") == 7
    suite = replace(cats_suite(items=1), normalised=True)
    table = RegionTable.from_words(suite, surprisals_of(suite, [(4, 7)]))
    assert table.value(1, "*", "match") == 7.5 / 4
    assert table.value(1, "classifier", "match") == 1.5


def test_variants_of_a_condition_are_averaged() -> None:
    item = Item(3, tuple(Variant("a", ((word,), ("x",))) for word in ("p", "q", "r")))
    suite = Suite("s", "en", ("one", "two"), ("a",), (), (item,))
    table = RegionTable.from_rows(suite, [(1, 10), (2, 20), (6, 60)])
    assert table.values == {(3, "a"): (3.0, 30.0, 33.0)}


def test_surprisals_that_do_not_fit_are_named() -> None:
    suite = cats_suite(items=1)
    values = surprisals_of(suite, [(4, 7)])
    with pytest.raises(MissingSurprisalError, match="condition mismatch: 3 surprisals for 4 words"):
        RegionTable.from_words(suite, values | {suite.items[0].variants[1].words: (1, 2, 3)})
    del values[suite.items[0].variants[0].words]
    with pytest.raises(MissingSurprisalError, match="condition match: no surprisals"):
        RegionTable.from_words(suite, values)
    with pytest.raises(MissingSurprisalError, match="for 1 sentences, but the suite has 2"):
        RegionTable.from_rows(suite, [(1, 2, 3, 4)])
    table = RegionTable.from_rows(suite, [(1, 2, 3, 4)] * 2)
    with pytest.raises(MissingSurprisalError, match="item 1: no condition other"):
        table.value(1, "noun", "other")


def test_tokens_and_words_agree_where_tokens_are_words() -> None:
    suite = cats_suite(items=2)
    values = surprisals_of(suite, [(4, 7), (5, 6)])
    tokens = {words: ((*words, "</s>"), (*row, 9.0)) for words, row in values.items()}
    assert RegionTable.from_tokens(suite, tokens).values == (
        RegionTable.from_words(suite, values).values
    )
    with pytest.raises(MissingSurprisalError, match="no surprisals for this sentence"):
        RegionTable.from_tokens(suite, {})


@pytest.mark.parametrize("metric", ["sum", "mean", "max"])
def test_syntaxgym_region_surprisals(reference_data: Path, metric: Metric) -> None:
    folder = reference_data / "published" / "syntaxgym"
    suite = replace(load_syntaxgym(folder / "test_in.json"), metric=metric)
    path = folder / "test_surp_grnn.txt"
    read = zip(suite.sentences, read_token_table(path), strict=True)
    tokens = {words: (one.tokens, one.values) for words, one in read}
    table = RegionTable.from_tokens(suite, tokens, end_counts=True)
    expected = json.loads((folder / "test_out_grnn.json").read_text(encoding="utf-8"))
    compared = 0
    for item in expected["items"]:
        for condition in item["conditions"]:
            for region in condition["regions"]:
                found = table.value(
                    item["item_number"], str(region["region_number"]), condition["condition_name"]
                )
                assert found == pytest.approx(region["metric_value"][metric], abs=1e-9)
                compared += 1
    assert compared == 24
