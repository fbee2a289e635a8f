"""Suites are scored item by item."""

from __future__ import annotations

import math

from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.outcomes import TieRule, critical_words, score_suite, score_table
from gardenpath.eval.suites.regions import RegionTable
from tests.eval.suites.samples import cats_suite, surprisals_of


def test_one_row_per_item_and_prediction() -> None:
    suite = cats_suite(
        {
            "fits": "(noun;%mismatch%) > (noun;%match%)",
            "whole": "(*;%mismatch%) > (*;%match%)",
        },
        items=3,
    )
    rows = score_suite(suite, surprisals_of(suite, [(4, 7), (5, 5), (6, 2)]))
    assert [(row.item, row.prediction) for row in rows] == [
        (1, "fits"), (1, "whole"), (2, "fits"), (2, "whole"), (3, "fits"), (3, "whole"),
    ]  # fmt: skip
    assert [row.outcome for row in rows] == [1, 1, 0.5, 0.5, 0, 0]
    assert [row.tie for row in rows] == [False, False, True, True, False, False]
    assert [row.difference_bits for row in rows] == [3, 3, 0, 0, -4, -4]
    first = rows[0]
    assert (first.suite, first.kind, first.modifier) == ("cats", "classifier_noun", "none")
    assert first.labels == {"animal": "cat"}


def test_missing_surprisals_are_rows_too() -> None:
    suite = cats_suite(items=2)
    rows = score_suite(suite, surprisals_of(suite, [(4, math.nan), (1, 2)]))
    assert len(rows) == 2
    assert math.isnan(rows[0].outcome) and rows[1].outcome == 1


def test_unknown_words_count_where_the_prediction_looks() -> None:
    suite = cats_suite(items=1)
    values = surprisals_of(suite, [(1, 2)])
    assert score_suite(suite, values, unknown={"猫1", "本", "马"})[0].unknown == ("猫1",)
    assert score_suite(suite, values)[0].unknown == ()
    whole = Formula.parse("(*;%mismatch%) > (noun;%match%)")
    assert critical_words(suite, suite.items[0], whole) == ("猫1", "一", "本", "。")


def test_the_coin_does_not_depend_on_what_else_is_scored() -> None:
    suite, fewer = cats_suite(items=40), cats_suite(items=20)
    throws = score_suite(
        suite, surprisals_of(suite, [(1, 1)] * 40), ties=TieRule(credit="coin", seed=3)
    )
    alone = score_suite(
        fewer, surprisals_of(fewer, [(1, 1)] * 20), ties=TieRule(credit="coin", seed=3)
    )
    assert [row.outcome for row in throws[:20]] == [row.outcome for row in alone]
    assert {row.outcome for row in throws} == {0.0, 1.0}
    other = score_suite(
        suite, surprisals_of(suite, [(1, 1)] * 40), ties=TieRule(credit="coin", seed=4)
    )
    assert [row.outcome for row in throws] != [row.outcome for row in other]


def test_a_table_scores_like_its_words() -> None:
    suite = cats_suite(items=2)
    values = surprisals_of(suite, [(4, 7), (5, 6)])
    assert score_table(RegionTable.from_words(suite, values)) == score_suite(suite, values)
