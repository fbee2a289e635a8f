"""Wang et al. 2021: every value of the released files, imported as the study imports them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gardenpath.errors import ConfigError
from gardenpath.eval.published.files import PairingRules
from gardenpath.eval.report.content import run_analyses
from gardenpath.eval.statistics.analysis import AnalysisResult, load_analyses, make_analysis
from gardenpath.eval.statistics.answering import run_analysis
from gardenpath.runs.results import Results
from gardenpath.settings.tasks import ItemChoice, surprisal_sets
from gardenpath.studies.compared import ComparedPart, compared_parts
from gardenpath.studies.layouts import import_layout
from gardenpath.studies.mandarin import MANDARIN
from gardenpath.studies.reflexives import reflexives_study
from gardenpath.studies.replicate import STUDIES, study_evidence, study_spec
from gardenpath.studies.study import (
    OWN,
    RELEASED,
    Evidence,
    StudyClaim,
    StudyData,
    mean_cell,
    names_or_none,
    short_count,
    significant,
)
from gardenpath.studies.suppression import SUPPRESSION, condition_means, is_neural
from tests.studies.released import PRONOUNS, reflexives, study_data, suppression
from tests.studies.small_study import SMALL, data

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
    "lstm": ["−0.067", "−0.144***", "−0.300***"],
    "rnng": ["−0.017", "−0.025", "−0.175***"],
    "transformer": ["−0.100", "−0.133", "−0.350***"],
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


@pytest.mark.slow
def test_cells_agree_with_the_paper(parts: dict[str, ComparedPart]) -> None:
    counts = {number: part.counts(RELEASED) for number, part in parts.items()}
    assert counts == {
        "Figure 1": (51, 60),
        "Table 1": (21, 24),
        "Figure 2": (8, 8),
        "Figure 3": (32, 32),
        "Figure 4": (16, 16),
        "Table 2": (24, 24),
        "Table 3a": (0, 0),
        "Table 3b": (0, 0),
        "Table 4": (0, 0),
        "Figure 5": (0, 0),
        "Figure 6": (4, 4),
        "Table 5": (9, 12),
        "Table 6": (51, 60),
        "Figure 7": (0, 0),
    }
    intervals = [one.interval_agrees for part in parts.values() for one in part.cells]
    assert intervals.count(True) == 24
    assert intervals.count(False) == 0


@pytest.mark.slow
def test_only_coins_make_cells_of_table_6_differ(parts: dict[str, ComparedPart]) -> None:
    for number in ("Table 6", "Figure 1"):
        cells = parts[number].cells
        assert all(one.agrees for one in cells if not one.cell.row.startswith("ngram"))
        differing = [one.cell for one in cells if one.agrees is False]
        assert len(differing) == 9
        assert all("ties" in cell.note and "coin" in cell.note for cell in differing)
        assert len(parts[number].remarks(differing=True)) >= 1


@pytest.mark.slow
def test_table_1_is_that_of_lme4(released: Evidence, parts: dict[str, ComparedPart]) -> None:
    for kind, cells in TABLE_1.items():
        for (architecture, corpus), (b, error, _) in zip(PAIRS, cells, strict=True):
            wanted = {"class": kind, "architecture": architecture, "corpus": corpus}
            found = released.estimate("supervision", **wanted)
            assert found is not None
            assert found["estimate"] == pytest.approx(b, abs=0.002)
            # Exact standard errors are up to 4 % larger.
            assert error - 0.0011 <= found["standard_error"] < 1.05 * error
    texts = [(one.cell.text, one.printed.text) for one in parts["Table 1"].cells if one.printed]
    # Direction and significance are those of the paper in all cells, the number of stars in 21:
    # two p values are just above .01, and one is just above .001.
    assert len(texts) == 24
    assert [ours.strip("*") for ours, _ in texts] == [theirs.strip("*") for _, theirs in texts]
    differing = [pair for pair in texts if pair[0] != pair[1]]
    assert differing == [("✓*", "✓**"), ("✓*", "✓**"), ("✗**", "✗***")]
    remarks = parts["Table 1"].remarks(differing=True)
    p_values = ("p = .0101", "p = .0104", "p = .0012")
    assert len(remarks) == 3
    assert all(any(p in remark for remark in remarks) for p in p_values)


@pytest.mark.slow
def test_table_5_at_the_maximum(parts: dict[str, ComparedPart]) -> None:
    part = parts["Table 5"]
    shown: dict[str, list[str]] = {}
    for one in part.cells:
        shown.setdefault(one.cell.row, []).append(part.shown(one.cell))
    assert shown == TABLE_5
    remarks = part.remarks(differing=True)
    names = [remark.partition(":")[0] for remark in remarks]
    assert names == ["LSTM, subject RC", "Transformer, subject RC", "Transformer, coordinated RCs"]
    remark = remarks[1]
    assert "p = .0536; with Satterthwaite's degrees of freedom p = .19" in remark
    assert "singular fit" in remark


@pytest.mark.slow
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


@pytest.mark.slow
def test_verdicts(claims: list[StudyClaim]) -> None:
    others = {claim.text: claim for claim in claims if claim.verdict != "reproduced"}
    assert len(claims) == 16
    assert {text.partition(" ")[0]: claim.verdict for text, claim in others.items()} == {
        "Transformers": "depends",
        "LSTMs": "depends",
        "This": "not reproduced",
    }


@pytest.mark.slow
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


@pytest.mark.slow
def test_positive_means_that_are_not_significant(released: Evidence) -> None:
    result = released.results["garden_path"]
    estimates = result.tables["estimates"].assign(p=0.7)
    changed = replace(result, tables={**result.tables, "estimates": estimates})
    one = Evidence(released.data, {**released.results, "garden_path": changed})
    (claim,) = (c for c in MANDARIN.result([one]).claims if "positive mean effect" in c.text)
    assert claim.verdict == "depends"


@pytest.mark.slow
def test_coefficients_of_linear_models(released: Evidence) -> None:
    def numbers(analysis: str, **wanted: Any) -> tuple[float, float]:
        found = released.estimate(analysis, **wanted)
        assert found is not None
        return found["estimate"], found["standard_error"]

    assert numbers("data_size", model="transformer") == pytest.approx((0.070, 0.036), abs=0.0015)
    assert numbers("syntactic_semantic") == pytest.approx((0.178, 0.026), abs=6e-4)
    assert numbers("syntactic_semantic_bare") == pytest.approx((0.192, 0.026), abs=6e-4)
    assert numbers("syntax_or_data") == pytest.approx((0.003, 0.035), abs=6e-4)


@pytest.mark.slow
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


@pytest.mark.slow
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


# ----------------------------------------------------------------------------
# Hu et al. 2020: values of the released files, items that count, and judgements of claims.


EXPERIMENTS = ("exp1a", "exp2a", "exp1b", "exp2b", "exp3")


def _parts(one: Evidence, items: ItemChoice = "paper") -> dict[str, ComparedPart]:
    result = reflexives_study(items).result([one])
    return {part.part.number: part for part in compared_parts(result)}


@pytest.fixture(scope="module")
def released_reflexives_study(reference_data: Path) -> Evidence:
    published = reference_data / "published"
    return Evidence(reflexives(published / "reflexives", published / "reflexives_more"))


def _values(part: ComparedPart) -> dict[tuple[str, str], str]:
    return {
        (cell.row, cell.column): f"{cell.value:.3f}"
        for cell in part.part.cells
        if not math.isnan(cell.value)
    }


def test_released_files_give_table_3(released_reflexives_study: Evidence) -> None:
    table = _parts(released_reflexives_study)["Table 3"]
    assert _values(table) == {
        ("exp2a", "grnn"): "0.450", ("exp2a", "tiny"): "0.156", ("exp2a", "rnng"): "0.239",
        ("exp1b", "grnn"): "1.000",
        ("exp2b", "bert"): "0.978", ("exp2b", "grnn"): "0.989", ("exp2b", "tiny"): "0.817",
        ("exp2b", "rnng"): "0.883",
        ("exp3", "grnn"): "0.750", ("exp3", "tiny"): "0.428", ("exp3", "rnng"): "0.622",
    }  # fmt: skip
    assert table.counts(RELEASED) == (11, 11)
    assert {(c.row, c.n) for c in table.part.cells} == {
        ("exp2a", 180), ("exp1b", 210), ("exp2b", 180), ("exp3", 180),
    }  # fmt: skip
    # Half-widths as printed; that of GRNN in Exp. 2b is printed .013, but p and n give .015.
    reaches = {(c.row, c.column): f"{(c.high - c.low) / 2:.3f}" for c in table.part.cells}
    printed = {
        (one.cell.row, one.cell.column): f"{one.printed.reach:.3f}"
        for one in table.cells
        if one.printed is not None and (one.cell.row, one.cell.column) in reaches
    }
    assert {place for place, reach in printed.items() if reaches[place] != reach} == {
        ("exp2b", "grnn")
    }


def test_all_items_of_the_released_files(released_reflexives_study: Evidence) -> None:
    values = _values(_parts(released_reflexives_study, "all")["Table 3"])
    found = {
        model: [values[experiment, model] for experiment in ("exp2a", "exp2b", "exp3")]
        for model in ("grnn", "tiny", "rnng")
    }
    assert found == {
        "grnn": ["0.422", "0.991", "0.751"],
        "tiny": ["0.133", "0.804", "0.422"],
        "rnng": ["0.240", "0.898", "0.627"],
    }


def test_released_files_give_figure_2(released_reflexives_study: Evidence) -> None:
    figure = _parts(released_reflexives_study)["Figure 2"]
    assert figure.counts(RELEASED) == (30, 30)
    assert {(c.panel, c.n) for c in figure.part.cells} == {("exp1b", 70), ("exp2b", 75)}
    assert all(cell.low < cell.value < cell.high for cell in figure.part.cells)
    assert figure.columns_of("exp2b")[:3] == ["themselves D", "themselves U", "himself D"]


@pytest.mark.slow
def test_claims_of_the_released_files(released_reflexives_study: Evidence) -> None:
    claims = reflexives_study().result([released_reflexives_study]).claims
    found = [
        (claim.place.split(",")[0].removeprefix("section "), claim.verdict) for claim in claims
    ]
    assert found == [
        *(("5.1", "not tested"),) * 3,  # Exp. 1a
        ("5.1", "reproduced"),
        ("5.1", "reproduced"),
        ("5.1", "not tested"),
        ("5.2", "reproduced"),
        ("5.2", "reproduced"),
        ("5.2", "depends"),
        ("5.3", "reproduced"),
        ("5.3", "reproduced"),
        *(("5.4", "not reproduced"),) * 3,
    ]
    assert "not in this source: TransXL, JRNN" in claims[7].reason


def _made(
    accuracies: dict[str, float],
    *,
    experiments: Sequence[str] = EXPERIMENTS,
    items: int = 60,
    pronouns: Sequence[str] = PRONOUNS,
    corpora: Sequence[str] = ("",),
    effect: float = 0.0,
) -> Evidence:
    """Models with these accuracies on all pronouns; ``effect`` is the distractor effect."""
    rows = [
        {
            "run": f"{model}/{corpus}", "model": model, "corpus": corpus, "seed": pd.NA,
            "suite": f"{experiment}/{pronoun}", "class": "reflexives", "modifier": experiment,
            "item": item, "pronoun": pronoun, "prediction": "licensing",
            "outcome": float(item <= round(accuracy * items)),
        }
        for model, accuracy in accuracies.items()
        for corpus in corpora
        for experiment in experiments
        for pronoun in pronouns
        for item in range(1, items + 1)
    ]  # fmt: skip
    table = pd.DataFrame(rows)
    noise = np.random.default_rng(0).normal(0.0, 0.1, len(table))
    is_herself = (table["pronoun"] == "herself").to_numpy()
    effects = table.assign(effect="distractor_effect", value_bits=noise + effect * is_herself)
    return Evidence(study_data(table, effects))


def _claim(one: Evidence, start: str) -> StudyClaim:
    claims = reflexives_study().result([one]).claims
    (found,) = (claim for claim in claims if claim.text.startswith(start))
    return found


def test_the_paper_used_sixty_of_the_75_items() -> None:
    # Items 1 to 45 are right: those of the paper have 45 of 60, all have 45 of 75.
    one = _made({"grnn": 0.6}, items=75)
    values = {items: _values(_parts(one, items)["Table 3"]) for items in ("paper", "all")}
    assert {key[0] for key, value in values["paper"].items() if value == "0.750"} == {
        "exp2a", "exp2b", "exp3",
    }  # fmt: skip
    assert {key[0] for key, value in values["paper"].items() if value == "0.600"} == {
        "exp1a", "exp1b",
    }  # fmt: skip
    assert set(values["all"].values()) == {"0.600"}


def test_each_pronoun_lacks_other_items() -> None:
    # Only items 46 to 60 are right, which herself keeps and the others do not.
    table = _made({"grnn": 0.0}, items=75).data.items
    table["outcome"] = table["item"].between(46, 60).astype(float)
    values = _values(_parts(Evidence(study_data(table, pd.DataFrame())))["Table 3"])
    assert values["exp2b", "grnn"] == f"{0.25 / 3:.3f}"
    assert values["exp1b", "grnn"] == "0.200"


def test_suites_with_sixty_items_keep_all() -> None:
    one = _made({"lstm": 0.25}, items=60)
    assert set(_values(_parts(one)["Table 3"]).values()) == {"0.250"}
    assert _parts(one)["Table 3"].part.cells[0].n == 180


def test_an_accuracy_needs_all_pronouns() -> None:
    one = _made({"grnn": 1.0}, pronouns=("himself", "themselves"))
    (cell, *_) = _parts(one)["Table 3"].part.cells
    assert math.isnan(cell.value) and cell.note == "no items with herself"
    assert _claim(one, "GRNN has an accuracy").verdict == "not tested"


def test_corpora_are_named_if_there_are_several() -> None:
    one = _made({"lstm": 0.5, "rnng": 0.75}, corpora=("ptb", "wiki"), experiments=("exp3",))
    table = _parts(one)["Table 3"]
    assert [cell.column for cell in table.part.cells] == [
        "rnng ptb", "rnng wiki", "lstm ptb", "lstm wiki",
    ]  # fmt: skip
    assert table.label("lstm wiki") == "LSTM (wiki)"
    # Own LSTMs take the place of TinyLSTM, each with the RNNG of its corpus.
    claim = _claim(one, "RNNG has a clear advantage")
    assert claim.verdict == "reproduced" and claim.reason.count("RNNG (") == 2


def test_spellings_of_the_papers_models() -> None:
    one = _made({"5gram": 1 / 3, "Transformer-XL": 0.9, "TinyLSTM": 0.5}, experiments=("exp2b",))
    columns = {cell.column for cell in _parts(one)["Table 3"].part.cells}
    assert columns == {"ngram", "trans", "tiny"}
    # Two models with spellings of one name are not averaged.
    one = _made({"5gram": 1 / 3, "ngram": 1.0}, experiments=("exp2b",))
    assert {c.column for c in _parts(one)["Table 3"].part.cells} == {"5gram", "ngram"}


@pytest.mark.parametrize(
    ("start", "accuracies", "verdict"),
    [
        ("In relative clauses (Exp. 1a), GRNN", {"grnn": 0.7}, "reproduced"),
        ("In relative clauses (Exp. 1a), GRNN", {"grnn": 0.5}, "not reproduced"),
        ("The n-gram model is at chance", {"ngram": 1 / 3}, "reproduced"),
        ("The n-gram model is at chance", {"ngram": 0.5}, "not reproduced"),
        ("BERT is slightly less", {"bert": 0.76}, "reproduced"),
        ("In sentential complements (Exp. 1b)", {"bert": 0.95, "jrnn": 0.5}, "not reproduced"),
        ("GRNN has an accuracy of 100", {"grnn": 59 / 60}, "not reproduced"),
        ("Relative clauses (Exp. 1a) are harder", {"grnn": 0.7}, "not reproduced"),
        ("In relative clauses with new nouns", {"grnn": 0.45, "rnng": 0.45}, "not reproduced"),
        ("In sentential complements with new", {"grnn": 0.95, "tiny": 0.8}, "reproduced"),
        ("RNNG is more accurate than TinyLSTM", {"tiny": 0.8, "rnng": 0.5}, "not reproduced"),
        ("RNNG is more accurate than TinyLSTM", {"tiny": 0.8, "rnng": 0.9}, "reproduced"),
        ("RNNG has a clear advantage", {"tiny": 0.8, "rnng": 0.8}, "not reproduced"),
        ("RNNG has a clear advantage", {"rnng": 0.8}, "not tested"),
    ],
)
def test_claims_about_accuracies(start: str, accuracies: dict[str, float], verdict: str) -> None:
    assert _claim(_made(accuracies), start).verdict == verdict


@pytest.mark.parametrize(
    ("effect", "verdicts"),
    [
        (0.5, ("reproduced", "not reproduced", "reproduced")),
        (-0.5, ("not reproduced", "not reproduced", "not reproduced")),
        (0.0, ("not reproduced", "reproduced", "not reproduced")),
    ],
)
def test_claims_about_distractors(effect: float, verdicts: tuple[str, ...]) -> None:
    claims = reflexives_study().result([_made({"grnn": 1.0, "tiny": 1.0}, effect=effect)]).claims
    assert tuple(claim.verdict for claim in claims if "5.4" in claim.place) == verdicts


def test_sizes_of_training_corpora() -> None:
    one = _made({"rnng": 1.0}, corpora=("ptb",))
    corpora = pd.DataFrame(
        {
            "corpus": ["ptb", "ptb"], "split": ["train", "test"], "tokens": [950_123, 5],
            "vocabulary": pd.array([23_000, pd.NA], dtype="Int64"), "count_himself": [95, 1],
        }
    )  # fmt: skip
    known = Evidence(replace(one.data, corpora=corpora))
    table = _parts(known)["Table 2"]
    assert {c.column: c.text for c in table.part.cells} == {
        "tokens": "950K", "vocabulary": "23K", "himself": "95",
    }  # fmt: skip
    assert table.counts(RELEASED) == (3, 3)
    assert _parts(one)["Table 2"].part.missing


# ----------------------------------------------------------------------------
# Specifications of studies: parts and claims of all sources.


def _result(name: str, estimates: pd.DataFrame | None, skipped: tuple[str, ...]) -> AnalysisResult:
    analysis = make_analysis(
        {"title": "t", "test": "t_test", "response": "value_bits", "table": "effects"}, name=name
    )
    return AnalysisResult(
        analysis=analysis,
        data=pd.DataFrame(),
        tables={} if estimates is None else {"estimates": estimates},
        sentences=(),
        skipped=skipped,
    )


def test_parts_have_the_cells_of_all_sources_and_say_what_lacks() -> None:
    sources = [Evidence(data({"lstm": [1, 1, 0]})), Evidence(data({"lstm": [0, 1]}, "runs"))]
    figure, table, texts = SMALL.result(sources).parts
    assert figure.style is not None and table.style is None
    assert [(c.source, c.n) for c in figure.cells] == [("files", 3), ("runs", 2)]
    assert all(math.isfinite(cell.low) for cell in figure.cells)
    assert all(math.isnan(cell.low) for cell in table.cells)  # means alone
    assert [cell.source for cell in texts.cells] == ["files"]
    assert texts.missing == ["Not computed from runs: it is secret."]
    assert figure.labels["lstm"] == "lstm of runs" and figure.labels["accuracy"] == "mean accuracy"


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ({"lstm": [1.0, 1], "ngram": [1, 0]}, "reproduced"),
        ({"lstm": [0.0, 0], "ngram": [1, 0]}, "not reproduced"),
        ({"lstm": [0.0, 1], "ngram": [1, 0]}, "depends"),
        ({"lstm": [1.0]}, "not tested"),
    ],
)
def test_claims_have_a_verdict_and_a_reason(outcomes: dict[str, list[float]], verdict: str) -> None:
    (claim,) = SMALL.result([Evidence(data(outcomes))]).claims
    assert claim.verdict == verdict and claim.reason and claim.source == "files"


def test_evidence_finds_estimates_by_their_columns() -> None:
    table = pd.DataFrame({"model": ["a", "a", "b"], "seed": [1, 2, 1], "p": [0.1, 0.2, 0.3]})
    results = {
        "q": _result("q", table, ()),
        "none": _result("none", None, ("too few items", "no seeds")),
    }
    one = Evidence(data({"a": [1]}), results)
    assert [row["p"] for row in one.estimates("q", model="a")] == [0.1, 0.2]
    found = one.estimate("q", model="a", seed=2)
    assert found is not None and found["p"] == 0.2
    assert one.estimate("q", model="a") is None  # not the only one
    assert one.estimates("none") == [] and one.estimates("other") == []
    assert one.why_not("none") == "too few items; no seeds"
    assert one.why_not("other") == "the analysis was not run"


def test_failed_fits_are_no_estimates() -> None:
    """Their p values are those of other tests, which have no direction."""
    table = pd.DataFrame(
        {
            "term": ["CTB · verb-noun · syntax", "CTB · subordination · syntax"],
            "estimate": [0.5, math.nan],
            "p": [0.2, 0.001],
            "remark": ["", "complete separation"],
        }
    )
    one = Evidence(data({"lstm": [1]}), {"q": _result("q", table, ())})
    assert [row["p"] for row in one.estimates("q")] == [0.2]
    assert one.skipped("q") == ["complete separation (CTB · subordination · syntax)"]


def test_skipped_parts_of_an_analysis_are_said_once_per_reason() -> None:
    exact = "the model fits the responses exactly"
    skipped = (
        *(f"LSTM · missing object · {seed}: {exact}" for seed in range(4)),
        f"LSTM · verb-noun · 1: {exact}",
        "LSTM · missing object · 5: too few: 1 row",
        "no table",
    )
    one = Evidence(data({"lstm": [1]}), {"q": _result("q", None, skipped)})
    places = "; ".join(f"LSTM · missing object · {seed}" for seed in range(3))
    assert one.skipped("q", "missing_object") == [
        f"{exact} ({places} and 1 more)",
        "too few: 1 row (LSTM · missing object · 5)",
        "no table",
    ]
    assert one.skipped("q")[0] == f"{exact} ({places} and 2 more)"
    assert one.skipped("other") == []
    # A part of the study says it, with and without other cells.
    spec = replace(SMALL.parts[0], analysis=["q", "missing_object"])
    said = spec.part([one], {}).missing
    assert said[2] == "Some cells are not computed from files: no table."
    empty = replace(spec, cells=lambda _: ())
    assert empty.part([one], {}).missing[0].startswith(f"Not computed from files: {exact}")


def test_significance_has_a_direction() -> None:
    assert significant({"p": 0.04, "estimate": 1.0}, 1)
    assert not significant({"p": 0.04, "estimate": 1.0}, -1)
    assert not significant({"p": 0.06, "estimate": 1.0}, 1)
    assert (names_or_none([]), names_or_none(["a", "b"])) == ("none", "a, b")


def test_mean_cells_leave_out_missing_values() -> None:
    cell = mean_cell([1.0, math.nan, 3.0], source="s", row="r", column="c")
    assert (cell.value, cell.n) == (2.0, 2)
    assert cell.high - cell.value == pytest.approx(1.96 * math.sqrt(2.0) / math.sqrt(2.0))
    assert math.isnan(mean_cell([1.0], source="s", row="r", column="c").low)
    assert mean_cell([], source="s", row="r", column="c").n == 0


def test_counts_are_as_papers_print_them() -> None:
    assert [short_count(n) for n in (12, 974_400, 7_100_000)] == ["12", "974K", "7M"]


def test_studies_have_their_names() -> None:
    assert all(study_spec(name).name == name for name in STUDIES)
    assert set(STUDIES) == {"mandarin", "reflexives", "suppression", "filler_gap"}
    with pytest.raises(ConfigError, match=r"unknown study 'mandarine'.*mandarin"):
        study_spec("mandarine")
    notes = [study_spec("reflexives", items=items).parts[1].note for items in ("paper", "all")]
    assert "60 of 75" in notes[0] and "all released items" in notes[1]


# ----------------------------------------------------------------------------
# Wilcox et al. 2019: values of the released files, and judgements of claims.


ANALYSES = Path(__file__).parents[2] / "conf" / "analysis"


@pytest.fixture(scope="module")
def released_suppression_study(reference_data: Path) -> StudyData:
    return suppression(reference_data / "published" / "suppression")


def _parts_suppression_study(data: StudyData) -> dict[str, ComparedPart]:
    result = SUPPRESSION.result([Evidence(data)])
    return {part.part.number: part for part in compared_parts(result)}


def test_released_files_give_all_figures(released_suppression_study: StudyData) -> None:
    parts = _parts_suppression_study(released_suppression_study)
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


def test_claims_of_the_released_files_suppression_study(
    released_suppression_study: StudyData,
) -> None:
    found = load_analyses(ANALYSES, study="suppression")
    assert {one.name for one in found} >= {
        "ordering", "ordering_contrasts", "wh_contrasts", "discharge_contrasts",
    }  # fmt: skip
    results = {
        one.name: run_analysis(one, getattr(released_suppression_study, one.table))
        for one in found
        if one.test != "within_item"
    }
    claims = SUPPRESSION.result([Evidence(released_suppression_study, results)]).claims
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


def test_analyses_that_were_not_run_leave_claims_untested(
    released_suppression_study: StudyData,
) -> None:
    claims = SUPPRESSION.result([Evidence(released_suppression_study)]).claims
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


def _claim_suppression_study(
    start: str, *results: AnalysisResult, effects: pd.DataFrame | None = None
) -> StudyClaim:
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
    claim = _claim_suppression_study(
        "+gap: wh-effects are significantly smaller", _analysis("wh_contrasts", rows)
    )
    assert claim.verdict == verdict
    assert f"Gulordava, object → complex NP: {'−' if estimate > 0 else ''}1.00 bits" in claim.reason


@pytest.mark.parametrize(
    ("estimate", "p", "verdict"),
    [(1.0, 0.01, "not reproduced"), (1.0, 0.06, "reproduced"), (-1.0, 0.01, "reproduced")],
)
def test_no_recovery_without_a_gap(estimate: float, p: float, verdict: str) -> None:
    row = _contrast("complex_np", "over_complex_np", estimate, p, gap="without a gap")
    claim = _claim_suppression_study(
        "−gap: wh-effects of Gulordava", _analysis("wh_contrasts", [row])
    )
    assert claim.verdict == verdict


def test_transformers_are_excepted_in_complex_nps() -> None:
    start = "−gap: wh-effects are significantly smaller"
    rows = [
        _contrast("object", "adjunct", -1.0, 0.001, gap="without a gap", model="trans"),
        _contrast("object", "complex_np", 1.0, 0.9, gap="without a gap", model="trans"),
    ]
    assert _claim_suppression_study(start, _analysis("wh_contrasts", rows)).verdict == "reproduced"
    others = [{**row, "model": "gulordava"} for row in rows]
    assert (
        _claim_suppression_study(start, _analysis("wh_contrasts", others)).verdict
        == "not reproduced"
    )


def test_transformers_after_a_gap() -> None:
    start = "In Transformer, adjuncts pattern"
    rows = [
        _contrast("subject", second, sign * size, p, gap=gap, model="transformer")
        for gap, sign in (("with a gap", -1.0), ("without a gap", 1.0))
        for second, size, p in (("adjunct_discharge", 0.1, 0.5), ("cnp_discharge", 1.0, 1e-5))
    ]
    assert (
        _claim_suppression_study(start, _analysis("discharge_contrasts", rows)).verdict
        == "reproduced"
    )
    rows[0]["p"] = 0.001
    assert (
        _claim_suppression_study(start, _analysis("discharge_contrasts", rows)).verdict
        == "not reproduced"
    )
    claim = _claim_suppression_study(start, _analysis("discharge_contrasts", []))
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
        assert _claim_suppression_study(start, effects=effects).verdict == "reproduced", start
    flat = effects.assign(value_bits=effects["item"] * 0.1)
    for start in ("+gap: in Google, a missing", "The ordering effect of Google", "In embeddings"):
        assert _claim_suppression_study(start, effects=flat).verdict == "not reproduced", start


def test_ordering_effects_are_tested_against_zero() -> None:
    start = "The ordering effect of neural models"
    rows = [
        {"corpus": "", "model": "gulordava", "effect": f"ordering_effect_{design}",
         "estimate": 1.0, "p": 0.01}
        for design in ("sentence", "embedding", "long")
    ]  # fmt: skip
    assert _claim_suppression_study(start, _analysis("ordering", rows)).verdict == "reproduced"
    rows[1]["p"] = 0.2
    assert _claim_suppression_study(start, _analysis("ordering", rows)).verdict == "not reproduced"
    assert (
        _claim_suppression_study("The n-gram model has", _analysis("ordering", rows)).verdict
        == "not tested"
    )
    for row, p in zip(rows, (0.5, 0.01, 0.5), strict=True):
        row.update(model="ngram", p=p)
    start = "The ordering effect of the n-gram model"
    assert _claim_suppression_study(start, _analysis("ordering", rows)).verdict == "not reproduced"


def test_ngram_models_with_other_settings_are_not_neural() -> None:
    rows = [
        {"corpus": "", "model": "ngram (order=3)", "effect": f"ordering_effect_{design}",
         "estimate": 1.0, "p": 0.01}
        for design in ("sentence", "embedding", "long")
    ]  # fmt: skip
    start = "The ordering effect of neural models"
    assert _claim_suppression_study(start, _analysis("ordering", rows)).verdict == "not tested"
    assert not is_neural("ngram (order=3)") and is_neural("lstm (size=tiny)")


def test_toy_suites_are_no_part_of_the_study() -> None:
    means = {
        ("center_embedding", "none", f"ordering_effect_{d}"): 1.0 for d in ("long", "sentence")
    }
    effects = _effects(means, ("lstm",))
    toys = effects.assign(modifier="toy", suite="toy", value_bits=100.0)
    parts = [
        _parts_suppression_study(_data(table))["Figure 2"].part
        for table in (effects, pd.concat([effects, toys]))
    ]
    assert parts[0].cells and parts[0].cells == parts[1].cells


def test_wh_effects_of_an_ngram_model() -> None:
    start = "Wh-effects of the n-gram model"
    zero = {("islands", name, "wh_effect_gap"): 0.0 for name in ("object", "adjunct")}
    more = {("islands", name, "wh_effect_gap"): 5.0 for name in ("object", "adjunct")}
    assert (
        _claim_suppression_study(start, effects=_effects(zero, ("ngram",))).verdict == "reproduced"
    )
    assert (
        _claim_suppression_study(start, effects=_effects(more, ("ngram",))).verdict
        == "not reproduced"
    )
    assert (
        _claim_suppression_study(start, effects=_effects(zero, ("lstm",))).verdict == "not tested"
    )


def test_own_models_and_corpora_are_rows() -> None:
    means = {
        ("islands", name, effect): 1.0
        for name in ("object", "adjunct")
        for effect in ("wh_effect_gap", "wh_effect_nogap")
    }
    one = _effects(means, ("lstm", "rnng")).assign(corpus="ptb")
    both = pd.concat([one, one.assign(corpus="wiki")])
    figure = _parts_suppression_study(_data(one))["Figure 4"]
    assert figure.rows_of("wh_effect_gap") == ["lstm", "rnng"]
    assert figure.columns_of("wh_effect_gap") == ["object", "adjunct"]
    named = _parts_suppression_study(replace(_data(both), source="own runs"))["Figure 4"]
    assert named.rows_of("wh_effect_nogap") == ["lstm ptb", "lstm wiki", "rnng ptb", "rnng wiki"]
    assert named.label("rnng wiki") == "RNNG (wiki)"
    assert _parts_suppression_study(_data(one))["Figure 2"].part.missing
