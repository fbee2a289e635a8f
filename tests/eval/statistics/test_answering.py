"""Tests of the analyses that are shipped, and of what is said when data are lacking."""

from __future__ import annotations

import dataclasses
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from gardenpath.errors import ConfigError, InputError
from gardenpath.eval.report.content import run_analyses
from gardenpath.eval.statistics import answering
from gardenpath.eval.statistics import answering as mixed_answer
from gardenpath.eval.statistics.analysis import (
    RESIDUAL,
    Analysis,
    AnalysisResult,
    FitFailure,
    FixedEffect,
    MixedFit,
    load_analyses,
    load_analysis,
    make_analysis,
)
from gardenpath.eval.statistics.answering import check_effect, precision_weights, run_analysis
from gardenpath.eval.statistics.answers import ESTIMATE_COLUMNS, estimate_row, p_value
from gardenpath.eval.statistics.design import identifiable
from gardenpath.eval.statistics.mixed import fit_mixed
from gardenpath.eval.statistics.rscript import r_script, write_result
from tests.eval.statistics.r_program import run_script
from tests.eval.statistics.tables import ANALYSES, FOLDER, effect_table, item_table, study_sentences

MODELS = {"lstm": 0.55, "rnng": 0.85, "transformer": 0.6, "plm": 0.6}


@pytest.fixture(scope="module")
def effects() -> pd.DataFrame:
    return effect_table()


def test_the_analyses_of_the_studies_are_there() -> None:
    by_study: dict[str, set[str]] = {}
    for name, analysis in ANALYSES.items():
        by_study.setdefault(analysis.study, set()).add(name)
    assert by_study == {
        "mandarin": {
            *("supervision", "data_size", "syntax_or_data", "modifier_effects"),
            *("syntactic_semantic", "syntactic_semantic_bare"),
            *("garden_path", "garden_path_by_item"),
            *("class_accuracies", "overall_accuracies", "modifier_accuracies"),
        },
        "suppression": {
            *("ordering", "ordering_contrasts", "ordering_intervals"),
            *("wh_intervals", "wh_contrasts", "discharge_contrasts"),
        },
        "filler_gap": {"interaction", "flip", "islandhood", "division", "depth"},
        "": {"licensing", "licensing_by_depth", "licensing_in_islands", "modifier_trend"},
    }
    for study, names in by_study.items():
        found = load_analyses(FOLDER, study=study)
        assert {analysis.name for analysis in found} == names
        folder = FOLDER / (study or "general")
        assert {path.stem for path in folder.glob("*.yaml")} == names


@pytest.mark.parametrize("name", ANALYSES)
def test_sentences_say_which_rows_they_are_about(name: str) -> None:
    """A sentence that does not name its corpus or its model can contradict another."""
    analysis = ANALYSES[name]
    for cases in analysis.sentences.values():
        assert set(cases) == {"more", "less", "none"}
        for template in cases.values():
            used = {found.split("_")[0] for found in re.findall(r"\$(\w+)", template)}
            whole = set(re.findall(r"\$(\w+)", template))
            # A contrast is named by its sides, and an architecture by its models.
            expected = set(analysis.parts_by) - {"contrast", "architecture"}
            assert expected <= whole, template
            if analysis.contrasts:
                assert {"first", "second"} <= whole
            is_about_corpora = {"corpus", "corpora", "large", "small"} & used
            assert is_about_corpora, template


def test_structural_supervision_class_by_class() -> None:
    table = item_table(MODELS, classes=("verb_noun", "missing_object"))
    result = run_analysis(ANALYSES["supervision"], table)
    assert len(result.fits) == 4 and result.skipped == ()
    said = [sentence for sentence in result.sentences if "RNNG" in sentence]
    assert said[0].startswith(
        "RNNG is more accurate than LSTM on missing object when trained on toy: b = "
    )
    chosen = table[table["model"].isin(["lstm", "rnng"]) & (table["class"] == "verb_noun")]
    chosen = chosen.assign(syntax=(chosen["model"] == "rnng").astype(float))
    formula = "outcome ~ syntax + (1 | modifier) + (1 | item) + (1 | seed)"
    alone = fit_mixed(formula, chosen, family="binomial")
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
        "RNNG is more accurate than LSTM on verb-noun when trained on toy: "
        f"right in {30 - wrong} of 30 comparisons "
        f"(LSTM), in all 30 (RNNG); permutation test within comparison and seed, {p_value(p)}; "
        "the mixed model has no finite estimate because the predictors separate outcomes"
    )
    row = result.tables["estimates"].iloc[0]
    assert row[["estimate", "standard_error", "statistic", "low", "high"]].isna().all()
    assert row["p"] == pytest.approx(p)
    assert row["test"] == "permutation test within comparison and seed"
    assert row["remark"].startswith("the mixed model has no finite estimate")
    assert result.fits[0].strata == ("comparison", "seed")
    assert not result.tables["fits"]["converged"].any()


