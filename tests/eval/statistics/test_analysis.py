"""Tests that the R script of every analysis prints our estimates.

Where lme4 reaches the same maximum of the likelihood and no random effect is singular, all numbers
agree to 1e-4. Where the model is singular, lme4's second derivatives at the boundary are less
accurate, so that standard errors agree to 1e-3 and tests are not compared. Where lme4 stops at a
lower likelihood, only that is compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gardenpath.eval.statistics.analysis import Analysis, AnalysisResult, MixedFit, make_analysis
from gardenpath.eval.statistics.answering import run_analysis
from gardenpath.eval.statistics.formulas import Correction, WithinMethod
from gardenpath.eval.statistics.rscript import LME4_VARIANT, MAIN_VARIANT, write_result
from gardenpath.util import file_stem
from tests.eval.statistics.r_program import run_script
from tests.eval.statistics.released import (
    mandarin_items,
    ordering_effects,
    wh_effects,
    wh_sentences,
)
from tests.eval.statistics.tables import ANALYSES, study_effects, study_items, study_sentences
from tests.tiers import slow_but_first

MEANS = [name for name, analysis in ANALYSES.items() if analysis.test != "mixed"]
MODELS = [name for name in ANALYSES if name not in MEANS]
# What scripts print after the columns of the split.
R_COLUMNS = (
    *("kind", "term", "variant", "estimate", "standard_error", "statistic", "df"),
    *("p", "p_satterthwaite", "low", "high", "effect_size", "effect_size_low", "effect_size_high"),
    *("n", "p_adjusted"),
)
# Of analyses with many parts, these are enough.
FEWER = {"supervision": {"class": ["verb_noun", "classifier_noun", "reflexives"]}}

# Log-likelihoods nearer than this are the same maximum.
SAME = 1e-5
RELATIVE = 1e-4


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return {"items": study_items(), "effects": study_effects(), "sentences": study_sentences()}


def _answer(
    folder: Path, analysis: Analysis, tables: dict[str, pd.DataFrame]
) -> tuple[AnalysisResult, pd.DataFrame]:
    """Our answer, and the table that the script prints for it."""
    result = run_analysis(analysis, tables[analysis.table])
    write_result(folder, result)
    printed = run_script(folder / f"{file_stem(analysis.name)}.R")
    assert tuple(printed.columns) == (*analysis.parts_by, *R_COLUMNS)
    return result, printed


def _part(table: pd.DataFrame, part: dict[str, str]) -> pd.DataFrame:
    for column, value in part.items():
        table = table[table[column].fillna("").astype(str) == value]
    return table


def _check_numbers(
    ours: pd.DataFrame, theirs: pd.DataFrame, columns: list[str], *, relative: float = RELATIVE
) -> None:
    """Numbers agree to 1e-4 of themselves, plus 1e-4 of their standard error."""
    for column in columns:
        one = ours[column].to_numpy(dtype=np.float64)
        other = theirs[column].to_numpy(dtype=np.float64)
        sizes = np.abs(one)
        if column in ("estimate", "low", "high"):
            sizes = sizes + theirs["standard_error"].fillna(0.0).to_numpy()
        elif column == "statistic":
            sizes = np.maximum(sizes, 1.0)
        elif column.startswith("effect_size"):
            sizes = np.maximum(sizes, 0.01)
        elif column.startswith("p"):  # a change of the statistic changes a small p by more
            sizes = 10.0 * sizes
        assert (np.isnan(one) == np.isnan(other)).all(), column
        is_near = np.abs(one - other) <= relative * sizes
        assert is_near[~np.isnan(one)].all(), (column, one, other)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MEANS, "cousineau_morey", "masson_loftus", "bonferroni"])
def test_means_and_their_intervals(
    tmp_path: Path, tables: dict[str, pd.DataFrame], name: str
) -> None:
    if name == "bonferroni":
        analysis = dataclasses.replace(ANALYSES["garden_path"], correction="bonferroni")
    elif name in ("cousineau_morey", "masson_loftus"):
        method: WithinMethod = "masson_loftus" if name == "masson_loftus" else "cousineau_morey"
        analysis = dataclasses.replace(ANALYSES["wh_intervals"], method=method)
    else:
        analysis = ANALYSES[name]
    result, printed = _answer(tmp_path, analysis, tables)
    ours = result.estimates
    assert len(ours) == len(printed) > 1 and set(printed["kind"]) == {"mean"}
    columns = ["estimate", "low", "high", "n"]
    if analysis.test == "t_test":
        columns += ["standard_error", "statistic", "df", "p", "p_adjusted"]
        columns += ["effect_size", "effect_size_low", "effect_size_high"]
    elif analysis.test == "within_item":
        assert ours[analysis.condition].tolist() == printed["term"].tolist()
    for column in analysis.parts_by:
        assert ours[column].fillna("").tolist() == printed[column].fillna("").tolist()
    _check_numbers(ours, printed, columns)


@pytest.mark.parametrize("name", slow_but_first(MODELS, fast=3))
def test_mixed_models(tmp_path: Path, tables: dict[str, pd.DataFrame], name: str) -> None:
    analysis = ANALYSES[name]
    analysis = dataclasses.replace(
        analysis,
        where={**analysis.where, **FEWER.get(name, {})},
        # Of linear models, these numbers take long; the released files have them too.
        lme4_default=analysis.lme4_default and analysis.family == "binomial",
    )
    result, printed = _answer(tmp_path, analysis, tables)
    _check_models(result, printed)


@pytest.mark.slow
@pytest.mark.parametrize("correction", ["holm", "benjamini_hochberg"])
def test_corrections(
    tmp_path: Path, tables: dict[str, pd.DataFrame], correction: Correction
) -> None:
    analysis = dataclasses.replace(ANALYSES["licensing"], correction=correction)
    result, printed = _answer(tmp_path, analysis, tables)
    theirs = printed[printed["p_adjusted"].notna()]
    assert set(theirs["term"]) == {"(Intercept)"}
    ours = result.estimates
    assert (ours["p_adjusted"] >= ours["p"]).all() and (ours["p_adjusted"] > ours["p"]).any()
    # The p values are those of a test in which nothing is singular, so they agree.
    _check_numbers(ours, theirs, ["p", "p_adjusted"])


# Formulas that no analysis has, of effects or, in a binomial model, of outcomes.
OTHERS: dict[str, dict[str, Any]] = {
    "two factors": {
        "formula": "value_bits ~ island * effect + (1 | item) + (1 | seed)",
        "codings": {"effect": {"kind": "sum", "levels": ["wh_effect_nogap", "wh_effect_gap"]}},
    },
    "slopes of a factor": {"formula": "value_bits ~ effect + (effect | item) + (1 | seed)"},
    "no correlation": {
        "formula": "value_bits ~ gap + (1 + gap || item)",
        "derive": {"gap": {"from": "effect", "values": {"wh_effect_gap": 1, "wh_effect_nogap": 0}}},
    },
    "no random effects": {"formula": "value_bits ~ island + effect"},
    "power": {
        "formula": "value_bits ~ level + I(level^2) + (1 | item)",
        "derive": {"level": {"from": "depth", "values": {"0": 0, "1": 1, "2": 2, "3": 3}}},
    },
    "outcomes without random effects": {
        "formula": "outcome ~ modifier",
        "family": "binomial",
        "where": {"class": ["missing_object"], "corpus": ["ctb"]},
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_mixed_models(tmp_path: Path, tables: dict[str, pd.DataFrame], name: str) -> None:
    is_binomial = OTHERS[name].get("family") == "binomial"
    wanted = {"class": ["filler_gap"], "effect": ["wh_effect_gap", "wh_effect_nogap"]}
    common = {
        "title": name,
        "table": "items" if is_binomial else "effects",
        "where": {} if is_binomial else wanted,
        "split": ["model"],
    }
    analysis = make_analysis({**common, **OTHERS[name]}, name="other")
    result, printed = _answer(tmp_path, analysis, tables)
    assert len(result.fits) >= 2
    _check_models(result, printed)


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_names_and_labels_that_r_would_misread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locale: str
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    table = study_effects().rename(columns={"value_bits": "next", "seed": "the `seed`"})
    table["in"] = (table["effect"] == "wh_effect_gap").astype(float)
    table["corpus"] = np.where(table["model"] == "lstm", 'a "b" \\n', "语料库")
    settings = {
        "title": "a\nb",
        "table": "effects",
        "formula": r"next ~ `in` + (1 | `the \`seed\``)",
        "split": ["corpus"],
    }
    result, printed = _answer(
        tmp_path, make_analysis(settings, name="with blanks"), {"effects": table}
    )
    assert set(printed["corpus"]) == {'a "b" \\n', "语料库"}
    for part in result.parts:
        ours = _part(result.tables["coefficients"], dict(part))
        theirs = _part(_main(printed)[_main(printed)["kind"] == "fixed"], dict(part))
        assert [name.strip("`") for name in theirs["term"]] == ours["term"].tolist()
        _check_numbers(ours, theirs, ["estimate", "standard_error", "df"])


def _check_models(result: AnalysisResult, printed: pd.DataFrame) -> None:
    """All models of an analysis, and the tests that stand in for those that failed."""
    compared = 0
    for fitted in result.fits:
        part = dict(fitted.part)
        everything = _part(printed, part)
        ours, theirs = _part(result.tables["coefficients"], part), _main(everything)
        if fitted.strata is not None:
            assert theirs["kind"].tolist() == ["permutation"]
            p = ours.loc[ours["term"] == theirs["term"].item(), "p"].item()
            assert theirs["p"].item() == pytest.approx(p, rel=1e-9)
        else:
            is_normal = result.analysis.reference == "normal"
            compared += _check_model(fitted.fit, ours, theirs, is_normal=is_normal)
            for name, other in fitted.robustness.items():
                _check_alternative(other, everything[everything["variant"] == name])
    assert compared >= len(result.fits) / 2


def _main(printed: pd.DataFrame) -> pd.DataFrame:
    return printed[printed["variant"] == MAIN_VARIANT]


def _check_alternative(fit: MixedFit, theirs: pd.DataFrame) -> None:
    """The estimates of a model that checks the robustness of another."""
    if fit.failure is not None:
        return
    facts = theirs[theirs["kind"] == "fit"].set_index("term")["estimate"]
    assert fit.log_likelihood > facts["log_likelihood"] - SAME
    if fit.log_likelihood < facts["log_likelihood"] + SAME:
        fixed = theirs[theirs["kind"] == "fixed"]
        ours = pd.DataFrame(
            [{"estimate": one.estimate, "standard_error": one.standard_error} for one in fit.fixed]
        )
        _check_numbers(ours, fixed, ["estimate"])
        _check_numbers(ours, fixed, ["standard_error"], relative=10 * RELATIVE)


def _check_model(
    fit: MixedFit, ours: pd.DataFrame, theirs: pd.DataFrame, *, is_normal: bool
) -> bool:
    """Whether all numbers of a model could be compared; those that can be are."""
    facts = theirs[theirs["kind"] == "fit"].set_index("term")["estimate"]
    fixed = theirs[theirs["kind"] == "fixed"]
    assert fixed["term"].tolist() == ours["term"].tolist()
    assert (fixed["n"] == fit.n).all()
    gain = fit.log_likelihood - facts["log_likelihood"]
    assert gain > -SAME
    if gain > SAME:
        return False
    _check_numbers(ours, fixed, ["estimate"])
    _check_numbers(ours, fixed, ["standard_error"], relative=10 * RELATIVE)
    if facts.get("singular", 0.0) == 1.0:
        columns = ["p", "low", "high", "effect_size", "effect_size_low", "effect_size_high"]
        _check_numbers(ours, fixed, columns if is_normal else [], relative=10 * RELATIVE)
        return is_normal
    columns = ["estimate", "standard_error", "statistic", "df", "p", "low", "high"]
    columns += ["p_satterthwaite", "effect_size", "effect_size_low", "effect_size_high"]
    _check_numbers(ours, fixed, columns)
    _check_random(fit, theirs)
    return True


def _check_random(fit: MixedFit, theirs: pd.DataFrame) -> None:
    """Variances and correlations of random effects agree."""
    variances, correlations = {}, {}
    names: list[str] = []
    for effect in fit.random:
        variances[f"{effect.group} {effect.name}".strip()] = effect.variance
        names = [*names[: len(effect.correlations)], effect.name]
        for before, value in zip(names, effect.correlations, strict=False):
            correlations[f"{effect.group} {before} {effect.name}"] = value
    found = {
        kind: rows.set_index("term")["estimate"].to_dict() for kind, rows in theirs.groupby("kind")
    }
    if fit.groups:  # the residual is not a random effect for lm
        assert found["variance"] == pytest.approx(variances, rel=RELATIVE, abs=1e-6)
    assert found.get("correlation", {}) == pytest.approx(correlations, rel=RELATIVE, abs=1e-4)


# ----------------------------------------------------------------------------
# Tests of the analyses of two studies on their released files, against published numbers.
#
# Numbers are to the digits to which they are known. Where lme4 stops early or with inaccurate
# second derivatives, its numbers are compared with those computed as lme4 does by default.


MODELS_RELEASED = ("lstm", "rnng", "transformer", "plm")
PAIRS = ("recurrent", "attention")


@cache
def _answer_released(folder: Path, name: str) -> AnalysisResult:
    """The result of an analysis of one of the two studies."""
    analysis = ANALYSES[name]
    if analysis.study == "mandarin":
        return run_analysis(analysis, mandarin_items(folder / "published" / "mandarin"))
    released = folder / "published" / "suppression"
    readers: dict[str, list[Callable[[Path, str], pd.DataFrame]]] = {
        "effects": [ordering_effects, wh_effects],
        "sentences": [wh_sentences],
    }
    table = pd.concat(
        [
            reader(released, model)
            for reader in readers[analysis.table]
            for model in ("gulordava", "ngram")
        ]
    )
    return run_analysis(analysis, table)


# Table 1: estimates, standard errors and p values of lme4 with its default tolerance, of RNNG
# against LSTM and of PLM against Transformer, first for CTB, then for Xinhua.
SUPERVISION = {
    "classifier_noun": (
        *((0.071, 0.102, 0.49), (0.088, 0.100, 0.37), (-0.114, 0.117, 0.33)),
        (0.370, 0.113, 0.0011),
    ),
    "garden_path_object": (
        *((0.223, 0.202, 0.27), (0.459, 0.177, 0.0096), (0.350, 0.199, 0.079)),
        (-0.365, 0.174, 0.036),
    ),
    "garden_path_subject": (
        *((0.190, 0.196, 0.33), (0.208, 0.161, 0.20), (0.022, 0.201, 0.91)),
        (0.175, 0.170, 0.30),
    ),
    "verb_noun": (
        *((0.507, 0.195, 0.0095), (0.041, 0.165, 0.80), (-0.508, 0.227, 0.025)),
        (-0.077, 0.193, 0.69),
    ),
    "missing_object": (
        *((-0.091, 0.246, 0.71), (0.098, 0.195, 0.61), (0.339, 0.255, 0.18)),
        (-0.597, 0.183, 0.0011),
    ),
    "subordination": (
        *((0.976, 0.315, 0.0019), (0.193, 0.227, 0.40), (1.053, 0.367, 0.0042)),
        (-0.346, 0.296, 0.24),
    ),
}
CELLS = [
    (corpus, kind, pair, numbers[2 * ("ctb", "xinhua").index(corpus) + PAIRS.index(pair)])
    for kind, numbers in SUPERVISION.items()
    for corpus in ("ctb", "xinhua")
    for pair in PAIRS
]


@pytest.mark.slow
@pytest.mark.parametrize(("corpus", "kind", "pair", "numbers"), CELLS)
def test_supervision(
    reference_data: Path, corpus: str, kind: str, pair: str, numbers: tuple[float, float, float]
) -> None:
    found = _answer_released(reference_data, "supervision")
    assert found.skipped == () and len(found.estimates) == 24
    row = found.estimates.set_index(["corpus", "class", "architecture"]).loc[corpus, kind, pair]
    estimate, error, p = numbers
    # The exact numbers have the direction and significance of those that lme4 has by default.
    assert row["estimate"] == pytest.approx(estimate, abs=0.002)
    assert error - 6e-4 <= row["standard_error"] < 1.045 * error
    assert (row["p"] < 0.05) == (p < 0.05)


def _printed_by_lme4(folder: Path, reference_data: Path, name: str) -> pd.DataFrame:
    """The fixed effects that the script of an analysis prints with lme4's default settings."""
    analysis = dataclasses.replace(ANALYSES[name], robustness={})
    items = mandarin_items(reference_data / "published" / "mandarin")
    _, printed = _answer(folder, analysis, {"items": items})
    is_default = (printed["kind"] == "fixed") & (printed["variant"] == LME4_VARIANT)
    return printed[is_default & (printed["term"] != "(Intercept)")]


