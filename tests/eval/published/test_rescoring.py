"""Surprisals of others are scored: to the published digit, and in our own layout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.rescoring import (
    Rescored,
    rescore_mandarin,
    rescore_reflexives,
    rescore_suites,
    run_name,
)
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.scoring.aggregation import summarise
from gardenpath.eval.suites.scoring.scored_items import RunName, ScoredItems
from tests.eval.suites.samples import cats_suite

CLASSES = (
    "classifier_noun", "garden_path_object", "garden_path_subject", "verb_noun",
    "missing_object", "subordination",
)  # fmt: skip

# Wang et al. 2021, Table 6.
MANDARIN = {
    "lstm": (0.598, 0.659, 0.320, 0.624, 0.847, 0.789),
    "rnng": (0.609, 0.690, 0.359, 0.714, 0.838, 0.854),
    "trans": (0.603, 0.672, 0.376, 0.581, 0.761, 0.817),
    "plm": (0.615, 0.750, 0.419, 0.589, 0.775, 0.836),
}

# herself, himself, themselves, and their mean: relative clause, then prepositional phrase.
REFLEXIVES = {
    "grnn": ((0.373, 0.133, 0.760, 0.422), (0.813, 0.653, 0.787, 0.751)),
    "tiny": ((0.213, 0.147, 0.040, 0.133), (0.120, 0.213, 0.933, 0.422)),
    "rnng": ((0.000, 0.120, 0.600, 0.240), (0.627, 0.640, 0.613, 0.627)),
}


@pytest.fixture(scope="module")
def mandarin(reference_data: Path) -> Rescored:
    folder = reference_data / "published" / "mandarin"
    return rescore_mandarin(folder / "suites", folder / "surprisals")


@pytest.fixture(scope="module")
def reflexives(reference_data: Path) -> Rescored:
    folder = reference_data / "published" / "reflexives"
    return rescore_reflexives(folder / "stimuli", folder / "surprisal")


def test_the_published_mandarin_accuracies(mandarin: ScoredItems) -> None:
    by_class = mandarin.by_class.set_index(["model", "class"])["accuracy"]
    for model, expected in MANDARIN.items():
        assert tuple(round(by_class[model, name], 3) for name in CLASSES) == expected


def test_the_written_summary_says_the_same(mandarin: ScoredItems) -> None:
    summary = mandarin.summary
    assert len(summary) == 5 * 24
    means = summary.groupby(["model", "class"])["accuracy"].mean()
    assert round(means["rnng", "subordination"], 3) == 0.854
    assert set(summary[summary["model"] == "rnng"]["seeds"]) == {2}
    assert summary["missing"].sum() == 0
    assert len(mandarin.notes) == 2 and "classifier_noun/object_rc: 8" in mandarin.notes[0]


def test_ties_of_the_ngram_model_are_counted_not_thrown(mandarin: ScoredItems) -> None:
    by_class = mandarin.by_class.set_index(["model", "class"])
    assert by_class.loc[("ngram", "missing_object"), "accuracy"] == pytest.approx(0.575)
    assert by_class.loc[("ngram", "subordination"), "accuracy"] == pytest.approx(0.675)
    assert by_class.loc[("ngram", "garden_path_subject"), "ties"] > 0
    assert by_class["ties"].drop("ngram", level="model").sum() == 0


@pytest.mark.parametrize("model", REFLEXIVES)
def test_the_published_reflexive_accuracies(reflexives: ScoredItems, model: str) -> None:
    accuracies = reflexives.summary.set_index(["model", "modifier", "pronoun"])["accuracy"]
    means = summarise(reflexives.items, by=("model", "modifier"))
    mean_of = means.set_index(["model", "modifier"])["accuracy"]
    pronouns = ("herself", "himself", "themselves")
    for modifier, expected in zip(
        ("relative_clause", "prepositional_phrase"), REFLEXIVES[model], strict=True
    ):
        found = [accuracies[model, modifier, pronoun] for pronoun in pronouns]
        found.append(mean_of[model, modifier])
        assert tuple(round(value, 3) for value in found) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("lstm_outputs/trial1", RunName(run="lstm_outputs/trial1", model="lstm", seed=1)),
        ("rnng", RunName(run="rnng", model="rnng")),
        ("lstm_seed-12", RunName(run="lstm_seed-12", model="lstm", seed=12)),
        ("gpt2", RunName(run="gpt2", model="gpt2")),
        ("ctb/lstm/seed3", RunName(run="ctb/lstm/seed3", model="ctb/lstm", seed=3)),
        ("trial2", RunName(run="trial2", model="surprisals", seed=2)),
        ("", RunName(run="surprisals", model="surprisals")),
    ],
)
def test_folders_name_runs(path: str, expected: RunName) -> None:
    root = Path("/data/surprisals")
    assert run_name(root / path, root) == expected


def _write_own(path: Path, suite: Suite, nouns: Sequence[float], *, run: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["# bits", "run\tsentence_id\tword_id\tword\tseen\tsurprisal_bits"]
    for number, words in enumerate(suite.sentences, start=1):
        values = (1.0, 2.0, nouns[number - 1], 3.0)
        for place, (word, value) in enumerate(zip(words, values, strict=True), start=1):
            lines.append(f"{run}\t{number}\t{place}\t{word}\t{int(word != '猫2')}\t{value}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_tables_of_our_own_layout(tmp_path: Path) -> None:
    suite, other = cats_suite(items=2, name="zh/cats"), cats_suite(items=1, name="dogs")
    _write_own(tmp_path / "lstm" / "seed1" / "zh_cats.tsv", suite, [1, 2, 4, 3])
    _write_own(tmp_path / "lstm" / "seed2" / "zh" / "cats.tsv", suite, [1, 2, 4, 4])
    _write_own(tmp_path / "dogs.tsv", other, [1, math.inf], run="rnng_seed0")
    items = rescore_suites([suite, other], tmp_path).items
    found = items[["model", "seed", "suite", "item", "outcome", "unknown"]].values.tolist()
    assert sorted(found) == [
        ["lstm", 1, "zh/cats", 1, 1.0, 0],
        ["lstm", 1, "zh/cats", 2, 0.0, 1],
        ["lstm", 2, "zh/cats", 1, 1.0, 0],
        ["lstm", 2, "zh/cats", 2, 0.5, 1],
        ["rnng", 0, "dogs", 1, 1.0, 0],
    ]


def test_surprisals_come_along_word_by_word(tmp_path: Path) -> None:
    suite = cats_suite(items=2, name="cats")
    _write_own(tmp_path / "lstm_seed1" / "cats.tsv", suite, [1, 2, 4, 3])
    rescored = rescore_suites([suite], tmp_path)
    table = rescored.surprisals
    assert rescored.critical == {"cats": suite.critical}
    assert len(table) == sum(len(words) for words in suite.sentences)
    assert set(table["model"]) == {"lstm"} and (table["seed"] == 1).all()
    for (item, condition, variant), rows in table.groupby(["item", "condition", "variant"]):
        (expected,) = suite.items[item - 1].of_condition(condition)
        assert variant == 1
        assert tuple(rows["word"]) == expected.words
        assert rows["word_id"].tolist() == list(range(1, len(expected.words) + 1))
        regions = zip(suite.regions, expected.regions, strict=True)
        assert rows["region"].tolist() == [name for name, words in regions for _ in words]
        noun = [1, 2, 4, 3][suite.sentences.index(expected.words)]
        assert rows["surprisal_bits"].tolist() == [1.0, 2.0, noun, 3.0]
        assert rows["seen"].tolist() == [word != "猫2" for word in expected.words]


def test_published_surprisals_fit_the_published_outcomes(mandarin: Rescored) -> None:
    """The differences of the outcomes, summed anew from the words of the critical region."""
    table = mandarin.surprisals
    assert len(mandarin.critical) == 24
    target = table[(table["region"] == "target") & (table["suite"] == "mandarin/verb_noun/none")]
    sums = target.groupby(["run", "item", "condition"])["surprisal_bits"].sum().unstack()
    items = mandarin.items
    chosen = items[items["suite"] == "mandarin/verb_noun/none"].set_index(["run", "item"])
    expected = (sums["incompatible"] - sums["compatible"]).loc[chosen.index]
    assert chosen["difference_bits"].to_numpy() == pytest.approx(expected.to_numpy())


def test_tables_of_other_sentences_are_refused(tmp_path: Path) -> None:
    suite = cats_suite(items=2, name="cats")
    path = tmp_path / "cats.tsv"
    _write_own(path, suite, [1, 2, 3, 4])
    path.write_text(path.read_text(encoding="utf-8").replace("本", "条"), encoding="utf-8")
    with pytest.raises(InputError, match="2 sentences differ from those of suite cats"):
        rescore_suites([suite], tmp_path)
    with pytest.raises(InputError, match="contains no surprisals for these suites"):
        rescore_suites([cats_suite(name="dogs")], tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        rescore_suites([suite], tmp_path / "absent")


def test_a_coin_may_decide_ties(tmp_path: Path) -> None:
    suite = cats_suite(items=2, name="cats")
    _write_own(tmp_path / "cats.tsv", suite, [1, 1, 2, 2])
    items = rescore_suites([suite], tmp_path, ties="coin", seed=1).items
    assert set(items["outcome"]) <= {0.0, 1.0} and items["tie"].all()
