"""Wang et al. 2021: every value of the released files, imported as the study imports them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gardenpath.eval.published.files import PairingRules
from gardenpath.eval.report.content import run_analyses
from gardenpath.runs.results import Results
from gardenpath.settings.tasks import surprisal_sets
from gardenpath.studies.compared import ComparedPart, compared_parts
from gardenpath.studies.layouts import import_layout
from gardenpath.studies.mandarin import MANDARIN
from gardenpath.studies.replicate import study_evidence
from gardenpath.studies.study import OWN, RELEASED, Evidence, StudyClaim

# Estimate, standard error and p value of lme4 for each class: RNNG against LSTM and PLM against
# Transformer, trained on CTB, then on Xinhua.
TABLE_1 = {
    "classifier_noun": [(0.071, 0.102, 0.49), (0.088, 0.100, 0.37), (-0.114, 0.117, 0.33),
                        (0.370, 0.113, 0.0011)],
    "garden_path_object": [(0.223, 0.202, 0.27), (0.459, 0.177, 0.0096), (0.350, 0.199, 0.079),
                           (-0.365, 0.174, 0.036)],
    "garden_path_subject": [(0.190, 0.196, 0.33), (0.208, 0.161, 0.20), (0.022, 0.201, 0.91),
                            (0.175, 0.170, 0.30)],
    "verb_noun": [(0.507, 0.195, 0.0095), (0.041, 0.165, 0.80), (-0.508, 0.227, 0.025),
                  (-0.077, 0.193, 0.69)],
    "missing_object": [(-0.091, 0.246, 0.71), (0.098, 0.195, 0.61), (0.339, 0.255, 0.18),
                       (-0.597, 0.183, 0.0011)],
    "subordination": [(0.976, 0.315, 0.0019), (0.193, 0.227, 0.40), (1.053, 0.367, 0.0042),
                      (-0.346, 0.296, 0.24)],
}  # fmt: skip
PAIRS = [
    ("recurrent", "ctb"),
    ("attention", "ctb"),
    ("recurrent", "xinhua"),
    ("attention", "xinhua"),
]
TABLE_5 = {
    "lstm": ["−0.067*", "−0.144***", "−0.300***"],
    "rnng": ["−0.017", "−0.025", "−0.175***"],
    "transformer": ["−0.100*", "−0.133*", "−0.350***"],
    "plm": ["0.056*", "−0.011", "−0.200***"],
}


@pytest.fixture(scope="module")
def released(reference_data: Path) -> Evidence:
    folder = reference_data / "published" / "mandarin"
    sets = surprisal_sets(str(folder))
    imported = import_layout("mandarin", [folder / "suites"], sets, PairingRules())
    results = Results.of_imported(imported, title="mandarin", origin="published")
    return study_evidence("mandarin", RELEASED, results)


@pytest.fixture(scope="module")
def parts(released: Evidence) -> dict[str, ComparedPart]:
    return {one.part.number: one for one in compared_parts(MANDARIN.result([released]))}


@pytest.fixture(scope="module")
def claims(released: Evidence) -> list[StudyClaim]:
    return list(MANDARIN.result([released]).claims)


def _only(one: Evidence, **wanted: str) -> Evidence:
    """The part of the items with these values, analysed again."""
    items = one.data.items
    for column, value in wanted.items():
        items = items[items[column] == value]
    results = run_analyses(items, one.data.effects, one.data.sentences, study="mandarin")
    data = replace(one.data, items=items)
    return Evidence(data, {result.analysis.name: result for result in results})


def test_cells_agree_with_the_paper(parts: dict[str, ComparedPart]) -> None:
    counts = {number: part.counts(RELEASED) for number, part in parts.items()}
    assert counts == {
        "Figure 1": (51, 60),
        "Table 1": (23, 24),
        "Figure 2": (8, 8),
        "Figure 3": (32, 32),
        "Figure 4": (16, 16),
        "Table 2": (24, 24),
        "Table 3a": (0, 0),
        "Table 3b": (0, 0),
        "Table 4": (0, 0),
        "Figure 5": (0, 0),
        "Figure 6": (4, 4),
        "Table 5": (11, 12),
        "Table 6": (51, 60),
        "Figure 7": (0, 0),
    }
    intervals = [one.interval_agrees for part in parts.values() for one in part.cells]
    assert intervals.count(True) == 24
    assert intervals.count(False) == 0


def test_only_coins_make_cells_of_table_6_differ(parts: dict[str, ComparedPart]) -> None:
    for number in ("Table 6", "Figure 1"):
        cells = parts[number].cells
        assert all(one.agrees for one in cells if not one.cell.row.startswith("ngram"))
        differing = [one.cell for one in cells if one.agrees is False]
        assert len(differing) == 9
        assert all("ties" in cell.note and "coin" in cell.note for cell in differing)
        assert len(parts[number].remarks(differing=True)) >= 1


def test_table_1_is_that_of_lme4(released: Evidence, parts: dict[str, ComparedPart]) -> None:
    for kind, cells in TABLE_1.items():
        for (architecture, corpus), (b, error, p) in zip(PAIRS, cells, strict=True):
            wanted = {"class": kind, "architecture": architecture, "corpus": corpus}
            found = released.estimate("supervision", **wanted)
            assert found is not None
            assert found["estimate_lme4"] == pytest.approx(b, abs=0.0011)
            assert found["standard_error_lme4"] == pytest.approx(error, abs=0.0011)
            assert found["p_lme4"] == pytest.approx(p, rel=0.03)
            # Exact standard errors are up to 4 % larger.
            assert 0.999 < found["standard_error"] / found["standard_error_lme4"] < 1.05
    texts = [(one.cell.text, one.printed.text) for one in parts["Table 1"].cells if one.printed]
    # Direction and significance are those of the paper in all cells, the number of stars in 23.
    assert len(texts) == 24
    assert [ours.strip("*") for ours, _ in texts] == [theirs.strip("*") for _, theirs in texts]
    assert [pair for pair in texts if pair[0] != pair[1]] == [("✗**", "✗***")]
    (remark,) = parts["Table 1"].remarks(differing=True)
    assert "with lme4's defaults p = .0011" in remark


def test_table_5_at_both_optima(parts: dict[str, ComparedPart]) -> None:
    part = parts["Table 5"]
    shown: dict[str, list[str]] = {}
    for one in part.cells:
        shown.setdefault(one.cell.row, []).append(part.shown(one.cell))
    assert shown == TABLE_5
    (remark,) = part.remarks(differing=True)
    assert remark.startswith("Transformer, subject RC")
    assert "p = .0536; with lme4's defaults p = .0182" in remark
    assert "with Satterthwaite's degrees of freedom p = .19" in remark
    assert "singular fit" in remark


def test_networks_and_lengths_of_own_runs(released: Evidence) -> None:
    networks = pd.DataFrame(
        [{"model": "lstm", "corpus": "ctb", "layers": 2, "hidden": 256, "embedding": 256},
         {"model": "plm", "corpus": "ctb", "layers": 12, "hidden": 768, "embedding": 768},
         {"model": "plm", "corpus": "xinhua", "layers": 6, "hidden": 768, "embedding": 768}]
    )  # fmt: skip
    rows = [(1, 30), (10, 30), (11, 20), (100, 19), (242, 1)]
    lengths = pd.DataFrame(
        [{"corpus": "xinhua", "split": "train", "length": n, "sentences": m} for n, m in rows]
        + [{"corpus": "xinhua", "split": "test", "length": 300, "sentences": 1}]
    )
    data = replace(released.data, source=OWN, networks=networks, lengths=lengths)
    result = MANDARIN.result([Evidence(data, released.results)])
    parts = {one.part.number: one for one in compared_parts(result)}
    sizes = {(one.cell.row, one.cell.column): one for one in parts["Table 3a"].cells}
    assert sizes["lstm", "hidden"].agrees
    assert sizes["plm", "layers"].cell.text == "6, 12"
    assert not sizes["plm", "layers"].agrees
    assert sizes["rnng", "layers"].agrees is None
    figure = parts["Figure 5"]
    cells = {(one.cell.panel, one.cell.column): one for one in figure.cells}
    shares = {column: one.cell.value for (panel, column), one in cells.items() if panel == "share"}
    assert shares["1–10"] == 60.0
    assert (shares["11–20"], shares["91–100"], shares["over 100"]) == (20.0, 19.0, 1.0)
    assert sum(shares.values()) == pytest.approx(100.0)
    assert cells["longest", "words"].agrees


def test_verdicts(claims: list[StudyClaim]) -> None:
    others = {claim.text: claim for claim in claims if claim.verdict != "reproduced"}
    assert len(claims) == 16
    assert {text.partition(" ")[0]: claim.verdict for text, claim in others.items()} == {
        "Transformers": "depends",
        "LSTMs": "depends",
        "This": "not reproduced",
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("(p < .05)", "LSTM b = 0.024, SE 0.046, p = .608 (singular fit; with intercepts only, "
         "b = 0.052, p < .001)"),
        ("(p < .05)", "RNNG b = 0.025, SE 0.018, p = .169"),
        ("(p < .05)", "PLM b = 0.015, SE 0.047, p = .749"),
        ("(p = .938)", "b = 0.003, SE 0.035, p = .939"),
        ("on semantic classes", "all modifiers: b = 0.18, SE 0.026, p < .001"),
        ("on semantic classes", "without modifiers: b = 0.19, SE 0.026, p < .001"),
        ("comparable, in all classes", "with runs nested within models, b = 0.71, p = .100"),
        ("worse in others", "with runs nested within models, b = −0.50, p = .150"),
        ("single and coordinated", "LSTM, subject RC: b = −0.067, SE 0.035, p = .056"),
        ("all architectures", "with Satterthwaite's degrees of freedom p = .180"),
        ("significant at p < .001", "p = .003 over items and runs (t = 2.97); p = .017 over items"),
    ],
)  # fmt: skip
def test_reasons_have_numbers_and_other_models(
    claims: list[StudyClaim], words: str, said: str
) -> None:
    (claim,) = (claim for claim in claims if words in claim.text)
    assert said in claim.reason


def test_positive_means_that_are_not_significant(released: Evidence) -> None:
    result = released.results["garden_path"]
    estimates = result.tables["estimates"].assign(p=0.7)
    changed = replace(result, tables={**result.tables, "estimates": estimates})
    one = Evidence(released.data, {**released.results, "garden_path": changed})
    (claim,) = (c for c in MANDARIN.result([one]).claims if "positive mean effect" in c.text)
    assert claim.verdict == "depends"


def test_coefficients_of_linear_models(released: Evidence) -> None:
    def numbers(analysis: str, **wanted: Any) -> tuple[float, float]:
        found = released.estimate(analysis, **wanted)
        assert found is not None
        return found["estimate"], found["standard_error"]

    assert numbers("data_size", model="transformer") == pytest.approx((0.070, 0.036), abs=0.0015)
    assert numbers("syntactic_semantic") == pytest.approx((0.178, 0.026), abs=6e-4)
    assert numbers("syntactic_semantic_bare") == pytest.approx((0.192, 0.026), abs=6e-4)
    assert numbers("syntax_or_data") == pytest.approx((0.003, 0.035), abs=6e-4)


def test_one_corpus_says_what_it_lacks(released: Evidence) -> None:
    result = MANDARIN.result([_only(released, corpus="ctb")])
    verdicts = {claim.text: (claim.verdict, claim.reason) for claim in result.claims}
    untested = {text: reason for text, (verdict, reason) in verdicts.items()
                if verdict == "not tested"}  # fmt: skip
    for words, reason in (
        (
            "Transformers trained on the larger",
            "needs Transformers trained on CTB and on the larger",
        ),
        ("RNNGs trained on CTB are about", "needs RNNGs trained on CTB and LSTMs"),
        ("Trained on the larger corpus, syntactic", "trained on Xinhua"),
        ("is larger with the larger corpus", "trained on both corpora"),
        ("Only RNNGs trained on the larger", "trained on the larger corpus"),
        ("This effect of RNNGs", "trained on the larger corpus"),
        ("The effect of PLMs", "trained on the larger corpus"),
    ):
        (text,) = (text for text in untested if words in text)
        assert reason in untested[text], untested[text]
    parts = {part.number: part for part in result.parts}
    assert len(parts["Table 1"].cells) == 12
    for number in ("Table 3a", "Table 3b", "Table 4", "Figure 5"):
        assert parts[number].missing, number


def test_models_without_counterparts_say_so(released: Evidence) -> None:
    result = MANDARIN.result([_only(released, model="lstm")])
    parts = {part.number: part for part in result.parts}
    assert not parts["Table 1"].cells
    assert {cell.row for cell in parts["Table 5"].cells} == {"lstm"}
    assert "Not computed from released surprisals: " in parts["Table 1"].missing[0]
    for claim in result.claims:
        if "syntactic models" in claim.text or "RNNGs" in claim.text:
            assert claim.verdict == "not tested", claim
            assert len(claim.reason) > 10
