"""The item on which the explorer opens."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from gardenpath.eval.display import EXACT
from gardenpath.eval.report.content import ReportContent
from gardenpath.eval.report.explorer import ExplorerLimits, explorer_data, opening
from tests.eval.report.samples import sample_study


@pytest.fixture(scope="module")
def plain() -> ReportContent:
    """A study without parses, in which every item can be chosen."""
    return replace(sample_study(), parses={})


def with_difference(study: ReportContent, bits: dict[str, float], **place: object) -> ReportContent:
    """The study, in which these models have these differences in one item."""
    items = study.items.copy()
    at = pd.Series(True, index=items.index)
    for column, value in place.items():
        at &= items[column] == value
    items["unknown"] = 0
    for model, value in bits.items():
        rows = at & (items["model"] == model)
        assert rows.any()
        items.loc[rows, "difference_bits"] = value
    return replace(study, items=items)


PLACE = {"suite": "islands_adjunct", "item": 2, "prediction": "gap"}


def test_it_is_the_one_on_which_models_disagree_most(plain: ReportContent) -> None:
    study = with_difference(plain, {"lstm": -40.0, "rnng": 41.5}, **PLACE)
    found = opening(study)
    assert found is not None
    assert (found.suite, found.item, found.run) == ("islands_adjunct", 2, "toy_english/rnng/seed1")
    assert found.reason == (
        "the item on which the models disagree most: +41.5 bits in rnng, −40.0 bits in lstm (gap)"
    )
    opened = explorer_data(study, ExplorerLimits(items=1))
    place = opened["open"]
    suite = opened["suites"][place["suite"]]
    assert (suite["name"], suite["items"][place["item"]]["id"]) == ("islands_adjunct", 2)


def test_the_same_difference_in_all_models_is_no_disagreement(plain: ReportContent) -> None:
    models = dict.fromkeys(plain.items["model"].unique(), 90.0)
    found = opening(with_difference(plain, models, **PLACE))
    assert found is not None and (found.suite, found.item) != ("islands_adjunct", 2)


def test_the_exact_grammar_does_not_disagree(plain: ReportContent) -> None:
    found = opening(with_difference(plain, {EXACT: 500.0}, **PLACE))
    assert found is not None and (found.suite, found.item) != ("islands_adjunct", 2)


def test_with_one_model_it_is_the_one_with_the_largest_effect(plain: ReportContent) -> None:
    study = with_difference(plain, {"rnng": -60.0}, **PLACE)
    items = study.items[study.items["model"].isin(["rnng", EXACT])]
    found = opening(replace(study, items=items))
    assert found is not None
    assert (found.suite, found.item) == ("islands_adjunct", 2)
    assert found.reason == "the item with the largest effect (60.0 bits)"


def test_without_items_there_is_none() -> None:
    assert opening(ReportContent(title="empty")) is None
