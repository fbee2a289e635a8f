"""How analyses are run, written, and put in order for the report."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from gardenpath.eval.report.shown_analyses import as_shown, run_analyses, write_analyses
from gardenpath.eval.statistics.questions.analysis import Analysis, AnalysisResult
from tests.eval.report.samples import garden_paths


def _result(rows: list[tuple[str, str, float]], sentences: tuple[str, ...]) -> AnalysisResult:
    table = pd.DataFrame(rows, columns=["model", "modifier", "p"])
    table = table.assign(term=table["model"], estimate=1.0, low=0.5, high=1.5)
    return AnalysisResult(
        analysis=Analysis(name="a", title="Is it so?", split=("model", "modifier")),
        data=pd.DataFrame(),
        tables={"estimates": table},
        sentences=sentences,
        skipped=("unigram: every value is the same",),
    )


ROWS = [
    ("plm", "none", 0.5),
    ("lstm", "object_rc", float("nan")),
    ("lstm", "none", 0.0499),
    ("exact grammar", "none", 0.001),
    ("ngram", "none", 0.05),
]


def test_sentences_and_tables_stand_in_the_order_of_the_report() -> None:
    result = _result(ROWS, ("plm", "lstm rc", "lstm", "exact", "ngram"))
    shown = as_shown(result)
    assert shown.sentences == ["ngram", "lstm", "lstm rc", "plm", "exact"]
    assert shown.found == [False, True, False, False, True]
    assert shown.told() == (["lstm", "exact"], ["ngram", "lstm rc", "plm"])
    assert shown.tables["estimates"]["p"].tolist()[0] == 0.05
    assert shown.skipped == result.skipped


def test_modifiers_may_have_another_order() -> None:
    shown = as_shown(_result(ROWS, ()), [("object_rc", "none")])
    assert shown.tables["estimates"]["modifier"].tolist()[1:3] == ["object_rc", "none"]


def test_sentences_that_belong_to_no_row_are_all_told() -> None:
    shown = as_shown(_result(ROWS, ("one", "two")))
    assert shown.told() == (["one", "two"], []) and shown.count == ""


def test_only_what_the_tables_allow_is_run_and_written(tmp_path: Path) -> None:
    items = garden_paths({"lstm": 0.0, "rnng": 9.0})
    results = run_analyses(items)
    assert [result.analysis.name for result in results] == ["garden_path"]
    write_analyses(tmp_path, results)
    assert {path.suffix for path in tmp_path.iterdir()} == {".R", ".csv", ".txt"}
    assert all(path.stem.startswith("garden_path") for path in tmp_path.iterdir())
    assert run_analyses(items[:0]) == []
