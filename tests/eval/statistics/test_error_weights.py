"""Analyses whose rows are weighted by the search error of their response."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gardenpath.errors import ConfigError
from gardenpath.eval.report.content import run_analyses
from gardenpath.eval.statistics.analysis import RESIDUAL, Analysis, make_analysis
from gardenpath.eval.statistics.answering import precision_weights, run_analysis
from gardenpath.eval.statistics.mixed import fit_mixed
from gardenpath.eval.statistics.rscript import r_script, write_result
from tests.eval.statistics.r_program import run_script
from tests.eval.statistics.tables import effect_table, item_table

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
