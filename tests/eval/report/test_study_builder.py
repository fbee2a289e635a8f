"""What a report says was run, and how analyses reach it."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.eval.report.study_builder import (
    as_shown,
    build_study,
    listed,
    modifier_orders,
    search_in_words,
    write_analyses,
)
from gardenpath.eval.statistics.questions.analysis import Analysis, AnalysisResult
from gardenpath.eval.suites.scoring.results import Results
from gardenpath.runs.suite_scores import Scores
from gardenpath.settings.compose import load_settings
from tests.tasks.toy_runs import run_of, settings


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
    shown = as_shown(result, modifier_orders())
    assert shown.sentences == ["ngram", "lstm", "lstm rc", "plm", "exact"]
    assert shown.found == [False, True, False, False, True]
    assert shown.told() == (["lstm", "exact"], ["ngram", "lstm rc", "plm"])
    assert shown.tables["estimates"]["p"].tolist()[0] == 0.05
    assert shown.skipped == result.skipped


def test_sentences_that_belong_to_no_row_are_all_told() -> None:
    shown = as_shown(_result(ROWS, ("one", "two")), modifier_orders())
    assert shown.told() == (["one", "two"], []) and shown.count == ""


def _items(accuracies: dict[str, float]) -> pd.DataFrame:
    """Garden paths whose difference is clear for some models and not for others."""
    rows = [
        {
            "run": model, "model": model, "corpus": "toy", "seed": 1, "suite": "s",
            "class": "garden_path_object", "modifier": "none", "item": item, "prediction": "p",
            "outcome": 1.0, "tie": False, "difference_bits": mean + (item % 5 - 2), "unknown": 0,
        }
        for model, mean in accuracies.items()
        for item in range(20)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_what_was_found_is_printed_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = _items({"lstm": 0.0, "plm": 0.0, "rnng": 9.0, "transformer": 0.0})
    (result,) = write_analyses(tmp_path, items, None)
    shown = " ".join(capsys.readouterr().out.split())
    assert "Is the garden path seen? 1 of 4 comparisons differs from zero (p < .05). RNNG" in shown
    assert shown.index("RNNG is less") < shown.index("for LSTM") < shown.index("for PLM")
    assert (tmp_path / f"{result.analysis.name}.R").is_file()


def test_searches_read_well() -> None:
    search = load_settings("evaluate", ["search.action_beam=30"])["search"]
    assert search_in_words(search) == (
        "word-synchronous beam, action beam 30, word beam 10, fast track 1, summed over survivors, "
        "at most 100 constituents open, at most 8 opened between two words, until no hypothesis is "
        "left that could matter"
    )
    slow = {**search, "bounded": False, "stop": "beam_full"}
    assert search_in_words(slow).endswith("until the beam is full, without bounds")
    particle = load_settings("evaluate", ["search=particle"])["search"]
    said = search_in_words(particle)
    assert said.startswith("particle filter, 100 particles, seed 1, ")
    for words in (search_in_words(search), said):
        assert not re.search(r"_|True|None|memory", words)
    assert search_in_words({"kind": "new", "some_width": 3}) == "new, some width 3"


def test_lists_have_each_value_once() -> None:
    assert listed([1, 2, 1]) == "1, 2"
    assert listed(["a", "b", "c"], last=" and ") == "a, b and c"
    assert listed(["a"], last=" and ") == "a" and listed([]) == ""


@pytest.mark.parametrize(("model", "is_searched"), [("ngram", False), ("rnng", True)])
def test_a_study_says_what_was_run(
    folder: Path, tmp_path: Path, model: str, is_searched: bool
) -> None:
    items = _items({"lstm": 0.0})
    scores = Scores(
        items=items,
        effects=pd.DataFrame(columns=[*items.columns, "effect", "value_bits"]),
        surprisals=pd.DataFrame(
            columns=[*items.columns, "condition", "variant", "region", "word_id", "word", "seen",
                     "surprisal_bits"]
        ),
        sentences=pd.DataFrame(),
        parses={},
        notes=(),
    )  # fmt: skip
    study = build_study(
        title="toy_english", suites=[], runs=[run_of(folder, model)] * 2, scores=scores,
        results=Results(items=items), analyses=[],
        settings=settings(folder, tmp_path, "suite=toy_english"),
    )  # fmt: skip
    assert study.title == "Toy english: 1 model trained on toy_english"
    assert ("search" in study.facts) == is_searched
    assert study.facts["models"] == model and "scipy" in study.facts["versions"]
    assert study.modifiers(["subject_rc", "none"]) == ["none", "subject_rc"]