def test_scripts_print_what_lme4_has_by_default(tmp_path: Path, reference_data: Path) -> None:
    printed = _printed_by_lme4(tmp_path, reference_data, "supervision")
    rows = printed.set_index(["corpus", "class", "architecture"])
    assert len(rows) == len(CELLS) == 24
    for corpus, kind, pair, (estimate, error, p) in CELLS:
        row = rows.loc[(corpus, kind, pair)]
        assert row["estimate"] == pytest.approx(estimate, abs=6e-4)
        assert row["standard_error"] == pytest.approx(error, abs=6e-4)
        assert row["p"] == pytest.approx(p, abs=0.6 * 10.0 ** -(4 if p < 0.01 else 2))


@pytest.mark.slow
def test_supervision_with_runs_nested_within_models(reference_data: Path) -> None:
    found = _answer_released(reference_data, "supervision")
    other = found.tables["robustness"].set_index(["corpus", "class", "architecture"])
    differing = other[~other["agrees"]]
    assert set(differing.index) == {
        ("ctb", "subordination", "recurrent"),
        ("xinhua", "verb_noun", "recurrent"),
    }
    assert (differing["p"] > 0.05).all()
    # Two more stars become fewer.
    assert other.loc[("ctb", "garden_path_object", "attention"), "p"] == pytest.approx(
        0.044, abs=1e-3
    )
    assert other.loc[("xinhua", "subordination", "recurrent"), "p"] == pytest.approx(
        0.022, abs=1e-3
    )
    said = [one for one in found.sentences if "runs nested within models" in one]
    assert len(said) == 2


