"""Tests of the analyses of two studies on their released files, against published numbers.

Numbers are to the digits to which they are known. Where lme4 stops early or with inaccurate second
derivatives, its numbers are compared with those computed as lme4 does by default.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.eval.statistics.analysis import AnalysisResult
from gardenpath.eval.statistics.answering import run_analysis
from tests.eval.statistics.released import (
    mandarin_items,
    ordering_effects,
    wh_effects,
    wh_sentences,
)
from tests.eval.statistics.shipped import ANALYSES

MODELS = ("lstm", "rnng", "transformer", "plm")
PAIRS = ("recurrent", "attention")


@cache
def _answer(folder: Path, name: str) -> AnalysisResult:
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


@pytest.mark.parametrize(("corpus", "kind", "pair", "numbers"), CELLS)
def test_supervision(
    reference_data: Path, corpus: str, kind: str, pair: str, numbers: tuple[float, float, float]
) -> None:
    found = _answer(reference_data, "supervision")
    assert found.skipped == () and len(found.estimates) == 24
    row = found.estimates.set_index(["corpus", "class", "architecture"]).loc[corpus, kind, pair]
    estimate, error, p = numbers
    assert row["estimate_lme4"] == pytest.approx(estimate, abs=6e-4)
    assert row["standard_error_lme4"] == pytest.approx(error, abs=6e-4)
    assert row["p_lme4"] == pytest.approx(p, abs=0.6 * 10.0 ** -(4 if p < 0.01 else 2))
    # The exact numbers have the same direction and significance.
    assert row["estimate"] == pytest.approx(estimate, abs=0.002)
    assert error - 6e-4 <= row["standard_error"] < 1.045 * error
    assert (row["p"] < 0.05) == (p < 0.05)


def test_supervision_with_runs_nested_within_models(reference_data: Path) -> None:
    found = _answer(reference_data, "supervision")
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
    result = _answer(reference_data, "data_size")
    rows = result.estimates.set_index("model")
    for model, (estimate, error, p) in DATA_SIZE.items():
        row = rows.loc[model]
        assert row["estimate"] == pytest.approx(estimate, abs=6e-4)
        assert row["standard_error"] == pytest.approx(error, abs=6e-4)
        assert row["p"] == pytest.approx(p, abs=6e-3) and row["p"] > 0.05
        assert row["p_satterthwaite"] > row["p"] and row["singular"]
    plain = result.tables["robustness"].set_index("model")
    assert plain["p"].lt(0.05).to_dict() == dict(zip(sorted(MODELS), [1, 0, 0, 1], strict=True))
    assert plain.loc["lstm", "p"] == pytest.approx(5e-4, abs=5e-5)
    said = {one for one in result.sentences if "with intercepts only" in one}
    assert len(said) == 2 and all("singular fit" in one for one in result.sentences)


def test_syntax_or_data(reference_data: Path) -> None:
    row = _answer(reference_data, "syntax_or_data").estimates.iloc[0]
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
    result = _answer(reference_data, name)
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


def test_modifier_effects(reference_data: Path) -> None:
    result = _answer(reference_data, "modifier_effects")
    assert result.tables["fits"]["singular"].all()
    for model, cells in MODIFIERS.items():
        rows = result.estimates[result.estimates["model"] == model]
        assert rows["estimate"].tolist() == pytest.approx([b for b, *_ in cells], abs=6e-4)
        assert (rows["p_lme4"] < 0.05).tolist() == [bool(one) for _, one, _ in cells]
        assert (rows["p"] < 0.05).tolist() == [bool(one) for *_, one in cells]
    rows = result.estimates.set_index("term")
    for term, exact, default in (
        ("LSTM · modifier[subject rc]", 0.056, 0.047),
        ("Transformer · modifier[subject rc]", 0.054, 0.018),
        ("Transformer · modifier[coordinated rc]", 0.057, 0.033),
    ):
        assert rows.loc[term, "p"] == pytest.approx(exact, abs=6e-4)
        assert rows.loc[term, "p_lme4"] == pytest.approx(default, abs=1e-3)
    # With Satterthwaite's degrees of freedom, two effects of embedded clauses are significant.
    found = rows.index[rows["p_satterthwaite"] < 0.05]
    assert set(found) == {"PLM · modifier[embedded rc]", "Transformer · modifier[embedded rc]"}


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
    rows = _answer(reference_data, "overall_accuracies").estimates.set_index(["corpus", "model"])
    for corpus, cells in OVERALL.items():
        for model, (mean, half_width) in zip(MODELS, cells, strict=True):
            row = rows.loc[(corpus, model)]
            assert row["estimate"] == pytest.approx(mean, abs=6e-4)
            assert row["half_width"] == pytest.approx(half_width, abs=1e-3)
    table = _answer(reference_data, "modifier_accuracies").estimates
    by = table.set_index(["corpus", "model", "modifier"])["estimate"]
    names = ("none", "subject_rc", "coordinated_rc", "embedded_rc")
    for key, accuracies in BY_MODIFIER.items():
        assert [by[*key, name] for name in names] == pytest.approx(list(accuracies), abs=6e-4)
    classes = _answer(reference_data, "class_accuracies").estimates
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
    rows = _answer(reference_data, "garden_path").estimates.set_index(keys)
    for kind, models in GARDEN_PATHS.items():
        for model, cells in models.items():
            for corpus, (mean, half_width) in zip(("ctb", "xinhua"), cells, strict=True):
                row = rows.loc[(kind, model, corpus)]
                assert row["estimate"] == pytest.approx(mean, abs=6e-4)
                assert row["half_width"] == pytest.approx(half_width, abs=6e-4)
    place = ("garden_path_subject", "rnng", "xinhua")
    assert rows.loc[place, "statistic"] == pytest.approx(2.97, abs=6e-3)
    assert rows.loc[place, "p"] == pytest.approx(0.0033, abs=6e-5)
    items = _answer(reference_data, "garden_path_by_item").estimates.set_index(keys)
    assert items.loc[place, "p"] == pytest.approx(0.017, abs=6e-4)


ORDERING = {
    "ngram": ((1.671, 1.062), (0.234, 0.552), (-0.009, 0.705)),
    "gulordava": ((3.695, 1.189), (3.761, 0.704), (2.403, 0.830)),
}
STRUCTURES = ("ordering_effect_sentence", "ordering_effect", "ordering_effect_long")


def test_ordering_effects(reference_data: Path) -> None:
    rows = _answer(reference_data, "ordering_intervals").estimates.set_index(["model", "effect"])
    for model, cells in ORDERING.items():
        for effect, (mean, half_width) in zip(STRUCTURES, cells, strict=True):
            assert rows.loc[(model, effect), "estimate"] == pytest.approx(mean, abs=6e-4)
            assert rows.loc[(model, effect), "half_width"] == pytest.approx(half_width, abs=6e-4)
    tests = _answer(reference_data, "ordering").estimates.set_index(["model", "effect"])["p"]
    found = [tests["gulordava", effect] for effect in STRUCTURES]
    assert found == pytest.approx([3e-5, 6e-6, 1e-4], rel=0.2)
    contrasts = _answer(reference_data, "ordering_contrasts").estimates
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
    table = _answer(reference_data, "wh_intervals").estimates
    rows = table.set_index(["model", "modifier", "effect"])
    for modifier, cells in WH_EFFECTS.items():
        for effect, cell in zip(("wh_effect_gap", "wh_effect_nogap"), cells, strict=True):
            row = rows.loc[("gulordava", modifier, effect)]
            assert (row["estimate"], row["half_width"]) == pytest.approx(cell, abs=6e-4)
            expected = {"wh_effect_gap": -0.018, "wh_effect_nogap": 0.018}[effect]
            other = rows.loc[("ngram", modifier, effect), "estimate"]
            assert other == pytest.approx(expected * (modifier == "subject"), abs=6e-4)


def test_contrasts_of_wh_effects(reference_data: Path) -> None:
    result = _answer(reference_data, "wh_contrasts")
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
    discharge = _answer(reference_data, "discharge_contrasts").estimates
    p = discharge[discharge["model"] == "gulordava"].set_index(["gap", "contrast"])["p"]
    for other in ("adjunct_discharge", "cnp_discharge"):
        assert p["with a gap", f"subject → {other}"] < 0.001
        assert p["without a gap", f"subject → {other}"] > 0.05