def test_a_few_exceptions_show_no_difference() -> None:
    table = _one_always_right()
    table.loc[table["model"] == "lstm", "outcome"] = 1.0
    table.loc[table.index[:2], "outcome"] = 0.0
    (said,) = run_analysis(ANALYSES["supervision"], table).sentences
    assert said.startswith("No difference between RNNG and LSTM on verb-noun could be shown when")
    assert "p = .500" in said


def test_without_anything_to_exchange_nothing_is_claimed() -> None:
    settings = {
        "title": "t",
        "formula": "outcome ~ syntactic + (1 | class) + (1 | seed)",
        "family": "binomial",
        "derive": {"syntactic": {"from": "class", "values": {"missing_object": 1, "verb_noun": 0}}},
        "split": ["model"],
        "sentences": {"syntactic": {"more": "$model is more accurate on syntactic classes"}},
    }
    table = item_table({"lstm": 0.7}, classes=("missing_object", "verb_noun"))
    table.loc[table["class"] == "missing_object", "outcome"] = 1.0
    result = run_analysis(make_analysis(settings, name="syntactic"), table)
    right = int(table.loc[table["class"] == "verb_noun", "outcome"].sum())
    assert result.sentences == (
        "The analysis cannot determine whether LSTM is more accurate on syntactic classes: "
        f"right in {right} of 80 comparisons (verb-noun), in all 80 (missing "
        "object); the mixed model has no finite estimate because the predictors separate outcomes",
    )
    assert result.tables["estimates"]["p"].isna().all() and result.fits[0].strata is None


@pytest.mark.parametrize("failure", ["divergence", "no convergence"])
@pytest.mark.parametrize("name", ["supervision", "modifier_trend"])
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
        assert "b = " not in said and "permutation test within comparison" in said
    assert result.tables["estimates"]["estimate"].isna().all()
    assert result.tables["coefficients"]["estimate"].isna().all()


def test_a_linear_model_that_failed_leaves_the_question_open(
    monkeypatch: pytest.MonkeyPatch, effects: pd.DataFrame
) -> None:
    def failing(*args: Any, **settings: Any) -> MixedFit:
        return dataclasses.replace(fit_mixed(*args, **settings), failure="no convergence")

    monkeypatch.setattr(mixed_answer, "fit_mixed", failing)
    for name in ("licensing_in_islands", "licensing_by_depth", "licensing"):
        for said in run_analysis(ANALYSES[name], effects).sentences:
            assert said.startswith("The analysis cannot determine whether ")
            assert said.endswith("the mixed model did not converge")
    (said,) = run_analysis(ANALYSES["licensing_in_islands"], effects).sentences
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
    assert run_analysis(ANALYSES["data_size"], table).skipped == (
        "LSTM: large has only one value, CTB",
    )
    assert run_analysis(ANALYSES["data_size"], table.assign(corpus="toy")).skipped == (
        "no row has corpus *xinhua* or ctb* or ptb_sample or ptb (it has toy)",
    )


def test_a_larger_corpus_helps() -> None:
    small = item_table({"lstm": 0.5}, classes=("verb_noun", "subordination", "missing_object"))
    large = item_table({"lstm": 0.9}, classes=("verb_noun", "subordination", "missing_object"))
    table = pd.concat([small.assign(corpus="ctb"), large.assign(corpus="xinhua")])
    result = run_analysis(ANALYSES["data_size"], table)
    assert result.sentences[0].startswith(
        "LSTM is more accurate when trained on Xinhua than on CTB: b = 0."
    )
    assert len(result.data) == 2 * 3 * 2 * 2  # accuracies by corpus, class, modifier and seed


