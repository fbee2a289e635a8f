"""``evaluate.py suite=…`` and ``task=suites`` from the command line."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from gardenpath.eval.display import EXACT
from tests import toy_runs
from tests.integration.commands import call


def test_tables_figures_and_a_report(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = toy_runs.arguments(
        folder, tmp_path, "suite=toy_english", "suite.suites=[reflexives/toy]", "suite.items=3",
        "task.perplexity=true", model="rnng",
    )  # fmt: skip
    assert call("evaluate.py", *arguments) == 0
    shown = capsys.readouterr()
    results = tmp_path / "toy_english"
    summary = pd.read_csv(results / "summary.csv")
    assert set(summary["model"]) == {"rnng", EXACT}
    assert (summary.loc[summary["model"] == EXACT, "accuracy"] == 1.0).all()
    for name in ("rnng", EXACT, "reflexives", "(marginal)", "report.html"):
        assert name in shown.out.replace("\n", "")
    for file in ("items.csv", "effects.csv", "surprisals.tsv", "word_pairs.csv"):
        assert (results / file).is_file()
    report = (results / "report.html").read_text(encoding="utf-8")
    assert report.startswith("<!DOCTYPE html>") and EXACT in report and "himself" in report
    assert any((results / "figures").glob("*.svg"))


def test_mistakes_are_found_before_anything_is_scored(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["task=suite", "task.ties=tails", "search.word_beam=0"]
    assert call("evaluate.py", *toy_runs.arguments(folder, tmp_path, *arguments)) == 2
    shown = capsys.readouterr().err
    assert "3 mistakes" in shown and "suite is missing" in shown
    assert list(tmp_path.iterdir()) == []


def test_a_suite_of_another_language(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = toy_runs.arguments(folder, tmp_path, "suite=mandarin", model="ngram")
    assert call("evaluate.py", *arguments) == 2
    assert "train one with 'python train.py data=…'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_list_of_suites_needs_no_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [f"run={tmp_path / 'none'}", f"output={tmp_path / 'out'}", "task.export=text"]
    assert call("evaluate.py", "task=suites", "suite=toy_english", *arguments) == 0
    assert "filler_gap/toy" in capsys.readouterr().out
    assert len(list((tmp_path / "out" / "suites").glob("*.txt"))) == 4
