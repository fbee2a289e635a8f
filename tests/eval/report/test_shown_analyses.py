"""How analyses are run, written, and put in order for the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from gardenpath.eval.display import EXACT
from gardenpath.eval.report.content import (
    SKIPPED_FILE,
    as_shown,
    run_analyses,
    shown_results,
    write_analyses,
)
from gardenpath.eval.statistics.analysis import Analysis, AnalysisResult
from gardenpath.eval.statistics.formulas import Correction
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
    assert shown.told() == (["one", "two"], []) and shown.line == "2 results."


def test_what_the_tables_do_not_allow_is_listed_with_its_reason(tmp_path: Path) -> None:
    items = garden_paths({"lstm": 0.0, "rnng": 9.0})
    results = run_analyses(items)
    done = [result.analysis.name for result in results if not result.is_empty]
    assert done == ["garden_path", "garden_path_by_item"]
    named = [one.analysis.name for one in run_analyses(items, study="mandarin")]
    assert {"class_accuracies", "garden_path"} <= set(named)
    write_analyses(tmp_path, results)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"garden_path.R", "garden_path.csv", "garden_path.txt", SKIPPED_FILE} <= names
    said = (tmp_path / SKIPPED_FILE).read_text(encoding="utf-8").splitlines()[2:]
    assert len(said) == len(results) - len(done)
    assert (
        "flip (Does a gap reverse the effect of the licensor?): there is no table of sentences"
        in (said)
    )
    *shown, skipped = shown_results(results)
    assert [one.title for one in shown] == [r.analysis.title for r in results if not r.is_empty]
    assert list(skipped.skipped) == said and not skipped.sentences
    assert all(result.is_empty for result in run_analyses(items[:0]))


def test_exact_grammars_are_not_tested() -> None:
    results = run_analyses(garden_paths({"lstm": 0.5, EXACT: 9.0}))
    tables = [table for one in results for table in one.tables.values() if "model" in table]
    assert tables and all(set(table["model"]) == {"lstm"} for table in tables)


def test_a_study_has_its_own_analyses_only() -> None:
    results = run_analyses(garden_paths({"lstm": 0.0}), study="mandarin")
    assert {result.analysis.study for result in results} == {"mandarin"}
    assert run_analyses(garden_paths({"lstm": 0.0}), study="none") == []


def test_what_is_significant_depends_on_the_correction() -> None:
    # Five t tests of which each is just significant by itself.
    items = garden_paths(dict.fromkeys(["lstm", "rnng", "plm", "transformer", "ngram"], 0.0))
    for model, rows in items.groupby("model"):
        values = np.tile([1.0, -1.0, 0.4], len(rows))[: len(rows)] - 0.1
        shift = 2.2 * values.std(ddof=1) / np.sqrt(len(rows)) - values.mean()
        items.loc[items["model"] == model, "difference_bits"] = values + shift
    cases: list[tuple[Correction | None, int]] = [
        *((None, 5), ("holm", 0), ("benjamini_hochberg", 5)),
    ]
    for correction, count in cases:
        results = run_analyses(items, study="mandarin", correction=correction)
        result = next(r for r in results if r.analysis.name == "garden_path")
        assert sum(as_shown(result).found) == count
        assert ("correction" in result.sentences[0]) == (correction is not None)