DATA_SIZE = {
    "lstm": (0.024, 0.046, 0.61),
    "rnng": (0.025, 0.018, 0.17),
    "transformer": (0.070, 0.036, 0.050),
    "plm": (0.015, 0.047, 0.75),
}


def test_data_size(reference_data: Path) -> None:
    result = _answer_released(reference_data, "data_size")
    rows = result.estimates.set_index("model")
    for model, (estimate, error, p) in DATA_SIZE.items():
        row = rows.loc[model]
        assert row["estimate"] == pytest.approx(estimate, abs=6e-4)
        assert row["standard_error"] == pytest.approx(error, abs=6e-4)
        assert row["p"] == pytest.approx(p, abs=6e-3) and row["p"] > 0.05
        assert row["p_satterthwaite"] > row["p"] and row["singular"]
    plain = result.tables["robustness"].set_index("model")
    assert plain["p"].lt(0.05).to_dict() == dict(
        zip(sorted(MODELS_RELEASED), [1, 0, 0, 1], strict=True)
    )
    assert plain.loc["lstm", "p"] == pytest.approx(5e-4, abs=5e-5)
    said = {one for one in result.sentences if "with intercepts only" in one}
    assert len(said) == 2 and all("singular fit" in one for one in result.sentences)


def test_syntax_or_data(reference_data: Path) -> None:
    row = _answer_released(reference_data, "syntax_or_data").estimates.iloc[0]
    assert row["estimate"] == pytest.approx(0.003, abs=6e-4)
    assert row["standard_error"] == pytest.approx(0.035, abs=6e-4)
    assert row["p"] == pytest.approx(0.939, abs=6e-4)