def test_single_seeds_do_without_their_random_effect() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8}, seeds=(1,))
    table["seed"] = pd.array([None] * len(table), dtype="Int64")
    result = run_analysis(ANALYSES["supervision"], table)
    assert result.fits[0].formula == "outcome ~ syntax + (1 | modifier) + (1 | comparison)"
    assert "(1 | seed) left out: only one level" in result.tables["fits"]["notes"].iloc[0]


def test_complexity_of_modifiers() -> None:
    table = item_table(
        {"lstm": 0.7},
        classes=("missing_object", "verb_noun"),
        modifiers=("none", "subject_rc", "coordinated_rc", "embedded_rc"),
    )
    worse = table["modifier"].map({"none": 3, "subject_rc": 1, "coordinated_rc": 0}).fillna(-2)
    table["outcome"] = (table["difference_bits"] + worse > 0).astype(float)
    result = run_analysis(ANALYSES["modifier_trend"], table)
    assert result.sentences[0].startswith(
        "LSTM, trained on toy, is less accurate with more complex"
    )
    assert set(result.data["class"]) == {"missing_object"}


def test_garden_paths_are_tested_over_runs_or_over_items() -> None:
    table = item_table({"lstm": 0.8}, classes=("garden_path_object", "verb_noun"))
    chosen = table[table["class"] == "garden_path_object"]
    items = chosen.groupby(["modifier", "item"])["difference_bits"].mean()
    for name, values in (
        ("garden_path", chosen["difference_bits"]),
        ("garden_path_by_item", items),
    ):
        result = run_analysis(ANALYSES[name], table)
        row = result.estimates.iloc[0]
        error = values.std() / np.sqrt(len(values))
        assert row["n"] == len(values)
        assert row["statistic"] == pytest.approx(values.mean() / error)
        assert row["half_width"] == pytest.approx(1.96 * error)
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

    assert "Islands lower the licensing interaction for LSTM" in said("licensing_in_islands")
    assert "LSTM, trained on toy, expects gaps after fillers" in said("licensing")


@pytest.mark.parametrize("name", [name for name, a in ANALYSES.items() if a.table == "sentences"])
def test_every_analysis_of_sentences_finds_its_rows(name: str) -> None:
    result = run_analysis(ANALYSES[name], study_sentences())
    assert result.skipped == ()
    assert len(result.sentences) == len(result.estimates) > 1
    assert all("$" not in sentence for sentence in result.sentences)
    metrics = ANALYSES[name].responses
    assert not metrics or set(result.estimates["metric"]) == set(metrics)


def test_what_the_sentences_were_made_to_show() -> None:
    """A filler lowers surprisal with a gap, by 1.6 without embedding, and raises it without."""
    table = study_sentences()
    flips = run_analysis(ANALYSES["flip"], table).estimates.set_index(["metric", "gap"])
    assert flips.loc[("local_bits", "with a gap"), "estimate"] < -1.0
    assert flips.loc[("local_bits", "without a gap"), "estimate"] > 1.0
    divisions = run_analysis(ANALYSES["division"], table).estimates
    assert set(divisions["metric"]) == {"global_bits_per_word", "slor"}
    assert (divisions["high"] < 0).all()
    islands = run_analysis(ANALYSES["islandhood"], table).estimates.set_index(["metric", "gap"])
    assert islands.loc[("slor", "with a gap"), "estimate"] > 0.5
    contrasts = run_analysis(ANALYSES["wh_contrasts"], table)
    expected = "in condition adjunct than in condition object (with a gap) for LSTM, trained on toy"
    assert expected in " ".join(contrasts.sentences)


