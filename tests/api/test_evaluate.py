"""``gp.evaluate``, ``gp.score``, ``gp.study`` and ``gp.suites``: the numbers of evaluate.py."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gardenpath as gp
from gardenpath.eval.report.content import ReportContent
from gardenpath.eval.report.explorer import opening
from gardenpath.eval.suites.library import export, load_suites, suite_names
from gardenpath.eval.suites.outcomes import TieRule
from gardenpath.settings.compose import load_settings
from tests.integration.commands import call
from tests.runs.own_suite import Uniform, agreement
from tests.toy_runs import NARROW_SEARCH, arguments, run_of

TABLES = ("items.csv", "effects.csv", "surprisals.tsv", "summary.csv", "sentences.csv",
          "word_pairs.csv")  # fmt: skip


@pytest.fixture(scope="module")
def suites() -> list[gp.Suite]:
    """Two items of each of two small suites."""
    return [replace(one, items=one.items[:2]) for one in gp.suites("reflexives/toy", "islands/toy")]


@pytest.mark.slow
def test_results_are_those_of_the_command_line(folder: Path, tmp_path: Path) -> None:
    """Every table, digit for digit."""
    chosen = ("suite=toy_english", "suite.items=2", "task.report=false",
              f"paths.surprisals={tmp_path / 'other.sqlite'}")  # fmt: skip
    assert call("evaluate.py", *arguments(folder, tmp_path, *chosen)) == 0
    runs = gp.find(folder / "runs", search=NARROW_SEARCH)
    results = gp.evaluate(
        runs, gp.suites("toy_english"), title="toy_english", in_vocabulary=True, items=2
    )
    results.write(tmp_path / "mine")
    for name in TABLES:
        mine, theirs = (tmp_path / one / name for one in ("mine", "toy_english"))
        assert mine.read_text(encoding="utf-8") == theirs.read_text(encoding="utf-8"), name
    assert set(results.items["model"]) == {"lstm", "ngram", "plm", "rnng", "exact grammar"}


def test_one_run_and_one_suite(folder: Path, suites: list[gp.Suite]) -> None:
    results = gp.evaluate(run_of(folder, "ngram"), suites[0])
    assert isinstance(results, gp.Results)
    assert set(results.items["model"]) == {"ngram"}
    assert set(results.items["suite"]) == {"reflexives/toy"}
    assert len(results.surprisals) == sum(
        len(variant.words) for item in suites[0].items for variant in item.variants
    )
    again = gp.evaluate([run_of(folder, "ngram")], [suites[0]])
    pd.testing.assert_frame_equal(results.items, again.items)


def test_surprisals_are_those_of_the_run(folder: Path, suites: list[gp.Suite]) -> None:
    """Every word of the table, against the model asked by itself."""
    run = run_of(folder, "rnng")
    table = gp.evaluate(run, suites).surprisals
    keys = ["suite", "item", "condition", "variant"]
    groups = [group for _, group in table.groupby(keys, sort=False)]
    alone = run.surprisal([group["word"].tolist() for group in groups], end=False)
    found = [value for group in groups for value in group["surprisal_bits"]]
    assert found == pytest.approx(alone["surprisal_bits"].tolist(), abs=1e-6)


def test_anybody_s_model(suites: list[gp.Suite]) -> None:
    results = gp.evaluate(Uniform(), suites)
    assert results.surprisals["surprisal_bits"].tolist() == pytest.approx(
        [10.0] * len(results.surprisals)
    )
    # Sentences of one length are equally probable: ties, which count as chance.
    assert set(results.summary["model"]) == {"uniform"} and results.items["tie"].any()
    assert results.summary["seeds"].tolist() == [1] * len(results.summary)


def test_runs_and_other_models_together(folder: Path, suites: list[gp.Suite]) -> None:
    runs = gp.find(folder / "runs", search=NARROW_SEARCH)
    results = gp.evaluate([*runs, Uniform()], suites)
    assert list(dict.fromkeys(results.items["model"])) == [
        "lstm", "ngram", "plm", "rnng", "uniform",
    ]  # fmt: skip
    alone = gp.evaluate(runs, suites).items
    pd.testing.assert_frame_equal(results.items.iloc[: len(alone)], alone)


def test_a_model_that_knows_the_grammar_is_right(folder: Path) -> None:
    """Bring your own model: the grammar of the toy corpus, from outside."""

    class Grammar:
        name = "grammar"

        def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
            from gardenpath.data.pcfg.exact import ExactModel

            reader: Any = run_of(folder, "ngram").data.reader
            found = ExactModel(reader.rules).word_log_probs(sentences)
            return [np.nan_to_num(one, nan=-math.inf, neginf=-math.inf) for one in found]

    few = [replace(one, items=one.items[::6]) for one in gp.suites("reflexives/toy")]
    assert (gp.evaluate(Grammar(), few).items["outcome"] == 1.0).all()


def test_unknown_words_are_listed_and_items_with_them_may_be_left_out(folder: Path) -> None:
    run = run_of(folder, "ngram")
    results = gp.evaluate(run, agreement())
    assert results.items["unknown_words"].tolist() == ["", "wugs"]
    known = gp.evaluate(run, agreement(), in_vocabulary=True)
    assert set(known.items["item"]) == {1}
    assert set(known.items["model"]) == {"ngram", "exact grammar"}
    with pytest.raises(gp.GardenpathError, match="only words that all models know"):
        gp.evaluate(run, replace(agreement(), items=agreement().items[1:]), in_vocabulary=True)


def test_models_are_told_apart_by_their_names(folder: Path, suites: list[gp.Suite]) -> None:
    both = gp.evaluate([Uniform("one"), Uniform("two")], suites)
    assert set(both.items["run"]) == {"one", "two"}
    for twice in ([Uniform(), Uniform()], [run_of(folder, "ngram"), run_of(folder, "ngram")]):
        with pytest.raises(gp.GardenpathError, match="2 models have this name"):
            gp.evaluate(twice, suites)


def test_models_of_other_languages_are_left_out(suites: list[gp.Suite]) -> None:
    chinese, any_language = Uniform("zh"), Uniform("any")
    chinese.language = "zh"
    any_language.language = None  # type: ignore[assignment]
    results = gp.evaluate([chinese, any_language, Uniform()], suites)
    assert set(results.items["run"]) == {"any", "uniform"}
    with pytest.raises(gp.GardenpathError, match="suites are in en, but all models are in zh"):
        gp.evaluate(chinese, suites)


@pytest.mark.parametrize(
    ("subjects", "chosen", "error", "problem"),
    [
        ([], "suites", gp.GardenpathError, "no models given"),
        (Uniform(), "none", gp.GardenpathError, "no suites are given"),
        (Uniform(), "name", TypeError, "give suites, as gp.suites"),
    ],
)
def test_mistakes_are_explained(
    suites: list[gp.Suite], subjects: Any, chosen: str, error: type[Exception], problem: str
) -> None:
    asked: Any = {"suites": suites, "none": [], "name": "reflexives"}[chosen]
    with pytest.raises(error, match=problem):
        gp.evaluate(subjects, asked)


def test_ties_by_a_seeded_coin(suites: list[gp.Suite]) -> None:
    tossed = [
        gp.evaluate(Uniform(), suites, ties=rule).items["outcome"].tolist()
        for rule in (TieRule(credit="coin", seed=seed) for seed in (1, 1, 2, 3, 4))
    ]
    assert tossed[0] == tossed[1] and len({tuple(one) for one in tossed}) > 1


def test_partial_parses_are_kept_for_some_items(folder: Path, suites: list[gp.Suite]) -> None:
    plain = gp.evaluate(run_of(folder, "rnng"), suites[0])
    assert plain.tables.parses == {}
    best = opening(ReportContent(title="", items=plain.items, surprisals=plain.tables.surprisals))
    assert best is not None
    # The item on which the report opens comes last, or first.
    for is_last in (True, False):
        order = sorted(suites[0].items, key=lambda one: (one.number == best.item) == is_last)
        suite = replace(suites[0], items=tuple(order))
        results = gp.evaluate(run_of(folder, "rnng"), suite, parsed_items=1)
        parsed = {item for _, _, item, *_ in results.tables.parses}
        assert parsed == {order[0].number, best.item}
        assert len(parsed) == 1 + is_last


@pytest.mark.slow
def test_statistics_and_a_report_with_a_manifest(
    folder: Path, tmp_path: Path, suites: list[gp.Suite]
) -> None:
    runs = [run_of(folder, "ngram"), run_of(folder, "lstm")]
    assert gp.evaluate(runs, suites, title="mine", in_vocabulary=True).statistics().empty
    more = [replace(one, items=one.items[:8]) for one in gp.suites(*(one.name for one in suites))]
    results = gp.evaluate(runs, more, title="mine", in_vocabulary=True, min_items=2)
    statistics = results.statistics()
    assert list(statistics.columns[:1]) == ["question"] and len(statistics) > 0
    assert {"estimate", "low", "high"} <= set(statistics.columns)
    report = results.report(tmp_path / "results")
    assert report == tmp_path / "results" / "report.html" and report.is_file()
    manifest = json.loads((report.parent / "manifest.json").read_text(encoding="utf-8"))
    about = manifest["about"]
    assert about["title"] == "mine" and about["suites"] == [one.name for one in suites]
    assert about["runs"] == {str(run.path): run.folder.fingerprint() for run in runs}
    listed = set(manifest["files"])
    assert {"report.html", *TABLES} <= listed
    files = {
        path.relative_to(report.parent).as_posix()
        for path in report.parent.rglob("*")
        if path.is_file()
    }
    assert files == {*listed, "manifest.json"}


def test_results_replace_results_and_nothing_else(tmp_path: Path, suites: list[gp.Suite]) -> None:
    results = gp.evaluate(Uniform(), suites)
    folder = results.write(tmp_path / "results")
    report = (folder / "report.html").exists()
    assert not report and (folder / "items.csv").is_file()
    gp.evaluate(Uniform("other"), suites[0]).write(folder)
    assert set(pd.read_csv(folder / "items.csv")["model"]) == {"other"}
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(gp.RunError, match=r"notes\.txt"):
        results.write(folder)
    assert set(pd.read_csv(folder / "items.csv")["model"]) == {"other"}


# ----------------------------------------------------------------------------
# ``gp.score``: anybody's surprisals, complete or refused.


# Where two tables of the same surprisals agree.
SAME = ["suite", "item", "prediction", "outcome", "tie", "difference_bits"]


@pytest.fixture(scope="module")
def scored_suites() -> list[gp.Suite]:
    return [replace(one, items=one.items[:3]) for one in gp.suites("reflexives/toy", "islands/toy")]


def _sentences(scored_suites: list[gp.Suite]) -> list[list[str]]:
    return [list(words) for suite in scored_suites for words in suite.sentences]


def _mapping(table: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {}
    for (run, _), rows in table.groupby(["run", "sentence_id"], sort=False):
        found.setdefault(run, {})[" ".join(rows["word"])] = rows["surprisal_bits"].tolist()
    return found


@pytest.mark.parametrize("model", ["ngram", "rnng"])
@pytest.mark.parametrize("end", [True, False])
def test_the_table_of_a_run_scores_as_the_run_itself(
    folder: Path, scored_suites: list[gp.Suite], model: str, end: bool
) -> None:
    run = run_of(folder, model)
    expected = gp.evaluate(run, scored_suites, ties="exact")
    results = gp.score(scored_suites, run.surprisal(_sentences(scored_suites), end=end))
    columns = [name for name in SAME if name != "difference_bits"]
    pd.testing.assert_frame_equal(results.items[columns], expected.items[columns])
    differences = results.items["difference_bits"].tolist()
    assert differences == pytest.approx(expected.items["difference_bits"].tolist(), abs=1e-5)
    assert results.items["run"].unique().tolist() == [str(run.path)]


def test_a_mapping_scores_as_the_table(folder: Path, scored_suites: list[gp.Suite]) -> None:
    runs = gp.find(folder / "runs" / "toy_english", search=NARROW_SEARCH)
    table = runs.surprisal(_sentences(scored_suites), end=False)
    first, second = gp.score(scored_suites, table), gp.score(scored_suites, _mapping(table))
    assert len(set(first.items["run"])) == 4
    pd.testing.assert_frame_equal(first.items[SAME], second.items[SAME])
    pd.testing.assert_frame_equal(
        first.surprisals.drop(columns=["model"]), second.surprisals.drop(columns=["model"])
    )


def test_one_suite_and_models_with_seeds() -> None:
    own = agreement()
    good = {s: [5.0 if word == "was" else 1.0 for word in s] for s in own.sentences}
    bad = {s: [1.0 if word == "was" else 5.0 for word in s] for s in own.sentences}
    rows = [
        {"model": "a", "seed": seed, "sentence_id": number, "word": word, "surprisal_bits": bits}
        for seed, values in ((1, good), (2, bad))
        for number, (words, surprisals) in enumerate(values.items())
        for word, bits in zip(words, surprisals, strict=True)
    ]
    results = gp.score(own, pd.DataFrame(rows))
    assert results.summary[["model", "accuracy", "seeds"]].values.tolist() == [["a", 0.5, 2]]
    outcomes = results.items.groupby("seed")["outcome"].mean()
    assert outcomes.to_dict() == {1: 1.0, 2: 0.0}


def _table(suite: gp.Suite) -> pd.DataFrame:
    rows = [
        {"sentence_id": number, "word_id": place, "word": word, "surprisal_bits": float(place)}
        for number, words in enumerate(suite.sentences, start=1)
        for place, word in enumerate(words, start=1)
    ]
    return pd.DataFrame(rows)


def _is_refused(table: Any, *parts: str) -> None:
    with pytest.raises(gp.GardenpathError, match=".*".join(map(re.escape, parts))):
        gp.score(agreement(), table)


def test_a_missing_sentence_is_named() -> None:
    table = _table(agreement())
    assert len(gp.score(agreement(), table).items) == 2
    _is_refused(table[table["sentence_id"] != 3], "no surprisals for 1 of 4", "'the wugs were")


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("damage", ["missing", "twice", "swapped", "reversed"])
def test_damaged_sentences_never_give_a_number(damage: str, numbered: bool) -> None:
    table = _table(agreement())
    order = {
        "missing": [0, *range(2, len(table))],
        "twice": [0, 1, *range(1, len(table))],
        "swapped": [1, 0, *range(2, len(table))],
        "reversed": [*range(4, -1, -1), *range(5, len(table))],
    }[damage]
    damaged = table.iloc[order]
    if numbered and damage in ("swapped", "reversed"):
        # The numbers tell the order: nothing is lost.
        expected = gp.score(agreement(), table).items
        pd.testing.assert_frame_equal(gp.score(agreement(), damaged).items, expected)
        return
    _is_refused(damaged if numbered else damaged.drop(columns="word_id"), "happy")


def test_contradictions_are_named() -> None:
    table = _table(agreement())
    other = table[table["sentence_id"] == 2].assign(sentence_id=99, surprisal_bits=0.5)
    _is_refused(pd.concat([table, other]), "two different surprisals for 'the boys was happy .'")
    same = table[table["sentence_id"] == 2].assign(sentence_id=99)
    again = gp.score(agreement(), pd.concat([table, same])).items
    pd.testing.assert_frame_equal(again, gp.score(agreement(), table).items)


@pytest.mark.parametrize("count", [0, 4, 7])
def test_wrong_lengths_are_named(count: int) -> None:
    values = {words: [1.0] * 5 for words in agreement().sentences}
    values[agreement().sentences[2]] = [1.0] * count
    _is_refused({"mine": values}, f"mine: {count} surprisals for the 5 words of 'the wugs were")


def test_log_probabilities_are_refused() -> None:
    table = _table(agreement())
    wrong = table.assign(surprisal_bits=-table["surprisal_bits"])
    _is_refused(wrong, "negative surprisals for 'the boys were happy .'")


def test_other_mistakes_are_explained() -> None:
    _is_refused(_table(agreement()).drop(columns="word"), "no column word")
    _is_refused({"mine": [1.0, 2.0]}, "mine: not a mapping")
    with pytest.raises(TypeError, match="DataFrame"):
        gp.score(agreement(), None)
    with pytest.raises(TypeError, match="give suites"):
        gp.score("agreement", _table(agreement()))  # type: ignore[arg-type]


def test_scored_tables_can_be_written_and_reported(tmp_path: Path) -> None:
    results = gp.score(agreement(), _table(agreement()), title="theirs")
    path = results.report(tmp_path / "theirs")
    assert path.is_file() and (path.parent / "items.csv").is_file()
    assert not (path.parent / "word_pairs.csv").exists()


def test_ties(scored_suites: list[gp.Suite]) -> None:
    even = {words: [1.0] * len(words) for words in map(tuple, _sentences(scored_suites))}
    found = gp.score(scored_suites, {"even": even}).items
    expected = gp.evaluate(Uniform(), scored_suites).items
    assert found["tie"].tolist() == expected["tie"].tolist()
    coins = [
        gp.score(scored_suites, {"even": even}, ties=TieRule(credit="coin", seed=seed))
        .items["outcome"]
        .tolist()
        for seed in (1, 1, 2, 3, 4)
    ]
    assert coins[0] == coins[1] and len({tuple(one) for one in coins}) > 1


# ----------------------------------------------------------------------------
# ``gp.study``: published studies from runs, with the numbers of evaluate.py.


def test_tables_are_those_of_the_command_line(folder: Path, tmp_path: Path) -> None:
    """Every table and verdict, digit for digit."""
    chosen = arguments(folder, tmp_path, "study=reflexives", "study.items=2", model="ngram")
    assert call("evaluate.py", *chosen) == 0
    study = gp.study("reflexives", runs=[run_of(folder, "ngram")], items=2)
    report = study.write(tmp_path / "mine")
    theirs = tmp_path / "reflexives_study"
    assert report == tmp_path / "mine" / "report.html" and report.is_file()
    names = sorted(one.relative_to(theirs) for one in theirs.rglob("*.[ct]sv"))
    assert Path("tables/table_3.csv") in names and Path("data/own_runs/items.csv") in names
    for name in names:
        assert (report.parent / name).read_bytes() == (theirs / name).read_bytes(), name
    manifest = json.loads((report.parent / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["about"]["title"] == study.result.title
    assert {"verdict", "reason", "source"} <= set(study.claims.columns)
    known = study.tables["Table 3"].dropna(subset="value")
    assert set(known["source"]) == {"own runs"} and set(known["column"]) == {"ngram"}


def test_the_search_is_named(folder: Path, tmp_path: Path) -> None:
    study = gp.study("reflexives", runs=[run_of(folder, "rnng")], items=1)
    search = study.sources["own runs"].search
    assert search is not None and study.result.facts["search"] == search
    manifest = study.write(tmp_path / "mine").parent / "manifest.json"
    assert json.loads(manifest.read_text(encoding="utf-8"))["about"]["search"] == search


def test_what_a_study_lacks_is_said() -> None:
    with pytest.raises(gp.ConfigError, match="did you mean 'mandarin'"):
        gp.study("mandarn", surprisals="there")
    with pytest.raises(gp.ConfigError, match="needs surprisals and materials, or runs"):
        gp.study("mandarin")


# ----------------------------------------------------------------------------
# ``gp.suites`` and ``gp.read_suite``.


def _names(*patterns: str) -> list[str]:
    return [suite.name for suite in gp.suites(*patterns)]


def test_by_name_by_pattern_and_by_the_beginning_of_names() -> None:
    assert _names("reflexives/toy") == ["reflexives/toy"]
    assert _names("reflexives/toy", "filler_gap/toy") == ["reflexives/toy", "filler_gap/toy"]
    several = _names("*/toy")
    assert several == sorted(name for name in suite_names() if name.endswith("/toy"))
    assert len(_names("mandarin/verb_noun")) > 1
    assert _names("reflexives/toy", "*/toy") == ["reflexives/toy", *(
        name for name in several if name != "reflexives/toy"
    )]  # fmt: skip


@pytest.mark.parametrize("name", ["reflexives", "toy_english", "islands", "wh_discharge"])
def test_sets_have_the_names_of_the_command_line(name: str) -> None:
    chosen = load_settings("evaluate", [f"suite={name}", "task=suite"]).suites.suites
    assert gp.suites(name) == load_suites(chosen) != []


def test_all_of_them() -> None:
    suites = gp.suites()
    assert [suite.name for suite in suites] == suite_names()
    assert all(isinstance(suite, gp.Suite) and suite.items for suite in suites)
    assert isinstance(suites[0].items[0], gp.Item)
    assert isinstance(suites[0].predictions[0].formula, gp.Formula)


@pytest.mark.parametrize("name", ["reflexives/toi", "file", "no/such/suite"])
def test_an_unknown_name_is_an_error(name: str) -> None:
    with pytest.raises(gp.GardenpathError, match=f"unknown suite '{name}'"):
        gp.suites("reflexives/toy", name)


@pytest.mark.parametrize("form", ["compact", "syntaxgym"])
def test_a_suite_from_a_file(tmp_path: Path, form: str) -> None:
    path = export(agreement(), tmp_path, form)  # type: ignore[arg-type]
    for suite in (gp.read_suite(path), gp.read_suite(str(path)), *gp.suites(str(path))):
        assert suite.sentences == agreement().sentences
        assert len(suite.items) == 2 and suite.name == "agreement"


def test_what_is_not_a_file_of_a_suite_is_named(tmp_path: Path) -> None:
    for name in ("mandarin", "reflexives/toy", "notes.txt"):
        with pytest.raises(gp.InputError, match=rf"{name}: is not a file .*\.yaml, .*\.json"):
            gp.read_suite(name)
    with pytest.raises(gp.InputError, match=r"absent\.yaml"):
        gp.read_suite(tmp_path / "absent.yaml")
    (tmp_path / "broken.yaml").write_text("name: [", encoding="utf-8")
    with pytest.raises(gp.GardenpathError, match=r"broken\.yaml"):
        gp.read_suite(tmp_path / "broken.yaml")