@pytest.mark.parametrize(
    ("name", "estimate", "error", "p", "means"),
    [
        ("syntactic_semantic", 0.178, 0.026, 4e-12, (0.667, 0.827)),
        ("syntactic_semantic_bare", 0.192, 0.026, 6e-14, (0.708, 0.898)),
    ],
)
def test_syntactic_and_semantic(
    reference_data: Path,
    name: str,
    estimate: float,
    error: float,
    p: float,
    means: tuple[float, float],
) -> None:
    result = _answer_released(reference_data, name)
    row = result.estimates.iloc[0]
    assert row["estimate"] == pytest.approx(estimate, abs=6e-4)
    assert row["standard_error"] == pytest.approx(error, abs=6e-4)
    assert row["p"] == pytest.approx(p, rel=0.15)
    assert result.tables["means"]["mean"].tolist() == pytest.approx(list(means), abs=6e-4)
    assert "trained on CTB and Xinhua" in result.sentences[0]


# Table 5: estimates; whether z tests are significant with lme4's default search, and at the better
# optimum.
MODIFIERS = {
    "lstm": ((-0.067, 1, 0), (-0.144, 1, 1), (-0.300, 1, 1)),
    "rnng": ((-0.017, 0, 0), (-0.025, 0, 0), (-0.175, 1, 1)),
    "transformer": ((-0.100, 1, 0), (-0.133, 1, 0), (-0.350, 1, 1)),
    "plm": ((0.056, 1, 1), (-0.011, 0, 0), (-0.200, 1, 1)),
}