def test_tables_that_lack_something_are_skipped_with_the_reason() -> None:
    items = item_table({"lstm": 0.6})
    assert run_analysis(ANALYSES["flip"], None).skipped == ("there is no table of sentences",)
    assert run_analysis(ANALYSES["flip"], items).skipped == (
        "the table has no column condition, local_bits, global_bits_per_word, slor",
    )
    assert run_analysis(ANALYSES["modifier_effects"], items).skipped == (
        "no row has class missing_object (it has verb_noun)",
    )
    sentences = study_sentences()
    assert run_analysis(ANALYSES["depth"], sentences.drop(columns="island")).skipped == (
        "the table has no column island",
    )
    worthless = items.assign(difference_bits=np.nan, **{"class": "garden_path_object"})
    assert run_analysis(ANALYSES["garden_path"], worthless).skipped == (
        "no row has a finite difference_bits",
    )


def test_one_side_of_a_contrast_is_not_a_contrast() -> None:
    table = study_sentences()
    chosen = table[table["modifier"].isin(["object", "adjunct"])]
    result = run_analysis(ANALYSES["wh_contrasts"], chosen)
    assert len(result.parts) == 2
    reason = "LSTM · with a gap · object → complex np: position has only one value, object"
    assert f"toy · {reason}" in result.skipped


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
        ({"title": "t", "formula": "y ~ x", "robustness": {"o": "y ~"}}, "robustness.o: the form"),
        ({"title": "t", "formula": "y ~ x", "robustness": {"o": "z ~ x"}}, "another response"),
        ({"title": "t", "formula": "y ~ x", "responses": ["z"]}, "must be 'value'"),
        ({"title": "t", "formula": "y ~ x", "correction": "hol"}, "did you mean 'holm'"),
        ({"title": "t", "test": "means", "response": "y", "correction": "holm"}, "needs p values"),
        ({"title": "t", "test": "means", "response": "y", "lme4_default": True}, "mixed models"),
        (
            {"title": "t", "formula": "y ~ x", "contrasts": {"a": {"from": "b"}}},
            "contrasts.a needs",
        ),
        (
            {"title": "t", "formula": "y ~ x", "contrasts": {"a": {"from": "b", "pairs": ["ab"]}}},
            "must be pairs",
        ),
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
        "from gardenpath.eval.statistics.analysis import load_analyses; "
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


# ----------------------------------------------------------------------------
# Tests of what is said beside an estimate: other tests, other models, corrections.


CASES = {"x": {"more": "more ($s)", "less": "less ($s)", "none": "none ($s)"}}


def _effect(estimate: float, p: float, *, name: str = "x") -> FixedEffect:
    return FixedEffect(
        name=name,
        estimate=estimate,
        standard_error=1.0,
        statistic=estimate,
        df=None,
        p=p,
        low=estimate - 2.0,
        high=estimate + 2.0,
    )


def _fit(effect: FixedEffect) -> MixedFit:
    return MixedFit(
        formula="y ~ x",
        family="binomial",
        fixed=(effect,),
        random=(),
        groups={},
        log_likelihood=0.0,
        n=9,
        failure=None,
        singular=False,
        engine="laplace",
    )


@pytest.mark.parametrize(
    ("first", "second", "agrees"),
    [
        ((1.0, 0.01), (2.0, 0.04), True),
        ((1.0, 0.01), (1.0, 0.06), False),
        ((1.0, 0.2), (1.0, 0.01), False),
        ((1.0, 0.01), (-1.0, 0.01), False),
        ((0.1, 0.8), (-0.1, 0.8), True),
    ],
)
def test_models_agree_in_direction_and_significance(
    first: tuple[float, float], second: tuple[float, float], agrees: bool
) -> None:
    other = _fit(_effect(*second))
    assert check_effect("o", other, _effect(*first), "satterthwaite").agrees == agrees


def test_another_model_that_fails_is_said() -> None:
    failed = dataclasses.replace(_fit(_effect(1.0, 0.01)), failure="divergence")
    found = check_effect("two effects", failed, _effect(1.0, 0.01), "satterthwaite")
    assert not found.agrees
    assert found.text == "with two effects, the estimates of the mixed model diverge"
    found = check_effect("o", "no rows", _effect(1.0, 0.01), "normal")
    assert found.text == "with o, no rows"


