"""Tests of what is said beside an estimate: other tests, other models, corrections."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gardenpath.eval.statistics import answering as robustness
from gardenpath.eval.statistics.analysis import AnalysisResult, FixedEffect, MixedFit, make_analysis
from gardenpath.eval.statistics.answering import check_effect, run_analysis
from gardenpath.eval.statistics.answers import ESTIMATE_COLUMNS, estimate_row
from gardenpath.eval.statistics.mixed import fit_mixed
from tests.eval.statistics.shipped import ANALYSES
from tests.eval.statistics.tables import effect_table, item_table

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
    assert found.said == "with two effects, the estimates of the mixed model diverge"
    found = check_effect("o", "no rows", _effect(1.0, 0.01), "normal")
    assert found.said == "with o, no rows"


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
    def failing(*args: Any, **settings: Any) -> MixedFit:
        return dataclasses.replace(fit_mixed(*args, **settings), failure="no convergence")

    monkeypatch.setattr(robustness, "fit_mixed", failing)
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