@pytest.mark.slow
def test_modifier_effects(reference_data: Path) -> None:
    result = _answer_released(reference_data, "modifier_effects")
    assert result.tables["fits"]["singular"].all()
    for model, cells in MODIFIERS.items():
        rows = result.estimates[result.estimates["model"] == model]
        assert rows["estimate"].tolist() == pytest.approx([b for b, *_ in cells], abs=6e-4)
        assert (rows["p"] < 0.05).tolist() == [bool(one) for *_, one in cells]
    rows = result.estimates.set_index("term")
    for term, exact in (
        ("LSTM · modifier[subject rc]", 0.056),
        ("Transformer · modifier[subject rc]", 0.054),
        ("Transformer · modifier[coordinated rc]", 0.057),
    ):
        assert rows.loc[term, "p"] == pytest.approx(exact, abs=6e-4)
    # With Satterthwaite's degrees of freedom, two effects of embedded clauses are significant.
    found = rows.index[rows["p_satterthwaite"] < 0.05]
    assert set(found) == {"PLM · modifier[embedded rc]", "Transformer · modifier[embedded rc]"}


def test_lme4_stops_early_in_modifier_effects(tmp_path: Path, reference_data: Path) -> None:
    printed = _printed_by_lme4(tmp_path, reference_data, "modifier_effects")
    for model, cells in MODIFIERS.items():
        rows = printed[printed["model"] == model]
        assert rows["estimate"].tolist() == pytest.approx([b for b, *_ in cells], abs=6e-4)
        assert (rows["p"] < 0.05).tolist() == [bool(one) for _, one, _ in cells]
    p_values = printed.set_index(["model", "term"])["p"]
    for model, term, default in (
        ("lstm", "modifier[subject_rc]", 0.047),
        ("transformer", "modifier[subject_rc]", 0.018),
        ("transformer", "modifier[coordinated_rc]", 0.033),
    ):
        assert p_values[model, term] == pytest.approx(default, abs=1e-3)


