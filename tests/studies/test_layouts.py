"""The released files give the numbers of the studies."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.errors import InputError
from gardenpath.eval.means import summarise
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.importing import Imported, ImportedRun
from gardenpath.eval.suites.outcomes import EXACT_TIES
from gardenpath.runs.suite_tables import SuiteTables, suite_tables
from gardenpath.settings.tasks import ItemChoice
from gardenpath.studies.layouts import import_mandarin
from gardenpath.studies.reflexives import chosen_items
from tests.eval.published.samples import (
    CLASSES,
    MANDARIN,
    ORDERING,
    OTHER_NOUNS,
    REFLEXIVE_MEANS,
    REFLEXIVES,
    WH_EFFECTS,
    released_mandarin,
    released_reflexives,
    released_suppression,
)


def _tables(runs: Sequence[ImportedRun]) -> SuiteTables:
    return suite_tables([], [], imported=runs, ties=EXACT_TIES)


@pytest.fixture(scope="module")
def mandarin(reference_data: Path) -> Imported:
    return released_mandarin(reference_data)


@pytest.fixture(scope="module")
def mandarin_items(mandarin: Imported) -> pd.DataFrame:
    return _tables(mandarin.runs).items


@pytest.fixture(scope="module")
def reflexives(reference_data: Path) -> Imported:
    return released_reflexives(reference_data)


@pytest.fixture(scope="module")
def effects(reference_data: Path) -> pd.Series:
    table = _tables(released_suppression(reference_data).runs).effects
    return table.groupby(["model", "class", "modifier", "effect"])["value_bits"].mean()


@pytest.mark.slow
def test_all_neural_cells_of_both_corpora(mandarin_items: pd.DataFrame) -> None:
    by_class = summarise(mandarin_items, by=("corpus", "model", "class"))
    found = by_class.set_index(["corpus", "model", "class"])["accuracy"]
    for corpus, models in MANDARIN.items():
        for model, expected in models.items():
            for kind, value in zip(CLASSES, expected, strict=True):
                assert abs(found[corpus, model, kind] - value) < 0.00051, (corpus, model, kind)


@pytest.mark.slow
def test_ties_of_the_ngram_models_are_counted_not_thrown(mandarin_items: pd.DataFrame) -> None:
    by_class = summarise(mandarin_items, by=("corpus", "model", "class"))
    found = by_class.set_index(["corpus", "model", "class"])
    assert found.loc[("ctb", "ngram", "missing_object"), "accuracy"] == pytest.approx(0.575)
    assert found.loc[("ctb", "ngram", "garden_path_subject"), "ties"] > 0
    assert found["ties"].drop("ngram", level="model").sum() == 0
    assert found["missing"].sum() == 0


@pytest.mark.slow
def test_seeds_are_ranks_and_corpora_are_known(mandarin: Imported) -> None:
    names = {name.run: name for name in mandarin.names}
    assert len(names) == 24
    gap = names["rnng_outputs/trial2"]
    assert (gap.model, gap.corpus, gap.seed) == ("rnng", "ctb", 2)
    large = names["hybrid1_outputs_trans/trial0"]
    assert (large.model, large.corpus, large.seed) == ("transformer", "xinhua", 1)


@pytest.mark.slow
def test_the_receipt_lists_what_was_accepted(mandarin: Imported, tmp_path: Path) -> None:
    mandarin.receipt.write(tmp_path)
    receipt = json.loads((tmp_path / "receipt.json").read_text(encoding="utf-8"))
    assert receipt["layout"] == "mandarin" and len(receipt["surprisals"]) == 24 * 24
    differing = [one for one in receipt["surprisals"] if one["accepted"]]
    assert {(one["suite"], len(one["accepted"])) for one in differing} == {
        ("mandarin/classifier_noun/object_rc", 8),
        ("mandarin/classifier_noun/subject_rc", 4),
    }
    kinds = {each["kind"] for one in differing for each in one["accepted"]}
    assert kinds == {"known wording"}
    assert {(one["unit"], one["unit_from"]) for one in receipt["surprisals"]} == {
        ("bits", "the layout")
    }
    assert all(len(one["sha256"]) == 64 for one in receipt["materials"])
    assert len(receipt["left_out"]) == 36 and "versions" in receipt
    # The suite has the sentences as they were scored.
    first = next(one for one in differing if one["run"] == "lstm_outputs/trial0")
    run = next(
        one
        for one in mandarin.runs
        if (one.name.run, one.suite.name) == (first["run"], first["suite"])
    )
    scored = {" ".join(v.words) for item in run.suite.items for v in item.variants}
    assert {each["found"] for each in first["accepted"]} <= scored


def test_runs_may_be_given_by_corpus_but_not_twice(reference_data: Path) -> None:
    root = reference_data / "published" / "mandarin"
    one = root / "surprisals" / "ngram_outputs"
    other = root / "surprisals_xinhua" / "hybrid1_outputs_ngram"
    materials = [root / "suites"]
    both = [SurprisalSet(one, "small"), SurprisalSet(other, "large")]
    found = import_mandarin(materials, both, PairingRules())
    assert {(name.run, name.corpus, name.seed) for name in found.names} == {
        ("ngram_outputs/trial0", "small", 1),
        ("hybrid1_outputs_ngram/trial0", "large", 1),
    }
    with pytest.raises(InputError, match="has the same surprisals as large/ngram_outputs/trial0"):
        twice = [SurprisalSet(one, "small"), SurprisalSet(one, "large")]
        import_mandarin(materials, twice, PairingRules())
    with pytest.raises(InputError, match="two files have surprisals of this run"):
        import_mandarin(materials, [SurprisalSet(one), SurprisalSet(one)], PairingRules())


@pytest.mark.slow
def test_reflexives_by_experiment_and_pronoun(reflexives: Imported) -> None:
    items = _tables(reflexives.runs).items
    found = summarise(items, by=("modifier", "model", "pronoun"))
    accuracies = found.set_index(["modifier", "model", "pronoun"])["accuracy"]
    for experiment, models in REFLEXIVES.items():
        for model, row in models.items():
            pronouns = ("herself", "himself", "themselves")
            own = [accuracies[experiment, model, pronoun] for pronoun in pronouns]
            assert tuple(round(value, 3) for value in (*own, sum(own) / 3)) == row


@pytest.mark.parametrize("items", ["all", "paper"])
def test_reflexives_of_all_items_and_of_table_3(reflexives: Imported, items: ItemChoice) -> None:
    table = chosen_items(_tables(reflexives.runs).items, items)
    means = summarise(table, by=("modifier", "model"))
    found = means.set_index(["modifier", "model"])["accuracy"].round(3).to_dict()
    assert found == {key: values[items == "paper"] for key, values in REFLEXIVE_MEANS.items()}


def test_reflexives_say_what_differs_from_the_stimuli(reflexives: Imported) -> None:
    counts = {
        (one.run, one.suite): len([d for d in one.accepted if d.kind == "reworded"])
        for one in reflexives.receipt.surprisals
        if one.accepted
    }
    assert counts == {
        ("grnn", "reflexives/exp2a/herself"): 90,
        ("grnn", "reflexives/exp2a/themselves"): 90,
        ("grnn", "reflexives/exp2b/herself"): 90,
        ("grnn", "reflexives/exp2b/themselves"): 90,
        ("tiny", "reflexives/exp2b/herself"): 0,  # the wording of another column of the stimuli
    }
    assert any("no surprisals of bert" in note for note in reflexives.notes)


def test_first_words_of_neural_models_are_not_scored(reflexives: Imported) -> None:
    by_model: dict[str, set[bool]] = {}
    for run in reflexives.runs:
        scored = {math.isnan(row[0]) for row in run.rows}
        by_model.setdefault(run.name.model, set()).update(scored)
    assert by_model == {"grnn": {True}, "tiny": {True}, "bert": {True}, "rnng": {False}}


def test_other_nouns_need_a_setting(reference_data: Path) -> None:
    with pytest.raises(InputError, match="90 sentences reworded"):
        released_reflexives(reference_data, PairingRules())
    with pytest.raises(InputError, match="90 sentences reworded"):
        released_reflexives(reference_data, replace(OTHER_NOUNS, reworded=0.19))


@pytest.mark.slow
def test_labels_of_these_experiments_agree_with_the_sentences(
    reference_data: Path, reflexives: Imported
) -> None:
    labelled = released_reflexives(reference_data, conditions="labels")
    assert _tables(labelled.runs).items.equals(_tables(reflexives.runs).items)


def test_ordering_effects(effects: pd.Series) -> None:
    names = (
        "verb1_sentence", "verb2_sentence", "ordering_effect_embedding", "ordering_effect_long",
    )  # fmt: skip
    for model, expected in ORDERING.items():
        for name, value in zip(names, expected, strict=True):
            found = effects[model, "center_embedding", "", name]
            assert found == pytest.approx(value, abs=0.0051)


def test_wh_effects(effects: pd.Series) -> None:
    of_model = effects["gulordava"].droplevel("class")
    for modifier, (gap, nogap) in WH_EFFECTS.items():
        assert of_model[modifier, "wh_effect_gap"] == pytest.approx(gap, abs=0.00051)
        assert of_model[modifier, "wh_effect_nogap"] == pytest.approx(nogap, abs=0.00051)
    ngram = effects["ngram"].droplevel("class")
    assert ngram["subject", "wh_effect_nogap"] == pytest.approx(0.018, abs=0.0005)
    assert ngram["object", "wh_effect_gap"] == 0
