"""``gp.evaluate``: runs, anybody's models and both together, with the numbers of evaluate.py."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gardenpath as gp
from gardenpath.eval.report.content import ReportContent
from gardenpath.eval.report.explorer import opening
from gardenpath.eval.suites.outcomes import TieRule
from tests.integration.commands import call
from tests.runs.own_suite import Uniform, agreement
from tests.toy_runs import NARROW_SEARCH, arguments, run_of

TABLES = ("items.csv", "effects.csv", "surprisals.tsv", "summary.csv", "sentences.csv",
          "word_pairs.csv")  # fmt: skip


@pytest.fixture(scope="module")
def suites() -> list[gp.Suite]:
    """Two items of each of two small suites."""
    return [replace(one, items=one.items[:2]) for one in gp.suites("reflexives/toy", "islands/toy")]


@pytest.mark.slow
def test_results_are_those_of_the_command_line(folder: Path, tmp_path: Path) -> None:
    """Every table, digit for digit."""
    chosen = ("suite=toy_english", "suite.items=2", "task.report=false",
              f"paths.surprisals={tmp_path / 'other.sqlite'}")  # fmt: skip
    assert call("evaluate.py", *arguments(folder, tmp_path, *chosen)) == 0
    runs = gp.find(folder / "runs", search=NARROW_SEARCH)
    results = gp.evaluate(
        runs, gp.suites("toy_english"), title="toy_english", in_vocabulary=True, items=2
    )
    results.write(tmp_path / "mine")
    for name in TABLES:
        mine, theirs = (tmp_path / one / name for one in ("mine", "toy_english"))
        assert mine.read_text(encoding="utf-8") == theirs.read_text(encoding="utf-8"), name
    assert set(results.items["model"]) == {"lstm", "ngram", "plm", "rnng", "exact grammar"}


def test_one_run_and_one_suite(folder: Path, suites: list[gp.Suite]) -> None:
    results = gp.evaluate(run_of(folder, "ngram"), suites[0])
    assert isinstance(results, gp.Results)
    assert set(results.items["model"]) == {"ngram"}
    assert set(results.items["suite"]) == {"reflexives/toy"}
    assert len(results.surprisals) == sum(
        len(variant.words) for item in suites[0].items for variant in item.variants
    )
    again = gp.evaluate([run_of(folder, "ngram")], [suites[0]])
    pd.testing.assert_frame_equal(results.items, again.items)


def test_surprisals_are_those_of_the_run(folder: Path, suites: list[gp.Suite]) -> None:
    """Every word of the table, against the model asked by itself."""
    run = run_of(folder, "rnng")
    table = gp.evaluate(run, suites).surprisals
    keys = ["suite", "item", "condition", "variant"]
    groups = [group for _, group in table.groupby(keys, sort=False)]
    alone = run.surprisal([group["word"].tolist() for group in groups], end=False)
    found = [value for group in groups for value in group["surprisal_bits"]]
    assert found == pytest.approx(alone["surprisal_bits"].tolist(), abs=1e-6)


def test_anybody_s_model(suites: list[gp.Suite]) -> None:
    results = gp.evaluate(Uniform(), suites)
    assert results.surprisals["surprisal_bits"].tolist() == pytest.approx(
        [10.0] * len(results.surprisals)
    )
    # Sentences of one length are equally probable: ties, which count as chance.
    assert set(results.summary["model"]) == {"uniform"} and results.items["tie"].any()
    assert results.summary["seeds"].tolist() == [1] * len(results.summary)


def test_runs_and_other_models_together(folder: Path, suites: list[gp.Suite]) -> None:
    runs = gp.find(folder / "runs", search=NARROW_SEARCH)
    results = gp.evaluate([*runs, Uniform()], suites)
    assert list(dict.fromkeys(results.items["model"])) == [
        "lstm", "ngram", "plm", "rnng", "uniform",
    ]  # fmt: skip
    alone = gp.evaluate(runs, suites).items
    pd.testing.assert_frame_equal(results.items.iloc[: len(alone)], alone)


def test_a_model_that_knows_the_grammar_is_right(folder: Path) -> None:
    """Bring your own model: the grammar of the toy corpus, from outside."""

    class Grammar:
        name = "grammar"

        def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
            from gardenpath.data.pcfg.exact import ExactModel

            reader: Any = run_of(folder, "ngram").data.reader
            found = ExactModel(reader.rules).word_log_probs(sentences)
            return [np.nan_to_num(one, nan=-math.inf, neginf=-math.inf) for one in found]

    few = [replace(one, items=one.items[::6]) for one in gp.suites("reflexives/toy")]
    assert (gp.evaluate(Grammar(), few).items["outcome"] == 1.0).all()


def test_unknown_words_are_listed_and_items_with_them_may_be_left_out(folder: Path) -> None:
    run = run_of(folder, "ngram")
    results = gp.evaluate(run, agreement())
    assert results.items["unknown_words"].tolist() == ["", "wugs"]
    known = gp.evaluate(run, agreement(), in_vocabulary=True)
    assert set(known.items["item"]) == {1}
    assert set(known.items["model"]) == {"ngram", "exact grammar"}
    with pytest.raises(gp.GardenpathError, match="only words that all models know"):
        gp.evaluate(run, replace(agreement(), items=agreement().items[1:]), in_vocabulary=True)


def test_models_are_told_apart_by_their_names(folder: Path, suites: list[gp.Suite]) -> None:
    both = gp.evaluate([Uniform("one"), Uniform("two")], suites)
    assert set(both.items["run"]) == {"one", "two"}
    for twice in ([Uniform(), Uniform()], [run_of(folder, "ngram"), run_of(folder, "ngram")]):
        with pytest.raises(gp.GardenpathError, match="2 models have this name"):
            gp.evaluate(twice, suites)


def test_models_of_other_languages_are_left_out(suites: list[gp.Suite]) -> None:
    chinese, any_language = Uniform("zh"), Uniform("any")
    chinese.language = "zh"
    any_language.language = None  # type: ignore[assignment]
    results = gp.evaluate([chinese, any_language, Uniform()], suites)
    assert set(results.items["run"]) == {"any", "uniform"}
    with pytest.raises(gp.GardenpathError, match="suites are in en, but all models are in zh"):
        gp.evaluate(chinese, suites)


@pytest.mark.parametrize(
    ("subjects", "chosen", "error", "problem"),
    [
        ([], "suites", gp.GardenpathError, "no models given"),
        (Uniform(), "none", gp.GardenpathError, "no suites are given"),
        (Uniform(), "name", TypeError, "give suites, as gp.suites"),
    ],
)
def test_mistakes_are_explained(
    suites: list[gp.Suite], subjects: Any, chosen: str, error: type[Exception], problem: str
) -> None:
    asked: Any = {"suites": suites, "none": [], "name": "reflexives"}[chosen]
    with pytest.raises(error, match=problem):
        gp.evaluate(subjects, asked)


def test_ties_by_a_seeded_coin(suites: list[gp.Suite]) -> None:
    tossed = [
        gp.evaluate(Uniform(), suites, ties=rule).items["outcome"].tolist()
        for rule in (TieRule(credit="coin", seed=seed) for seed in (1, 1, 2, 3, 4))
    ]
    assert tossed[0] == tossed[1] and len({tuple(one) for one in tossed}) > 1


def test_partial_parses_are_kept_for_some_items(folder: Path, suites: list[gp.Suite]) -> None:
    plain = gp.evaluate(run_of(folder, "rnng"), suites[0])
    assert plain.tables.parses == {}
    best = opening(ReportContent(title="", items=plain.items, surprisals=plain.tables.surprisals))
    assert best is not None
    # The item on which the report opens comes last, or first.
    for is_last in (True, False):
        order = sorted(suites[0].items, key=lambda one: (one.number == best.item) == is_last)
        suite = replace(suites[0], items=tuple(order))
        results = gp.evaluate(run_of(folder, "rnng"), suite, parsed_items=1)
        parsed = {item for _, _, item, *_ in results.tables.parses}
        assert parsed == {order[0].number, best.item}
        assert len(parsed) == 1 + is_last


@pytest.mark.slow
def test_statistics_and_a_report_with_a_manifest(
    folder: Path, tmp_path: Path, suites: list[gp.Suite]
) -> None:
    runs = [run_of(folder, "ngram"), run_of(folder, "lstm")]
    assert gp.evaluate(runs, suites, title="mine", in_vocabulary=True).statistics().empty
    more = [replace(one, items=one.items[:8]) for one in gp.suites(*(one.name for one in suites))]
    results = gp.evaluate(runs, more, title="mine", in_vocabulary=True, min_items=2)
    statistics = results.statistics()
    assert list(statistics.columns[:1]) == ["question"] and len(statistics) > 0
    assert {"estimate", "low", "high"} <= set(statistics.columns)
    report = results.report(tmp_path / "results")
    assert report == tmp_path / "results" / "report.html" and report.is_file()
    manifest = json.loads((report.parent / "manifest.json").read_text(encoding="utf-8"))
    about = manifest["about"]
    assert about["title"] == "mine" and about["suites"] == [one.name for one in suites]
    assert about["runs"] == {str(run.path): run.folder.fingerprint() for run in runs}
    listed = set(manifest["files"])
    assert {"report.html", *TABLES} <= listed
    files = {
        path.relative_to(report.parent).as_posix()
        for path in report.parent.rglob("*")
        if path.is_file()
    }
    assert files == {*listed, "manifest.json"}


def test_results_replace_results_and_nothing_else(tmp_path: Path, suites: list[gp.Suite]) -> None:
    results = gp.evaluate(Uniform(), suites)
    folder = results.write(tmp_path / "results")
    report = (folder / "report.html").exists()
    assert not report and (folder / "items.csv").is_file()
    gp.evaluate(Uniform("other"), suites[0]).write(folder)
    assert set(pd.read_csv(folder / "items.csv")["model"]) == {"other"}
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(gp.RunError, match=r"notes\.txt"):
        results.write(folder)
    assert set(pd.read_csv(folder / "items.csv")["model"]) == {"other"}