OVERALL = {
    "ctb": ((0.639, 0.045), (0.677, 0.051), (0.635, 0.039), (0.664, 0.037)),
    "xinhua": ((0.691, 0.044), (0.706, 0.057), (0.712, 0.044), (0.690, 0.045)),
}
BY_MODIFIER = {
    ("ctb", "lstm"): (0.944, 0.889, 0.822, 0.733),
    ("ctb", "rnng"): (0.900, 0.867, 0.833, 0.750),
    ("ctb", "transformer"): (0.889, 0.789, 0.800, 0.567),
    ("ctb", "plm"): (0.833, 0.878, 0.778, 0.611),
    ("xinhua", "lstm"): (0.978, 0.900, 0.811, 0.589),
    ("xinhua", "rnng"): (0.900, 0.900, 0.917, 0.700),
    ("xinhua", "transformer"): (0.956, 0.856, 0.778, 0.578),
    ("xinhua", "plm"): (0.711, 0.778, 0.744, 0.533),
}


def test_accuracies(reference_data: Path) -> None:
    rows = _answer_released(reference_data, "overall_accuracies").estimates.set_index(
        ["corpus", "model"]
    )
    for corpus, cells in OVERALL.items():
        for model, (mean, half_width) in zip(MODELS_RELEASED, cells, strict=True):
            row = rows.loc[(corpus, model)]
            assert row["estimate"] == pytest.approx(mean, abs=6e-4)
            assert row["half_width"] == pytest.approx(half_width, abs=1e-3)
    table = _answer_released(reference_data, "modifier_accuracies").estimates
    by = table.set_index(["corpus", "model", "modifier"])["estimate"]
    names = ("none", "subject_rc", "coordinated_rc", "embedded_rc")
    for key, accuracies in BY_MODIFIER.items():
        assert [by[*key, name] for name in names] == pytest.approx(list(accuracies), abs=6e-4)
    classes = _answer_released(reference_data, "class_accuracies").estimates
    chosen = classes.set_index(["corpus", "model", "class"])["estimate"]
    assert chosen["ctb", "plm", "garden_path_subject"] == pytest.approx(0.419, abs=6e-4)
    assert chosen["xinhua", "transformer", "subordination"] == pytest.approx(0.931, abs=6e-4)


