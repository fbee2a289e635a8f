"""Tests of the analyses that are shipped, and of what is said when data are lacking."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from gardenpath.errors import ConfigError, InputError
from gardenpath.eval.statistics.mixed.mixed_fit import FitFailure, MixedFit
from gardenpath.eval.statistics.mixed.mixed_model import fit_mixed
from gardenpath.eval.statistics.mixed.random_terms import identifiable
from gardenpath.eval.statistics.questions import mixed_answer
from gardenpath.eval.statistics.questions.analysis import (
    load_analyses,
    load_analysis,
    make_analysis,
)
from gardenpath.eval.statistics.questions.answering import run_analysis
from gardenpath.eval.statistics.questions.wording import p_value
from tests.eval.statistics.tables import effect_table, item_table, mandarin_outcomes

FOLDER = Path(__file__).parents[4] / "conf" / "analysis"
ANALYSES = {analysis.name: analysis for analysis in load_analyses(FOLDER)}
MODELS = {"lstm": 0.55, "rnng": 0.85, "transformer": 0.6, "plm": 0.6}


@pytest.fixture(scope="module")
def effects() -> pd.DataFrame:
    return effect_table()


def test_the_analyses_of_the_studies_are_there() -> None:
    assert set(ANALYSES) >= {
        *("supervision", "corpus_size", "syntax_and_semantics", "modifier_complexity"),
        *("garden_path", "licensing", "flips", "divisions", "islandhood", "embedding_depth"),
        *("wh_effects", "wh_intervals", "center_embedding"),
    }


def test_structural_supervision_class_by_class() -> None:
    table = item_table(MODELS, classes=("verb_noun", "missing_object"))
    result = run_analysis(ANALYSES["supervision"], table)
    assert len(result.fits) == 4 and result.skipped == ()
    said = [sentence for sentence in result.sentences if "RNNG" in sentence]
    assert said[0].startswith("RNNG is more accurate than LSTM on missing object: b = ")
    chosen = table[table["model"].isin(["lstm", "rnng"]) & (table["class"] == "verb_noun")]
    chosen = chosen.assign(syntax=(chosen["model"] == "rnng").astype(float))
    alone = fit_mixed(ANALYSES["supervision"].formula, chosen, family="binomial")
    estimates = result.tables["estimates"].set_index(["class", "architecture"])
    assert estimates.loc[("verb_noun", "recurrent"), "estimate"] == pytest.approx(
        alone.effect("syntax").estimate, abs=1e-6
    )
    assert {"term", "estimate", "low", "high"} <= set(estimates.columns)


def _one_always_right() -> pd.DataFrame:
    """RNNG is right in all comparisons, LSTM is not."""
    table = item_table({"lstm": 0.7, "rnng": 0.9}, modifiers=("none",), items=15)
    table.loc[table["model"] == "rnng", "outcome"] = 1.0
    return table


def test_where_one_model_is_always_right_outcomes_are_counted_and_exchanged() -> None:
    table = _one_always_right()
    wrong = int((table["outcome"] == 0.0).sum())
    result = run_analysis(ANALYSES["supervision"], table)
    (said,) = result.sentences
    p = binomtest(0, wrong).pvalue  # every pair that differs does so in the same direction
    assert p < 0.05
    assert said == (
        f"RNNG is more accurate than LSTM on verb-noun: right in {30 - wrong} of 30 comparisons "
        f"(LSTM), in all 30 (RNNG); permutation test within item and seed, {p_value(p)}; "
        "the mixed model has no finite estimate because the predictors separate outcomes"
    )
    row = result.tables["estimates"].iloc[0]
    assert row[["estimate", "standard_error", "statistic", "low", "high"]].isna().all()
    assert row["p"] == pytest.approx(p)
    assert row["test"] == "permutation test within item and seed"
    assert row["remark"].startswith("the mixed model has no finite estimate")
    assert result.fits[0].strata == ("item", "seed")
    assert not result.tables["fits"]["converged"].any()


def test_a_few_exceptions_show_no_difference() -> None:
    table = _one_always_right()
    table.loc[table["model"] == "lstm", "outcome"] = 1.0
    table.loc[table.index[:2], "outcome"] = 0.0
    (said,) = run_analysis(ANALYSES["supervision"], table).sentences
    assert said.startswith("No difference between RNNG and LSTM on verb-noun could be shown: right")
    assert "p = .500" in said


def test_without_anything_to_exchange_nothing_is_claimed() -> None:
    table = item_table({"lstm": 0.7}, classes=("missing_object", "verb_noun"))
    table.loc[table["class"] == "missing_object", "outcome"] = 1.0
    result = run_analysis(ANALYSES["syntax_and_semantics"], table)
    right = int(table.loc[table["class"] == "verb_noun", "outcome"].sum())
    assert result.sentences == (
        "The analysis cannot determine whether LSTM is more accurate on syntactic than on "
        f"semantic classes: right in {right} of 80 comparisons (verb-noun), in all 80 (missing "
        "object); the mixed model has no finite estimate because the predictors separate outcomes",
    )
    assert result.tables["estimates"]["p"].isna().all() and result.fits[0].strata is None


@pytest.mark.parametrize("failure", ["divergence", "no convergence"])
@pytest.mark.parametrize("name", ["supervision", "modifier_complexity"])
def test_a_model_that_failed_is_never_quoted(
    monkeypatch: pytest.MonkeyPatch, name: str, failure: FitFailure
) -> None:
    def failing(*args: Any, **settings: Any) -> MixedFit:
        return dataclasses.replace(fit_mixed(*args, **settings), failure=failure)

    monkeypatch.setattr(mixed_answer, "fit_mixed", failing)
    table = item_table(
        MODELS, classes=("missing_object",), modifiers=("none", "subject_rc", "embedded_rc")
    )
    result = run_analysis(ANALYSES[name], table)
    assert result.sentences
    for said in result.sentences:
        assert "b = " not in said and "permutation test within item" in said
    assert result.tables["estimates"]["estimate"].isna().all()
    assert result.tables["coefficients"]["estimate"].isna().all()


def test_a_linear_model_that_failed_leaves_the_question_open(
    monkeypatch: pytest.MonkeyPatch, effects: pd.DataFrame
) -> None:
    def failing(*args: Any, **settings: Any) -> MixedFit:
        return dataclasses.replace(fit_mixed(*args, **settings), failure="no convergence")

    monkeypatch.setattr(mixed_answer, "fit_mixed", failing)
    for name in ("islandhood", "divisions", "licensing"):
        for said in run_analysis(ANALYSES[name], effects).sentences:
            assert said.startswith("The analysis cannot determine whether ")
            assert said.endswith("the mixed model did not converge")
    (said,) = run_analysis(ANALYSES["islandhood"], effects).sentences
    assert ": mean " in said and "(island no), " in said


def test_means_have_intervals_over_items() -> None:
    table = item_table(MODELS)
    means = run_analysis(ANALYSES["supervision"], table).tables["means"]
    rnng = means[(means["architecture"] == "recurrent") & (means["syntax"] == 1.0)].iloc[0]
    expected = table.loc[table["model"] == "rnng", "outcome"].mean()
    assert rnng["mean"] == pytest.approx(expected)
    assert rnng["low"] < rnng["mean"] < rnng["high"]
    assert (rnng["items"], rnng["rows"]) == (40, 80)  # twenty items in each of two suites


def test_a_missing_model_is_said() -> None:
    result = run_analysis(ANALYSES["supervision"], item_table({"lstm": 0.6, "plm": 0.7}))
    assert result.is_empty and result.tables == {}
    assert result.skipped == (
        "toy · verb-noun · attention: syntax has only one value, PLM",
        "toy · verb-noun · recurrent: syntax has only one value, LSTM",
    )


def test_one_corpus_has_no_size_to_compare() -> None:
    table = item_table({"lstm": 0.6}).assign(corpus="ctb")
    assert run_analysis(ANALYSES["corpus_size"], table).skipped == (
        "LSTM: larger has only one value, CTB",
    )


def test_a_larger_corpus_helps() -> None:
    small = item_table({"lstm": 0.5}, classes=("verb_noun", "subordination", "missing_object"))
    large = item_table({"lstm": 0.9}, classes=("verb_noun", "subordination", "missing_object"))
    table = pd.concat([small.assign(corpus="ctb"), large.assign(corpus="xinhua")])
    result = run_analysis(ANALYSES["corpus_size"], table)
    assert result.sentences[0].startswith(
        "LSTM is more accurate when trained on xinhua than on CTB: b = 0."
    )
    assert len(result.data) == 2 * 3 * 2 * 2  # accuracies by corpus, class, modifier and seed


def test_single_seeds_do_without_their_random_effect() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8}, seeds=(1,))
    table["seed"] = pd.array([None] * len(table), dtype="Int64")
    result = run_analysis(ANALYSES["supervision"], table)
    assert result.fits[0].formula == "outcome ~ syntax + (1 | modifier) + (1 | item)"
    assert "(1 | seed) left out: only one level" in result.tables["fits"]["notes"].iloc[0]


def test_complexity_of_modifiers() -> None:
    table = item_table(
        {"lstm": 0.7},
        classes=("missing_object", "verb_noun"),
        modifiers=("none", "subject_rc", "coordinated_rc", "embedded_rc"),
    )
    worse = table["modifier"].map({"none": 3, "subject_rc": 1, "coordinated_rc": 0}).fillna(-2)
    table["outcome"] = (table["difference_bits"] + worse > 0).astype(float)
    result = run_analysis(ANALYSES["modifier_complexity"], table)
    assert result.sentences[0].startswith("LSTM is less accurate with more complex modifiers")
    assert set(result.data["class"]) == {"missing_object"}


def test_garden_paths_are_tested_item_by_item() -> None:
    table = item_table({"lstm": 0.8}, classes=("garden_path_object", "verb_noun"))
    result = run_analysis(ANALYSES["garden_path"], table)
    first = result.tables["estimates"].iloc[0]
    values = table[(table["class"] == "garden_path_object") & (table["modifier"] == "adjective")]
    items = values.groupby("item")["difference_bits"].mean()
    assert first["n"] == 20
    assert first["statistic"] == pytest.approx(items.mean() / (items.std() / np.sqrt(20)))
    assert "bits (SD" in result.sentences[0]


@pytest.mark.parametrize("name", [name for name, a in ANALYSES.items() if a.table == "effects"])
def test_every_analysis_of_effects_finds_its_rows(effects: pd.DataFrame, name: str) -> None:
    result = run_analysis(ANALYSES[name], effects)
    assert result.skipped == ()
    estimates = result.tables["estimates"]
    assert np.isfinite(estimates[["estimate", "low", "high"]].to_numpy(dtype=float)).all()
    assert all("$" not in sentence for sentence in result.sentences)
    if ANALYSES[name].sentences:
        assert len(result.sentences) == len(estimates)


def test_what_the_effects_were_made_to_show(effects: pd.DataFrame) -> None:
    def said(name: str) -> str:
        return " ".join(run_analysis(ANALYSES[name], effects).sentences)

    assert "Islands lower the licensing interaction for LSTM" in said("islandhood")
    assert "stronger outside islands" in said("divisions")
    assert "The filler lowers surprisal for LSTM (embedded question, wh-effect with" in said(
        "flips"
    )
    assert "LSTM expects gaps after fillers" in said("licensing")


def test_tables_without_the_columns_are_skipped() -> None:
    result = run_analysis(ANALYSES["islandhood"], item_table({"lstm": 0.6}))
    assert result.skipped == ("the table has no column effect, depth, island, value_bits",)


def test_published_models(reference_data: Path) -> None:
    surprisals = reference_data / "published" / "mandarin" / "surprisals"
    table = mandarin_outcomes(surprisals, "vo", ("lstm", "rnng"))
    result = run_analysis(ANALYSES["supervision"], table.drop(columns="syntax"))
    assert result.sentences == (
        "RNNG is more accurate than LSTM on verb-noun: b = 0.51, SE 0.20, z = 2.57, p = .010",
    )


@pytest.mark.parametrize(
    ("formula", "rows", "expected"),
    [
        ("y ~ x + (1 | g) + (1 | one)", 8, "y ~ x + (1 | g)"),
        ("y ~ x + (1 + x | g)", 8, "y ~ x + (1 | g)"),
        ("y ~ x + (1 + x | g)", 12, "y ~ x + (1 + x | g)"),
        ("y ~ x + (1 | g:h)", 8, "y ~ x"),
    ],
)
def test_random_effects_that_cannot_be_told_go(formula: str, rows: int, expected: str) -> None:
    numbers = np.arange(rows)
    table = pd.DataFrame({"g": numbers % 4, "h": numbers // 4, "one": 0, "x": numbers, "y": 1.0})
    assert identifiable(formula, table.astype({"x": float}), family="gaussian")[0] == expected


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"title": "t"}, "a mixed model needs a formula"),
        ({"title": "t", "formula": "y ~"}, "is invalid at its end"),
        ({"title": "t", "test": "t_tset"}, "did you mean 't_test'"),
        ({"title": "t", "test": "t_test"}, "needs a response"),
        ({"title": "t", "test": "within_item", "response": "y"}, "need a condition"),
        ({"formula": "y ~ x"}, "title is missing"),
        ({"title": "t", "formula": "y ~ x", "splt": []}, "did you mean 'split'"),
        ({"title": "t", "formula": "y ~ x", "where": ["a"]}, "must be a group of settings"),
        ({"title": "t", "formula": "y ~ x", "derive": {"a": {"from": "b"}}}, "derive.a needs"),
        ({"title": "t", "formula": "y ~ x", "codings": {"a": {"kind": "helmert"}}}, "codings.a"),
        ({"title": "t", "formula": "y ~ x", "sentences": {"x": {"yes": ""}}}, "sentences.x has"),
    ],
)
def test_mistakes_in_settings_are_named(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        make_analysis(settings, name="a")


def test_questions_are_read_without_libraries_for_numbers() -> None:
    code = (
        "import sys; from pathlib import Path; "
        "from gardenpath.eval.statistics.questions.analysis import load_analyses; "
        f"load_analyses(Path({str(FOLDER)!r})); "
        "print(*sorted({'numpy', 'pandas', 'scipy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_files_that_are_no_analysis(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    for text in ("- a", "a: [", ""):
        path.write_text(text)
        with pytest.raises(InputError, match="is not an analysis"):
            load_analysis(path)
