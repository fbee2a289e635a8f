"""Results folders with the forms of other programs, listed in the manifest."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.data.readers.base import ResultForm
from gardenpath.eval.perplexity import PerplexityRow
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.report import page as report_module
from gardenpath.eval.suites.benchmarks import Pair, pair_suite
from gardenpath.eval.suites.outcomes import USUAL_TIES
from gardenpath.eval.suites.suite import SuiteError
from gardenpath.runs.evaluation import evaluate, score
from gardenpath.runs.results import Results, check_result_forms, how_made
from gardenpath.store.manifest import read_results_manifest
from gardenpath.store.tables import EFFECTS, ITEMS, SUMMARY, SURPRISALS, read_table
from tests.eval.suites.suite_samples import cats_suite, prediction_accuracies
from tests.runs.own_suite import Uniform, agreement

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
    assert prediction_accuracies(path, [PAIRS]) == {"pairs": accuracy["a/b"]}
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


# ----------------------------------------------------------------------------
# Results: tables, statistics, and folders that appear as a whole.


@pytest.fixture(scope="module")
def results() -> Results:
    return evaluate([Uniform("one"), Uniform("two")], agreement(), title="mine")


def test_tables_are_read_back_as_they_were(results: Results, tmp_path: Path) -> None:
    folder = results.write(tmp_path / "out")
    for schema, frame in (
        (ITEMS, results.items), (EFFECTS, results.effects), (SURPRISALS, results.surprisals),
    ):  # fmt: skip
        assert schema.file is not None
        found = read_table(folder / schema.file, schema)
        pd.testing.assert_frame_equal(found, frame, check_dtype=False)
    assert SUMMARY.file is not None
    summary = read_table(folder / SUMMARY.file, SUMMARY)
    assert summary["accuracy"].tolist() == results.summary["accuracy"].tolist()


def test_the_manifest_says_what_was_measured(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["notebook", "two words"])
    folder = replace(results, about={"runs": {"r": "key"}}).write(str(tmp_path / "out"))
    about = read_results_manifest(folder).about
    assert about == {
        "command": "notebook 'two words'", "title": "mine", "suites": ["agreement"],
        "search": None, "runs": {"r": "key"}, "ties": asdict(USUAL_TIES),
    }  # fmt: skip
    assert how_made(x=1) == {"command": "notebook 'two words'", "x": 1}


def test_tables_that_are_empty_are_not_written(results: Results, tmp_path: Path) -> None:
    folder = results.write(tmp_path / "out")
    assert not (folder / "word_pairs.csv").exists() and not (folder / "perplexity.csv").exists()
    row = PerplexityRow("c", "one", 1, 2, 3, 4.0, 5.0, 6.0, None)
    folder = replace(results, perplexity=[row], word_pairs=[{"first": "a"}]).write(folder)
    assert pd.read_csv(folder / "perplexity.csv")["perplexity"].tolist() == [4.0]
    assert (folder / "word_pairs.csv").is_file()


def test_statistics_name_their_questions(results: Results) -> None:
    table = results.statistics()
    assert table.columns[0] == "question"
    shown = {one.title for one in results.shown_analyses() if "estimates" in one.tables}
    assert set(table["question"]) == shown
    assert len(table) == sum(
        len(one.tables["estimates"])
        for one in results.shown_analyses()
        if "estimates" in one.tables
    )


def test_a_report_that_fails_leaves_the_results_before_it(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = results.write(tmp_path / "out")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fail(*_: object) -> Path:
        raise RuntimeError("no ink")

    monkeypatch.setattr(report_module, "write_report", fail)
    with pytest.raises(RuntimeError, match="no ink"):
        results.report(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["out"]


def test_a_report_has_tables_statistics_figures_and_a_page(
    results: Results, tmp_path: Path
) -> None:
    path = results.report(tmp_path / "out")
    assert path == tmp_path / "out" / "report.html"
    assert "Mine" in path.read_text(encoding="utf-8") or "mine" in path.read_text(encoding="utf-8")
    listed = set(read_results_manifest(path.parent).files)
    assert {"items.csv", "summary.csv", "report.html"} <= listed
    assert any(name.startswith("figures/") for name in listed)
    assert len(results.accuracy_tables()) == 1
