"""``task=suite`` and ``gp.evaluate`` on published minimal pairs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

import gardenpath as gp
from gardenpath.data.arrays import Floats
from gardenpath.errors import ConfigError, GardenpathError
from gardenpath.eval.suites.pairs import PAIR_SETS, MissingPairsError, PairSource
from gardenpath.eval.suites.suite import SuiteError
from gardenpath.runs.evaluation import pairs_for
from gardenpath.runs.scoring import measured_run, measured_scorer
from gardenpath.settings.compose import load_settings
from gardenpath.store.manifest import read_results_manifest
from gardenpath.store.tables import AGGREGATE, read_table
from tests.eval.suites.suite_samples import MANDARIN, Paradigms, write_set
from tests.toy_runs import evaluate, run_of

# Words that the toy corpus has.
PAIRS: Paradigms = {
    "adverb": ("order", [("The king smiles.", "King the smiles."), ("The kings smile.", "smile.")]),
    "number": ("agreement", [("The king smiles.", "The king smile."), ("Kings.", "Smiles.")]),
}


class Letters:
    """A made-up model: a word costs as many nats as it has letters."""

    name = "letters"
    language: str | None = None

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        return [np.array([-float(len(word)) for word in words] + [0.0]) for words in sentences]


class Reader(Letters):
    """One that reads text."""

    name = "reader"
    reads_text = True

    def token_count(self, words: Sequence[str]) -> int:
        return 2 * len(words)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set that is complete with two paradigms of two pairs."""
    which = replace(PAIR_SETS["blimp"], paradigms=2, pairs=2)
    monkeypatch.setitem(PAIR_SETS, "blimp", which)


def test_the_command_writes_and_prints_the_official_averages(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], small: None
) -> None:
    root = write_set(tmp_path / "data", "blimp", PAIRS)
    evaluate(
        folder, tmp_path / "out", "suite=blimp", f"suite.root={root}", "task.report=false",
        "task.allow_unknown=true", model="lstm",
    )  # fmt: skip
    table = read_table(tmp_path / "out" / "blimp" / "aggregate.csv", AGGREGATE)
    assert set(table["set"]) == {"blimp"} and set(table["words"]) == {"as in treebanks"}
    assert set(table[table["official"]]["score"]) == {"log_prob"}
    items = pd.read_csv(tmp_path / "out" / "blimp" / "items.csv")
    of_items = items.groupby("paradigm")["outcome"].mean()
    rows = table[(table["score"] == "log_prob") & (table["level"] == "paradigm")]
    assert rows.set_index("name")["accuracy_ties_half"].to_dict() == of_items.to_dict()
    printed = " ".join(capsys.readouterr().out.split())
    assert "BLiMP: accuracy" in printed and "mean over paradigms" in printed
    assert "all pairs, as in Warstadt et al. 2020" in printed
    about = read_results_manifest(tmp_path / "out" / "blimp").about
    assert about["words"] == {"blimp": "as in treebanks"}
    assert about["settings"]["suite"]["root"] == str(root)


def test_runs_of_words_need_a_named_segmenter(folder: Path, tmp_path: Path) -> None:
    root = write_set(tmp_path / "ZhoBLiMP", "zhoblimp", MANDARIN)
    given = ("suite=zhoblimp", f"suite.root={root}", "task.report=false")
    with pytest.raises(SuiteError, match=r"name a segmenter, suite\.segmenter=jieba"):
        evaluate(folder, tmp_path / "out", *given, model="lstm")
    with pytest.raises(MissingPairsError, match="sjtu-compling/ZhoBLiMP"):
        evaluate(folder, tmp_path / "out", given[0], "task.report=false", model="lstm")
    with pytest.raises(GardenpathError, match="the suites are in zh"):
        evaluate(folder, tmp_path / "out", *given, "suite.segmenter=jieba", model="lstm")


def test_models_that_read_text_get_characters() -> None:
    source = PairSource(root="x")
    assert pairs_for([Reader()], source) == PairSource(root="x", segmenter="characters")
    assert pairs_for([Reader(), Letters()], source) == source
    assert pairs_for([], source) == source
    named = PairSource(root="x", segmenter="jieba")
    assert pairs_for([Reader()], named) == named
    english = Letters()
    english.language = "en"
    assert pairs_for([Reader(), english], source).segmenter == "characters"
    assert pairs_for([english], source) == source


def test_results_of_mandarin_say_what_its_words_are(tmp_path: Path) -> None:
    root = write_set(tmp_path / "ZhoBLiMP", "zhoblimp", MANDARIN)
    suites = gp.suites("zhoblimp", root=root, segmenter="jieba")
    results = gp.evaluate([Letters(), Reader()], suites)
    page = results.report(tmp_path / "out").read_text(encoding="utf-8")
    version = results.aggregate["words"].unique().tolist()
    assert len(version) == 1 and version[0].startswith("jieba 0.")
    assert f"words of zhoblimp</dt><dd>{version[0]}" in page
    assert "ZhoBLiMP (Liu et al. 2024)" in page and "not comparable with Liu et al. 2024" in page
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["about"]["words"] == {"zhoblimp": version[0]}
    # All sentences have as many characters as their partners: only ties, which are wrong.
    rows = results.aggregate[results.aggregate["score"] == "log_prob"]
    assert (rows["accuracy"] == 0.0).all() and (rows["accuracy_ties_half"] == 0.5).all()


def test_suites_of_the_api_and_of_the_command_are_the_same(tmp_path: Path) -> None:
    root = write_set(tmp_path / "data", "blimp", PAIRS)
    assert [suite.name for suite in gp.suites("blimp", root=str(root))] == [
        "blimp/adverb", "blimp/number"
    ]  # fmt: skip
    assert len(gp.suites("blimp/number", "reflexives/toy", root=root)) == 2
    with pytest.raises(MissingPairsError):
        gp.suites("blimp")


def test_other_suites_have_no_table_of_it(tmp_path: Path) -> None:
    results = gp.evaluate(Letters(), gp.suites("reflexives/toy"))
    assert len(results.aggregate) == 0 and len(results.accuracy_tables()) == 1
    assert not (results.write(tmp_path / "out") / "aggregate.csv").exists()


def test_numbers_of_tokens(folder: Path) -> None:
    words = ("The", "king")
    assert measured_scorer(Letters(), [words]).tokens(words) == 2
    assert measured_scorer(Reader(), [words]).tokens(words) == 4
    run = run_of(folder, "ngram")
    assert measured_run(run, [words]).tokens(words) == 2
    run.trained.subwords = Mock(split=lambda word: list(word), content_hash="letters")
    assert measured_run(run, []).tokens(words) == 7


@pytest.mark.parametrize(
    ("settings", "mistake"),
    [
        (("suite=reflexives", "suite.root=x"), "root is only used by published minimal pairs"),
        (("suite=mandarin", "suite.segmenter=jieba"), "segmenter is only used by published"),
        (("suite=climp", "suite.segmenter=jeiba"), "'jeiba' is unknown; did you mean 'jieba'"),
    ],
)
def test_settings_without_effect_are_mistakes(settings: Sequence[str], mistake: str) -> None:
    with pytest.raises(ConfigError, match=mistake):
        load_settings("evaluate", [*settings, "task=suite", "run=runs"])
