"""Results folders with the forms of other programs, listed in the manifest."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from gardenpath.data.readers.base import ResultForm
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.suites.benchmarks import (
    Pair,
    pair_suite,
    prediction_accuracies,
    read_predictions,
)
from gardenpath.eval.suites.suite import SuiteError
from gardenpath.runs.evaluation import score
from gardenpath.runs.results import Results, check_result_forms
from gardenpath.store.manifest import read_results_manifest
from tests.eval.suites.samples import cats_suite

PAIRS = pair_suite(
    [Pair("The cats sleep.", "The cats sleeps.", 1), Pair("A cat sleeps.", "A cat sleep.", 2)],
    path="pairs",
    name="pairs",
)
BOTH: tuple[ResultForm, ...] = ("syntaxgym", "babylm")


def _surprisals(scale: float) -> dict[tuple[str, ...], list[float]]:
    return {
        words: [scale * (1 + len("".join(words[: n + 1])) / 8) for n in range(len(words))]
        for words in PAIRS.sentences
    }


def test_every_run_has_its_files(tmp_path: Path) -> None:
    results = score(PAIRS, {"a/b": _surprisals(1.0), "a_b": _surprisals(2.0)})
    folder = replace(results, also=BOTH).write(tmp_path / "results")
    files = read_results_manifest(folder).files
    written = sorted(name for name in files if "/" in name)
    assert written == [
        "babylm/a_b.2/predictions.json",
        "babylm/a_b/predictions.json",
        "syntaxgym/a_b.2/pairs.json",
        "syntaxgym/a_b/pairs.json",
    ]
    path = folder / "babylm" / "a_b" / "predictions.json"
    accuracy = results.items.groupby("run")["outcome"].mean()
    assert prediction_accuracies(read_predictions(path), [PAIRS], path) == {
        "pairs": accuracy["a/b"]
    }
    content = json.loads((folder / "syntaxgym" / "a_b.2" / "pairs.json").read_text("utf-8"))
    first = content["items"][0]["conditions"][0]["regions"][0]["metric_value"]
    values = _surprisals(2.0)["The", "cats", "sleep", "."]
    assert first["sum"] == math.fsum(values) and first["max"] == max(values)
    assert content["meta"]["model"] == "a_b"


def test_results_that_were_written_are_imported_again(tmp_path: Path) -> None:
    results = score(PAIRS, {"model": _surprisals(1.0)})
    folder = replace(results, also=("syntaxgym",)).write(tmp_path / "results")
    given = SurprisalSet(folder / "syntaxgym" / "model" / "pairs.json")
    again = Results.of_imported(import_tables([PAIRS], [given], PairingRules()), title="again")
    assert again.items["outcome"].tolist() == results.items["outcome"].tolist()
    assert again.items["difference_bits"].tolist() == pytest.approx(
        results.items["difference_bits"].tolist()
    )


def test_forms_that_suites_do_not_have(tmp_path: Path) -> None:
    check_result_forms(BOTH, [PAIRS])
    check_result_forms(("syntaxgym",), [cats_suite()])
    with pytest.raises(SuiteError, match="cats: BabyLM's predictions are for minimal pairs"):
        check_result_forms(BOTH, [PAIRS, cats_suite()])
    with pytest.raises(SuiteError, match="SyntaxGym cannot read the condition"):
        renamed = replace(cats_suite(), conditions=("a b",), predictions=())
        check_result_forms(("syntaxgym",), [renamed])
    # A failure leaves earlier results in place.
    results = score(PAIRS, {"model": _surprisals(1.0)})
    results.write(tmp_path / "results")
    undefined = {words: [math.nan] * len(words) for words in PAIRS.sentences}
    with pytest.raises(SuiteError, match="a word has no surprisal"):
        replace(score(PAIRS, {"m": undefined}), also=BOTH).write(tmp_path / "results")
    assert not (tmp_path / "results" / "babylm").exists()
