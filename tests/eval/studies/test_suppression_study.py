"""Wilcox et al. 2019: values of the released files, and judgements of claims."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gardenpath.eval.statistics.analysis import AnalysisResult, load_analyses, make_analysis
from gardenpath.eval.statistics.answering import run_analysis
from gardenpath.studies.compared import ComparedPart, compared_parts
from gardenpath.studies.study import RELEASED, Evidence, StudyClaim, StudyData
from gardenpath.studies.suppression import SUPPRESSION, condition_means, is_neural
from tests.eval.studies.released import study_data, suppression

ANALYSES = Path(__file__).parents[3] / "conf" / "analysis"


@pytest.fixture(scope="module")
def released(reference_data: Path) -> StudyData:
    return suppression(reference_data / "published" / "suppression")


def _parts(data: StudyData) -> dict[str, ComparedPart]:
    result = SUPPRESSION.result([Evidence(data)])
    return {part.part.number: part for part in compared_parts(result)}


def test_released_files_give_all_figures(released: StudyData) -> None:
    parts = _parts(released)
    counts = {number: part.counts(RELEASED) for number, part in parts.items()}
    assert counts == {
        "Figure 2": (6, 6),
        "Figure 2 by verb": (12, 12),
        "Figure 4": (20, 20),
        "Figure 5": (12, 12),
    }
    # Intervals too, where they were published.
    for part in parts.values():
        for one in part.cells:
            published = one.released
            if published is not None and not math.isnan(published.reach):
                reach = (one.cell.high - one.cell.low) / 2.0
                assert f"{reach:.3f}" == f"{published.reach:.3f}", one.cell
    assert {cell.n for cell in parts["Figure 2"].part.cells} == {28}
    assert {cell.n for cell in parts["Figure 4"].part.cells} == {100}


def test_claims_of_the_released_files(released: StudyData) -> None:
    found = load_analyses(ANALYSES, study="suppression")
    assert {one.name for one in found} >= {
        "ordering", "ordering_contrasts", "wh_contrasts", "discharge_contrasts",
    }  # fmt: skip
    results = {
        one.name: run_analysis(one, getattr(released, one.table))
        for one in found
        if one.test != "within_item"
    }
    claims = SUPPRESSION.result([Evidence(released, results)]).claims
    verdicts = [claim.verdict for claim in claims]
    assert verdicts == [
        *("depends", "reproduced", "reproduced", "not reproduced", "depends", "not tested"),
        *("reproduced", "reproduced", "reproduced", "reproduced"),
        *("not tested", "reproduced", "not tested"),
        *("reproduced", "not tested", "reproduced"),
        *("reproduced", "reproduced", "not tested"),
    ]
    second = next(claim for claim in claims if "second verb" in claim.text)
    assert "first verb 4.32 bits, second verb −0.56 bits" in second.reason
    # The paper's models without released surprisals.
    assert all("Google" in c.reason or "Transformer" in c.reason for c in claims if
               c.verdict == "not tested")  # fmt: skip


def test_analyses_that_were_not_run_leave_claims_untested(released: StudyData) -> None:
    claims = SUPPRESSION.result([Evidence(released)]).claims
    tested = [claim.text.split()[0] for claim in claims if claim.verdict != "not tested"]
    assert tested == ["In", "Wh-effects"]  # verbs of embeddings, and the n-gram model
    reasons = {claim.reason for claim in claims if claim.verdict == "not tested"}
    assert "the analysis was not run" in reasons


def _effects(means: dict[tuple[str, str, str], float], models: tuple[str, ...]) -> pd.DataFrame:
    """Effects of ten items around these means, by class, modifier and effect."""
    noise = np.random.default_rng(0)
    return pd.DataFrame(
        [
            {
                "run": model, "model": model, "corpus": "", "seed": pd.NA, "suite": modifier,
                "class": kind, "modifier": modifier, "item": item, "effect": effect,
                "value_bits": mean + float(noise.normal()),
            }
            for model in models
            for (kind, modifier, effect), mean in means.items()
            for item in range(1, 11)
        ]
    )  # fmt: skip


def _data(effects: pd.DataFrame) -> StudyData:
    return study_data(pd.DataFrame(columns=effects.columns), effects)


def _analysis(name: str, rows: list[dict[str, Any]]) -> AnalysisResult:
    settings = {"title": "t", "test": "t_test", "response": "value_bits", "table": "effects"}
    return AnalysisResult(
        analysis=make_analysis(settings, name=name),
        data=pd.DataFrame(),
        tables={"estimates": pd.DataFrame(rows)} if rows else {},
        sentences=(),
        skipped=() if rows else ("nothing to compare",),
    )


def _contrast(first: str, second: str, estimate: float, p: float, **more: str) -> dict[str, Any]:
    return {
        "corpus": "", "model": "gulordava", "gap": "with a gap",
        "contrast": f"{first} → {second}", "term": "x · filler:position", "estimate": estimate,
        "p": p, "singular": False, **more,
    }  # fmt: skip


def _claim(start: str, *results: AnalysisResult, effects: pd.DataFrame | None = None) -> StudyClaim:
    table = _effects({("islands", "object", "wh_effect_gap"): 1.0}, ("gulordava",))
    data = _data(table if effects is None else effects)
    evidence = Evidence(data, {one.analysis.name: one for one in results})
    (found,) = (c for c in SUPPRESSION.result([evidence]).claims if c.text.startswith(start))
    return found


def test_intervals_leave_out_the_variance_between_items() -> None:
    rows = pd.DataFrame(
        {
            "condition": ["a"] * 3 + ["b"] * 3,
            "item": [1, 2, 3] * 2,
            "value_bits": [0.0, 10.0, 20.0, 1.0, 12.0, 23.0],
        }
    )
    means = condition_means(rows, "condition", ("a", "b"))
    centred = np.array([-0.5, -1.0, -1.5])
    reach = 1.96 * centred.std(ddof=1) / math.sqrt(3)
    assert (means["a"].mean, means["b"].mean) == (10.0, 12.0)
    assert means["a"].high - 10.0 == pytest.approx(reach)
    # Runs of an item are averaged, and items without all conditions are left out.
    twice = pd.concat([rows, rows, rows[rows["item"] == 1].assign(item=4).head(1)])
    assert condition_means(twice, "condition", ("a", "b")) == means
    alone = condition_means(rows, "condition", ("a",))
    assert list(alone) == ["a"] and math.isnan(alone["a"].low) and alone["a"].n == 3


@pytest.mark.parametrize(
    ("estimate", "p", "verdict"),
    [
        (1.0, 0.0001, "reproduced"),
        (1.0, 0.01, "depends"),
        (1.0, 0.06, "not reproduced"),
        # With a gap a negative interaction is a larger wh-effect.
        (-1.0, 0.0001, "not reproduced"),
    ],
)
def test_islands_weaken_wh_effects(estimate: float, p: float, verdict: str) -> None:
    rows = [
        _contrast("object", "adjunct", 1.0, 1e-6),
        _contrast("object", "complex_np", estimate, p),
        _contrast("object", "complex_np", 0.0, 1.0, model="ngram"),
        _contrast("object", "complex_np", 0.0, 1.0, gap="without a gap"),
    ]
    claim = _claim("+gap: wh-effects are significantly smaller", _analysis("wh_contrasts", rows))
    assert claim.verdict == verdict
    assert f"Gulordava, object → complex NP: {'−' if estimate > 0 else ''}1.00 bits" in claim.reason


@pytest.mark.parametrize(
    ("estimate", "p", "verdict"),
    [(1.0, 0.01, "not reproduced"), (1.0, 0.06, "reproduced"), (-1.0, 0.01, "reproduced")],
)
def test_no_recovery_without_a_gap(estimate: float, p: float, verdict: str) -> None:
    row = _contrast("complex_np", "over_complex_np", estimate, p, gap="without a gap")
    claim = _claim("−gap: wh-effects of Gulordava", _analysis("wh_contrasts", [row]))
    assert claim.verdict == verdict


def test_transformers_are_excepted_in_complex_nps() -> None:
    start = "−gap: wh-effects are significantly smaller"
    rows = [
        _contrast("object", "adjunct", -1.0, 0.001, gap="without a gap", model="trans"),
        _contrast("object", "complex_np", 1.0, 0.9, gap="without a gap", model="trans"),
    ]
    assert _claim(start, _analysis("wh_contrasts", rows)).verdict == "reproduced"
    others = [{**row, "model": "gulordava"} for row in rows]
    assert _claim(start, _analysis("wh_contrasts", others)).verdict == "not reproduced"


def test_transformers_after_a_gap() -> None:
    start = "In Transformer, adjuncts pattern"
    rows = [
        _contrast("subject", second, sign * size, p, gap=gap, model="transformer")
        for gap, sign in (("with a gap", -1.0), ("without a gap", 1.0))
        for second, size, p in (("adjunct_discharge", 0.1, 0.5), ("cnp_discharge", 1.0, 1e-5))
    ]
    assert _claim(start, _analysis("discharge_contrasts", rows)).verdict == "reproduced"
    rows[0]["p"] = 0.001
    assert _claim(start, _analysis("discharge_contrasts", rows)).verdict == "not reproduced"
    claim = _claim(start, _analysis("discharge_contrasts", []))
    assert (claim.verdict, claim.reason) == ("not tested", "nothing to compare")


def test_claims_about_google() -> None:
    means = {
        **{("islands", name, "wh_effect_gap"): 0.5 for name in ("adjunct", "complex_np")},
        **{("islands", f"over_{x}", "wh_effect_gap"): 3.5 for x in ("adjunct", "complex_np")},
        ("center_embedding", "none", "ordering_effect_sentence"): 1.0,
        ("center_embedding", "none", "ordering_effect_embedding"): 9.0,
        ("center_embedding", "none", "ordering_effect_long"): 9.0,
        ("center_embedding", "none", "verb1_embedding"): 0.0,
        ("center_embedding", "none", "verb2_embedding"): 9.0,
    }
    effects = _effects(means, ("jrnn",))  # another name of the model
    for start in ("+gap: in Google, a missing", "The ordering effect of Google", "In embeddings"):
        assert _claim(start, effects=effects).verdict == "reproduced", start
    flat = effects.assign(value_bits=effects["item"] * 0.1)
    for start in ("+gap: in Google, a missing", "The ordering effect of Google", "In embeddings"):
        assert _claim(start, effects=flat).verdict == "not reproduced", start


def test_ordering_effects_are_tested_against_zero() -> None:
    start = "The ordering effect of neural models"
    rows = [
        {"corpus": "", "model": "gulordava", "effect": f"ordering_effect_{design}",
         "estimate": 1.0, "p": 0.01}
        for design in ("sentence", "embedding", "long")
    ]  # fmt: skip
    assert _claim(start, _analysis("ordering", rows)).verdict == "reproduced"
    rows[1]["p"] = 0.2
    assert _claim(start, _analysis("ordering", rows)).verdict == "not reproduced"
    assert _claim("The n-gram model has", _analysis("ordering", rows)).verdict == "not tested"
    for row, p in zip(rows, (0.5, 0.01, 0.5), strict=True):
        row.update(model="ngram", p=p)
    start = "The ordering effect of the n-gram model"
    assert _claim(start, _analysis("ordering", rows)).verdict == "not reproduced"


def test_ngram_models_with_other_settings_are_not_neural() -> None:
    rows = [
        {"corpus": "", "model": "ngram (order=3)", "effect": f"ordering_effect_{design}",
         "estimate": 1.0, "p": 0.01}
        for design in ("sentence", "embedding", "long")
    ]  # fmt: skip
    start = "The ordering effect of neural models"
    assert _claim(start, _analysis("ordering", rows)).verdict == "not tested"
    assert not is_neural("ngram (order=3)") and is_neural("lstm (size=tiny)")


def test_toy_suites_are_no_part_of_the_study() -> None:
    means = {
        ("center_embedding", "none", f"ordering_effect_{d}"): 1.0 for d in ("long", "sentence")
    }
    effects = _effects(means, ("lstm",))
    toys = effects.assign(modifier="toy", suite="toy", value_bits=100.0)
    parts = [
        _parts(_data(table))["Figure 2"].part for table in (effects, pd.concat([effects, toys]))
    ]
    assert parts[0].cells and parts[0].cells == parts[1].cells


def test_wh_effects_of_an_ngram_model() -> None:
    start = "Wh-effects of the n-gram model"
    zero = {("islands", name, "wh_effect_gap"): 0.0 for name in ("object", "adjunct")}
    more = {("islands", name, "wh_effect_gap"): 5.0 for name in ("object", "adjunct")}
    assert _claim(start, effects=_effects(zero, ("ngram",))).verdict == "reproduced"
    assert _claim(start, effects=_effects(more, ("ngram",))).verdict == "not reproduced"
    assert _claim(start, effects=_effects(zero, ("lstm",))).verdict == "not tested"


def test_own_models_and_corpora_are_rows() -> None:
    means = {
        ("islands", name, effect): 1.0
        for name in ("object", "adjunct")
        for effect in ("wh_effect_gap", "wh_effect_nogap")
    }
    one = _effects(means, ("lstm", "rnng")).assign(corpus="ptb")
    both = pd.concat([one, one.assign(corpus="wiki")])
    figure = _parts(_data(one))["Figure 4"]
    assert figure.rows_of("wh_effect_gap") == ["lstm", "rnng"]
    assert figure.columns_of("wh_effect_gap") == ["object", "adjunct"]
    named = _parts(replace(_data(both), source="own runs"))["Figure 4"]
    assert named.rows_of("wh_effect_nogap") == ["lstm ptb", "lstm wiki", "rnng ptb", "rnng wiki"]
    assert named.label("rnng wiki") == "RNNG (wiki)"
    assert _parts(_data(one))["Figure 2"].part.missing
