"""Hu et al. 2020: values of the released files, items that count, and judgements of claims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gardenpath.studies.compared import ComparedPart, compared_parts
from gardenpath.studies.reflexives import reflexives_study
from gardenpath.studies.study import RELEASED, Evidence, ItemChoice, StudyClaim
from tests.eval.studies.released import PRONOUNS, reflexives, study_data

EXPERIMENTS = ("exp1a", "exp2a", "exp1b", "exp2b", "exp3")


def _parts(one: Evidence, items: ItemChoice = "paper") -> dict[str, ComparedPart]:
    result = reflexives_study(items).result([one])
    return {part.part.number: part for part in compared_parts(result)}


@pytest.fixture(scope="module")
def released(reference_data: Path) -> Evidence:
    published = reference_data / "published"
    return Evidence(reflexives(published / "reflexives", published / "reflexives_more"))


def _values(part: ComparedPart) -> dict[tuple[str, str], str]:
    return {
        (cell.row, cell.column): f"{cell.value:.3f}"
        for cell in part.part.cells
        if not math.isnan(cell.value)
    }


def test_released_files_give_table_3(released: Evidence) -> None:
    table = _parts(released)["Table 3"]
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


def test_all_items_of_the_released_files(released: Evidence) -> None:
    values = _values(_parts(released, "all")["Table 3"])
    found = {
        model: [values[experiment, model] for experiment in ("exp2a", "exp2b", "exp3")]
        for model in ("grnn", "tiny", "rnng")
    }
    assert found == {
        "grnn": ["0.422", "0.991", "0.751"],
        "tiny": ["0.133", "0.804", "0.422"],
        "rnng": ["0.240", "0.898", "0.627"],
    }


def test_released_files_give_figure_2(released: Evidence) -> None:
    figure = _parts(released)["Figure 2"]
    assert figure.counts(RELEASED) == (30, 30)
    assert {(c.panel, c.n) for c in figure.part.cells} == {("exp1b", 70), ("exp2b", 75)}
    assert all(cell.low < cell.value < cell.high for cell in figure.part.cells)
    assert figure.columns_of("exp2b")[:3] == ["themselves D", "themselves U", "himself D"]


def test_claims_of_the_released_files(released: Evidence) -> None:
    claims = reflexives_study().result([released]).claims
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
