"""Results: tables, statistics, and folders that appear as a whole."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.eval.perplexity import PerplexityRow
from gardenpath.eval.report import page as report_module
from gardenpath.eval.suites.outcomes import USUAL_TIES
from gardenpath.runs.evaluation import evaluate
from gardenpath.runs.results import Results, how_made
from gardenpath.store.manifest import read_results_manifest
from gardenpath.store.tables import EFFECTS, ITEMS, SUMMARY, SURPRISALS, read_table
from tests.runs.own_suite import Uniform, agreement


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
