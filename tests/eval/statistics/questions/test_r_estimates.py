"""Tests that the R script of every analysis prints our estimates.

Where lme4 reaches the same maximum of the likelihood and no random effect is singular, all numbers
agree to 1e-4. Where the model is singular, lme4's second derivatives at the boundary are less
accurate, so that standard errors agree to 1e-3 and tests are not compared. Where lme4 stops at a
lower likelihood, only that is compared.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gardenpath.eval.statistics.analysis import Analysis, AnalysisResult, MixedFit, make_analysis
from gardenpath.eval.statistics.answering import run_analysis
from gardenpath.eval.statistics.formulas import Correction, WithinMethod
from gardenpath.eval.statistics.rscript import LME4_VARIANT, MAIN_VARIANT, R_COLUMNS, write_result
from gardenpath.util import file_stem
from tests.eval.statistics.r_program import run_script
from tests.eval.statistics.shipped import ANALYSES
from tests.eval.statistics.study_tables import study_effects, study_items, study_sentences

MEANS = [name for name, analysis in ANALYSES.items() if analysis.test != "mixed"]
MODELS = [name for name in ANALYSES if name not in MEANS]
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


@pytest.mark.parametrize("name", MODELS)
def test_mixed_models(tmp_path: Path, tables: dict[str, pd.DataFrame], name: str) -> None:
    analysis = ANALYSES[name]
    analysis = dataclasses.replace(
        analysis,
        where={**analysis.where, **FEWER.get(name, {})},
        # Other tests compare these numbers, which take long for linear models.
        lme4_default=analysis.lme4_default and analysis.family == "binomial",
    )
    result, printed = _answer(tmp_path, analysis, tables)
    _check_models(result, printed)


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


def test_what_lme4_has_by_default(tmp_path: Path, tables: dict[str, pd.DataFrame]) -> None:
    """Estimates agree to a thousandth of their standard error, and these to one per cent."""
    where = {"class": ["verb_noun", "classifier_noun"], "corpus": ["ctb"]}
    analysis = dataclasses.replace(ANALYSES["supervision"], where=where, robustness={})
    # The family of ties has a tolerance of its own.
    items = tables["items"][tables["items"]["outcome"].isin([0.0, 1.0])]
    result, printed = _answer(tmp_path, analysis, {"items": items})
    theirs = printed[(printed["kind"] == "fixed") & (printed["variant"] == LME4_VARIANT)]
    ours = result.tables["coefficients"]
    assert ours["term"].tolist() == theirs["term"].tolist()
    errors = theirs["standard_error"].to_numpy()
    assert ours["standard_error_lme4"].to_numpy() == pytest.approx(errors, rel=1e-2)
    distances = np.abs(ours["estimate_lme4"].to_numpy() - theirs["estimate"].to_numpy())
    assert (distances < 5e-3 * errors).all()


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