def _groups(seed: int = 4) -> pd.DataFrame:
    """Few groups, so that z tests and t tests of x, which varies between groups, differ."""
    dice = np.random.default_rng(seed)
    group = np.repeat(np.arange(6), 8)
    x = (group % 2).astype(float)
    y = x + dice.normal(scale=0.6, size=6)[group] + dice.normal(scale=0.3, size=len(group))
    return pd.DataFrame({"g": group.astype(str), "x": x, "y": y, "s": "all"})


def _answer(**settings: Any) -> AnalysisResult:
    common = {"title": "t", "formula": "y ~ x + (1 | g)", "split": ["s"], "sentences": CASES}
    analysis = make_analysis({**common, **settings}, name="a")
    return run_analysis(analysis, _groups())


def test_z_tests_and_t_tests_are_both_in_the_table_and_differences_are_said() -> None:
    by_t, by_z = _answer(), _answer(reference="normal")
    one, other = by_t.estimates.iloc[0], by_z.estimates.iloc[0]
    fit = fit_mixed("y ~ x + (1 | g)", _groups(), family="gaussian").effect("x")
    assert one["p"] == one["p_satterthwaite"] == other["p_satterthwaite"] == fit.p
    assert other["p"] == other["p_normal"] == one["p_normal"]
    assert other["p"] == pytest.approx(math.erfc(abs(fit.statistic) / math.sqrt(2.0)))
    assert other["high"] - other["estimate"] == pytest.approx(1.959964 * fit.standard_error)
    assert (one["test"], other["test"]) == ("t test", "z test")
    # The table was chosen so that only one of the two is significant.
    assert other["p"] < 0.05 < one["p"]
    assert by_t.sentences[0].startswith("None (all)")
    assert "by the normal approximation, p = " in by_t.sentences[0]
    assert by_z.sentences[0].startswith("More (all)")
    assert "with Satterthwaite's degrees of freedom (4.0), p = " in by_z.sentences[0]


def test_other_models_are_reported_beside_the_first() -> None:
    result = _answer(robustness={"no groups": "y ~ x", "the same": "y ~ x + (1 | g)"})
    table = result.tables["robustness"]
    assert table["alternative"].tolist() == ["no groups", "the same"]
    assert table["agrees"].tolist() == [False, True]
    plain = fit_mixed("y ~ x", _groups(), family="gaussian").effect("x")
    assert table["p"].tolist() == pytest.approx([plain.p, result.estimates["p"].iloc[0]])
    row = result.estimates.iloc[0]
    assert row["robustness"].startswith("with no groups, b = ")
    assert row["robustness"] in result.sentences[0] and "the same" not in result.sentences[0]


def test_a_failed_model_beside_a_good_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(formula: str, **settings: Any) -> MixedFit:
        fit = fit_mixed(formula, **settings)
        is_nested = "model:seed" in formula
        return dataclasses.replace(fit, failure="no convergence") if is_nested else fit

    monkeypatch.setattr(answering, "fit_mixed", failing)
    table = item_table({"lstm": 0.5, "rnng": 0.8})
    result = run_analysis(ANALYSES["supervision"], table)
    row = result.tables["robustness"].iloc[0]
    assert math.isnan(row["estimate"]) and row["remark"] == "the mixed model did not converge"
    assert "nested within models, the mixed model did not converge" in result.sentences[0]


def test_estimates_have_the_same_columns_for_every_test() -> None:
    effects = effect_table()
    for name in ("ordering", "wh_intervals", "licensing"):
        result = run_analysis(ANALYSES[name], effects)
        assert tuple(result.estimates.columns[-len(ESTIMATE_COLUMNS) :]) == ESTIMATE_COLUMNS
    with pytest.raises(KeyError, match="not a column of estimates: estimat"):
        estimate_row(estimat=1.0)


def test_corrected_p_values_decide_what_is_said() -> None:
    effects = effect_table()
    analysis = ANALYSES["ordering"]
    plain = run_analysis(analysis, effects)
    corrected = run_analysis(dataclasses.replace(analysis, correction="bonferroni"), effects)
    count = len(plain.estimates)
    expected = np.minimum(count * plain.estimates["p"], 1.0)
    assert corrected.estimates["p_adjusted"].tolist() == pytest.approx(expected.tolist())
    assert corrected.estimates["p"].tolist() == plain.estimates["p"].tolist()
    assert set(corrected.estimates["correction"]) == {"Bonferroni"}
    assert plain.estimates["p_adjusted"].tolist() == plain.estimates["p"].tolist()
    assert "after Bonferroni correction" in corrected.sentences[0]