# Figure 4: means and half-widths, for CTB and Xinhua.
GARDEN_PATHS = {
    "garden_path_object": {
        "lstm": ((0.333, 0.097), (0.394, 0.080)),
        "rnng": ((0.210, 0.153), (0.507, 0.128)),
        "transformer": ((0.279, 0.084), (0.565, 0.105)),
        "plm": ((0.405, 0.094), (0.642, 0.196)),
    },
    "garden_path_subject": {
        "lstm": ((-0.185, 0.059), (-0.112, 0.036)),
        "rnng": ((-0.104, 0.197), (0.347, 0.229)),
        "transformer": ((-0.225, 0.081), (-0.322, 0.110)),
        "plm": ((-0.190, 0.162), (0.101, 0.229)),
    },
}


def test_garden_paths(reference_data: Path) -> None:
    keys = ["class", "model", "corpus"]
    rows = _answer_released(reference_data, "garden_path").estimates.set_index(keys)
    for kind, models in GARDEN_PATHS.items():
        for model, cells in models.items():
            for corpus, (mean, half_width) in zip(("ctb", "xinhua"), cells, strict=True):
                row = rows.loc[(kind, model, corpus)]
                assert row["estimate"] == pytest.approx(mean, abs=6e-4)
                assert row["half_width"] == pytest.approx(half_width, abs=6e-4)
    place = ("garden_path_subject", "rnng", "xinhua")
    assert rows.loc[place, "statistic"] == pytest.approx(2.97, abs=6e-3)
    assert rows.loc[place, "p"] == pytest.approx(0.0033, abs=6e-5)
    items = _answer_released(reference_data, "garden_path_by_item").estimates.set_index(keys)
    assert items.loc[place, "p"] == pytest.approx(0.017, abs=6e-4)


