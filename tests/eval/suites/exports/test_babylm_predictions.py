"""Preferred sentences of pairs, as BabyLM's pipeline writes them and counts them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.errors import InputError
from gardenpath.eval.suites.benchmarks import (
    Pair,
    dump_predictions,
    pair_predictions,
    pair_suite,
    prediction_accuracies,
    read_predictions,
)
from gardenpath.eval.suites.outcomes import TieRule, score_table
from gardenpath.eval.suites.regions import RegionTable
from gardenpath.eval.suites.suite import Suite, SuiteError
from tests.eval.suites.samples import cats_suite

PAIRS = (
    ("The cats sleep.", "The cats sleeps."),
    ("A dog isn't here.", "A dog aren't here."),
    ("Who knows?", "Who know?"),
)


def _suite(name: str = "agreement") -> Suite:
    pairs = [
        Pair(good, bad, number, {"paradigm": "number" if number < 3 else "questions"})
        for number, (good, bad) in enumerate(PAIRS, start=1)
    ]
    return pair_suite(pairs, path="pairs.jsonl", name=name)


def _rows(suite: Suite, totals: list[float]) -> list[list[float]]:
    """Surprisals whose sums over the words of each variant are these."""
    variants = [variant for item in suite.items for variant in item.variants]
    return [
        [total, *[0.0] * (len(variant.words) - 1)]
        for variant, total in zip(variants, totals, strict=True)
    ]


def test_the_form_of_the_pipeline() -> None:
    """Sentences are those of the file of the pairs, to the letter: the pipeline compares them."""
    suite = _suite()
    found = pair_predictions([(suite, _rows(suite, [1.0, 2.0, 4.0, 3.0, 5.0, 5.0]))])
    assert json.loads(dump_predictions(found)) == {
        "number": {
            "predictions": [
                {"id": "number_0", "pred": "The cats sleep."},
                {"id": "number_1", "pred": "A dog aren't here."},
            ]
        },
        # A tie: the pipeline takes the first.
        "questions": {"predictions": [{"id": "questions_0", "pred": "Who knows?"}]},
    }


@given(st.lists(st.floats(0, 50), min_size=6, max_size=6, unique=True))
def test_predictions_come_back_with_the_accuracy_of_the_suite(
    tmp_path_factory: pytest.TempPathFactory, totals: list[float]
) -> None:
    suite = _suite()
    rows = _rows(suite, totals)
    path = tmp_path_factory.mktemp("babylm") / "predictions.json"
    path.write_text(dump_predictions(pair_predictions([(suite, rows)])), encoding="utf-8")
    predictions = read_predictions(path)
    assert predictions == pair_predictions([(suite, rows)])
    table = RegionTable.from_rows(suite, rows)
    outcomes = [one.outcome for one in score_table(table, ties=TieRule(ties="exact"))]
    assert prediction_accuracies(predictions, [suite], path) == {
        "number": sum(outcomes[:2]) / 2, "questions": outcomes[2]
    }  # fmt: skip


def test_suites_that_are_no_pairs_of_sentences() -> None:
    suite = _suite()
    for other in (cats_suite(), replace(suite, metric="mean"), replace(suite, predictions=())):
        with pytest.raises(SuiteError, match="BabyLM's predictions are for minimal pairs"):
            pair_predictions([(other, [])])
    with pytest.raises(SuiteError, match="agreement, item 2: a word has no surprisal"):
        pair_predictions([(suite, _rows(suite, [1.0, 2.0, math.nan, 3.0, 5.0, 6.0]))])


@pytest.mark.parametrize(
    "text", ["[]", '{"a": 1}', '{"a": {"predictions": [{"id": "a_0"}]}}', "{", '{"a": {}}',
             '{"a": {"predictions": [{"id": "a_0", "pred": null}]}}'],
)  # fmt: skip
def test_other_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "predictions.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"predictions\.json"):
        read_predictions(path)


def test_predictions_of_other_pairs_are_refused(tmp_path: Path) -> None:
    suite, path = _suite(), tmp_path / "p.json"
    found = pair_predictions([(suite, _rows(suite, [1.0, 2.0, 4.0, 3.0, 5.0, 6.0]))])
    with pytest.raises(InputError, match="number: 1 predictions for 2 pairs"):
        prediction_accuracies({"number": found["number"][:1]}, [suite], path)
    wrong = [replace(found["number"][0], pred="The cat sleeps."), found["number"][1]]
    with pytest.raises(InputError, match=r"number_0: 'The cat sleeps\.' is neither"):
        prediction_accuracies({"number": wrong}, [suite], path)