# ----------------------------------------------------------------------------
# Analyses whose rows are weighted by the search error of their response.


FORMULA = "difference_bits ~ syntax + (1 | item)"
SYNTAX = {"syntax": {"from": "model", "values": {"lstm": 0, "rnng": 1}}}


def _items(known: str = "rnng") -> pd.DataFrame:
    """Items, of which those of one model have a standard error."""
    table = item_table({"lstm": 0.6, "rnng": 0.8}, items=15)
    dice = np.random.default_rng(3)
    errors = dice.gamma(1.0, 1.0, size=len(table))
    return table.assign(difference_se=np.where(table["model"] == known, errors, np.nan))


def _analysis(**more: object) -> Analysis:
    settings = {"title": "?", "formula": FORMULA, "derive": SYNTAX, "weights": "error"}
    return make_analysis({**settings, **more}, name="weighted")


def test_weights_are_precisions() -> None:
    found = precision_weights(np.array([0.0, 1.0, np.nan, 2.0]), 0.5)
    expected = np.array([1 / 0.5, 1 / 1.5, 1 / 0.5, 1 / 4.5])
    assert found == pytest.approx(expected / expected.mean())
    assert found.mean() == pytest.approx(1.0)


def test_two_steps_by_hand() -> None:
    table = _items()
    result = run_analysis(_analysis(), table)
    rows = table.assign(syntax=(table["model"] == "rnng").astype(float))
    plain = fit_mixed(FORMULA, rows, family="gaussian")
    variance = next(one.variance for one in plain.random if one.group == RESIDUAL)
    weights = 1.0 / (variance + rows["difference_se"].fillna(0.0) ** 2)
    again = fit_mixed(
        FORMULA, rows.assign(w=weights / weights.mean()), family="gaussian", weights="w"
    )
    (row,) = result.estimates.to_dict("records")
    effect = again.effect("syntax")
    assert row["estimate"] == pytest.approx(effect.estimate, rel=1e-6)
    assert row["standard_error"] == pytest.approx(effect.standard_error, rel=1e-6)
    assert row["estimate"] != pytest.approx(plain.effect("syntax").estimate, rel=1e-3)
    assert result.data["weight"].to_numpy() == pytest.approx((weights / weights.mean()).to_numpy())
    assert "weighted by search error: weights from" in result.tables["fits"]["notes"].item()
    assert "60 rows without a standard error count as exact in weights" in result.notes


def test_without_error_weights_change_nothing() -> None:
    table = _items().assign(difference_se=0.0)
    weighted = run_analysis(_analysis(), table).estimates
    plain = run_analysis(_analysis(weights="none"), table).estimates
    pd.testing.assert_frame_equal(weighted, plain, rtol=1e-9)


def test_parts_have_weights_of_their_own_and_robustness_checks_the_same() -> None:
    table = _items()
    analysis = _analysis(split=["modifier"], robustness={"no items": "difference_bits ~ syntax"})
    result = run_analysis(analysis, table)
    means = result.data.groupby("modifier")["weight"].mean()
    assert means.to_numpy() == pytest.approx([1.0, 1.0]) and len(result.fits) == 2
    checked = result.fits[0].robustness["no items"].effect("syntax")
    rows = result.data[result.data["modifier"] == "adjective"]
    alone = fit_mixed("difference_bits ~ syntax", rows, family="gaussian", weights="weight")
    assert checked.estimate == pytest.approx(alone.effect("syntax").estimate)


def test_averages_have_the_error_of_a_mean() -> None:
    table = _items()
    analysis = _analysis(
        formula="difference_bits ~ syntax", average=["model", "seed", "modifier", "class"]
    )
    found = run_analysis(analysis, table).data
    of_one = table[(table["model"] == "rnng") & (table["seed"] == 1)]
    of_one = of_one[of_one["modifier"] == "none"]["difference_se"]
    row = found[(found["model"] == "rnng") & (found["seed"].astype(int) == 1)]
    row = row[row["modifier"] == "none"]
    assert row["response_se"].item() == pytest.approx(np.sqrt((of_one**2).sum()) / len(of_one))
    assert found[found["model"] == "lstm"]["response_se"].isna().all()