ORDERING = {
    "ngram": ((1.671, 1.062), (0.234, 0.552), (-0.009, 0.705)),
    "gulordava": ((3.695, 1.189), (3.761, 0.704), (2.403, 0.830)),
}
STRUCTURES = ("ordering_effect_sentence", "ordering_effect", "ordering_effect_long")


def test_ordering_effects(reference_data: Path) -> None:
    rows = _answer_released(reference_data, "ordering_intervals").estimates.set_index(
        ["model", "effect"]
    )
    for model, cells in ORDERING.items():
        for effect, (mean, half_width) in zip(STRUCTURES, cells, strict=True):
            assert rows.loc[(model, effect), "estimate"] == pytest.approx(mean, abs=6e-4)
            assert rows.loc[(model, effect), "half_width"] == pytest.approx(half_width, abs=6e-4)
    tests = _answer_released(reference_data, "ordering").estimates.set_index(["model", "effect"])[
        "p"
    ]
    found = [tests["gulordava", effect] for effect in STRUCTURES]
    assert found == pytest.approx([3e-5, 6e-6, 1e-4], rel=0.2)
    contrasts = _answer_released(reference_data, "ordering_contrasts").estimates
    p = contrasts.set_index(["model", "contrast"])["p"]["gulordava", "sentence → embedding_long"]
    assert p == pytest.approx(0.20, abs=6e-3)


# Figures 4 and 5, Gulordava: wh-effects with and without a gap.
WH_EFFECTS = {
    "object": ((2.325, 0.308), (1.210, 0.207)),
    "adjunct": ((0.360, 0.152), (0.330, 0.091)),
    "over_adjunct": ((0.492, 0.146), (0.203, 0.080)),
    "complex_np": ((0.409, 0.161), (0.269, 0.101)),
    "over_complex_np": ((0.967, 0.166), (0.216, 0.082)),
    "subject": ((-0.910, 0.250), (0.298, 0.123)),
    "adjunct_discharge": ((0.427, 0.155), (0.144, 0.067)),
    "cnp_discharge": ((0.602, 0.175), (0.247, 0.102)),
}


def test_wh_effects(reference_data: Path) -> None:
    table = _answer_released(reference_data, "wh_intervals").estimates
    rows = table.set_index(["model", "modifier", "effect"])
    for modifier, cells in WH_EFFECTS.items():
        for effect, cell in zip(("wh_effect_gap", "wh_effect_nogap"), cells, strict=True):
            row = rows.loc[("gulordava", modifier, effect)]
            assert (row["estimate"], row["half_width"]) == pytest.approx(cell, abs=6e-4)
            expected = {"wh_effect_gap": -0.018, "wh_effect_nogap": 0.018}[effect]
            other = rows.loc[("ngram", modifier, effect), "estimate"]
            assert other == pytest.approx(expected * (modifier == "subject"), abs=6e-4)


@pytest.mark.slow
def test_contrasts_of_wh_effects(reference_data: Path) -> None:
    result = _answer_released(reference_data, "wh_contrasts")
    rows = result.estimates[result.estimates["model"] == "gulordava"]
    p = rows.set_index(["gap", "contrast"])["p"]
    for gap in ("with a gap", "without a gap"):
        for other in ("adjunct", "over_adjunct", "complex_np", "over_complex_np"):
            assert p[gap, f"object → {other}"] < 0.001
    assert p["with a gap", "adjunct → over_adjunct"] == pytest.approx(0.063, abs=6e-4)
    assert p["with a gap", "complex_np → over_complex_np"] < 0.001
    assert p["without a gap", "complex_np → over_complex_np"] == pytest.approx(0.43, abs=6e-3)
    # Without any effect nothing can be tested, and this is said.
    assert len([reason for reason in result.skipped if reason.startswith("n-gram")]) == 12
    discharge = _answer_released(reference_data, "discharge_contrasts").estimates
    p = discharge[discharge["model"] == "gulordava"].set_index(["gap", "contrast"])["p"]
    for other in ("adjunct_discharge", "cnp_discharge"):
        assert p["with a gap", f"subject → {other}"] < 0.001
        assert p["without a gap", f"subject → {other}"] > 0.05