def test_a_part_without_a_model_says_why() -> None:
    table = _items()
    table = table[(table["modifier"] == "none") | (table["model"] == "rnng")]
    result = run_analysis(_analysis(split=["modifier"]), table)
    assert result.skipped == ("adjective: syntax has only one value, RNNG",)
    assert len(result.fits) == 1 and result.fits[0].is_weighted


def test_a_table_without_errors_is_skipped_with_a_reason() -> None:
    result = run_analysis(_analysis(), item_table({"lstm": 0.6, "rnng": 0.8}))
    assert result.is_empty and "no column difference_se" in result.skipped[0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"family": "binomial", "formula": "outcome ~ syntax"}, "not for a binomial model"),
        ({"test": "t_test", "formula": "", "response": "difference_bits"}, "not for a t_test"),
        ({"formula": "outcome ~ syntax + (1 | item)"}, "needs a response that has a standard err"),
        ({"formula": "value ~ syntax", "responses": ["slor", "words"]}, "not words"),
    ],
)
def test_what_has_no_weights_is_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _analysis(**more)


def test_responses_have_errors_of_their_own() -> None:
    table = _items().assign(local_bits=lambda t: t["difference_bits"], slor=lambda t: -t["item"])
    table = table.assign(local_se=0.5, slor_se=0.25)
    analysis = _analysis(formula="value ~ syntax + (1 | item)", responses=["local_bits", "slor"])
    found = run_analysis(analysis, table).data
    assert found.groupby("metric")["response_se"].unique().map(list).to_dict() == {
        "local_bits": [0.5],
        "slor": [0.25],
    }


def test_the_script_has_the_same_weights(tmp_path: Path) -> None:
    result = run_analysis(_analysis(robustness={"no items": "difference_bits ~ syntax"}), _items())
    script = r_script(result)
    assert "d$weight <- as.numeric(d$weight)" in script
    assert "lmer(difference_bits ~ syntax + (1 | item), data = part, weights = weight" in script
    assert "lm(difference_bits ~ syntax, data = part, weights = weight)" in script
    write_result(tmp_path, result)
    written = pd.read_csv(tmp_path / "weighted.csv")["weight"]
    assert written.to_numpy() == pytest.approx(result.data["weight"].to_numpy(), rel=1e-15)
    assert "weights =" not in r_script(run_analysis(_analysis(weights="none"), _items()))


@pytest.mark.slow
def test_the_script_prints_our_estimates(tmp_path: Path) -> None:
    result = run_analysis(_analysis(), _items())
    write_result(tmp_path, result)
    printed = run_script(tmp_path / "weighted.R")
    theirs = printed[(printed["kind"] == "fixed") & (printed["term"] == "syntax")]
    (row,) = result.estimates.to_dict("records")
    for column in ("estimate", "standard_error", "df", "effect_size"):
        assert row[column] == pytest.approx(theirs[column].item(), rel=1e-3), column


def test_all_analyses_that_can_be_weighted_are() -> None:
    effects = effect_table()
    errors = np.random.default_rng(0).gamma(1.0, 0.2, size=len(effects))
    items = _items()
    found = {
        one.analysis.name: one
        for one in run_analyses(items, effects.assign(value_se=errors), weights="error")
    }
    assert found["licensing"].analysis.is_weighted and found["licensing"].fits[0].is_weighted
    assert not found["supervision"].analysis.is_weighted
    reason = "not weighted by search error: only linear mixed models have weights"
    assert reason in found["supervision"].notes
    # Without errors, nothing is weighted.
    plain = {one.analysis.name: one for one in run_analyses(items, effects, weights="error")}
    assert not plain["licensing"].analysis.is_weighted
    assert "not weighted by search error: no standard error is known" in plain["licensing"].notes
    before = {one.analysis.name: one for one in run_analyses(items, effects)}
    pd.testing.assert_frame_equal(before["licensing"].estimates, plain["licensing"].estimates)
    assert dataclasses.replace(before["licensing"].analysis) == plain["licensing"].analysis
