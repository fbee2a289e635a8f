"""``gp.score``: anybody's surprisals, complete or refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import gardenpath as gp
from gardenpath.eval.suites.outcomes import TieRule
from tests.runs.own_suite import Uniform, agreement
from tests.toy_runs import NARROW_SEARCH, run_of

# Where two tables of the same surprisals agree.
SAME = ["suite", "item", "prediction", "outcome", "tie", "difference_bits"]


@pytest.fixture(scope="module")
def suites() -> list[gp.Suite]:
    return [replace(one, items=one.items[:3]) for one in gp.suites("reflexives/toy", "islands/toy")]


def _sentences(suites: list[gp.Suite]) -> list[list[str]]:
    return [list(words) for suite in suites for words in suite.sentences]


def _mapping(table: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {}
    for (run, _), rows in table.groupby(["run", "sentence_id"], sort=False):
        found.setdefault(run, {})[" ".join(rows["word"])] = rows["surprisal_bits"].tolist()
    return found


@pytest.mark.parametrize("model", ["ngram", "rnng"])
@pytest.mark.parametrize("end", [True, False])
def test_the_table_of_a_run_scores_as_the_run_itself(
    folder: Path, suites: list[gp.Suite], model: str, end: bool
) -> None:
    run = run_of(folder, model)
    expected = gp.evaluate(run, suites, ties="exact")
    results = gp.score(suites, run.surprisal(_sentences(suites), end=end))
    columns = [name for name in SAME if name != "difference_bits"]
    pd.testing.assert_frame_equal(results.items[columns], expected.items[columns])
    differences = results.items["difference_bits"].tolist()
    assert differences == pytest.approx(expected.items["difference_bits"].tolist(), abs=1e-5)
    assert results.items["run"].unique().tolist() == [str(run.path)]


def test_a_mapping_scores_as_the_table(folder: Path, suites: list[gp.Suite]) -> None:
    runs = gp.find(folder / "runs" / "toy_english", search=NARROW_SEARCH)
    table = runs.surprisal(_sentences(suites), end=False)
    first, second = gp.score(suites, table), gp.score(suites, _mapping(table))
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


def test_ties(suites: list[gp.Suite]) -> None:
    even = {words: [1.0] * len(words) for words in map(tuple, _sentences(suites))}
    found = gp.score(suites, {"even": even}).items
    expected = gp.evaluate(Uniform(), suites).items
    assert found["tie"].tolist() == expected["tie"].tolist()
    coins = [
        gp.score(suites, {"even": even}, ties=TieRule(credit="coin", seed=seed))
        .items["outcome"]
        .tolist()
        for seed in (1, 1, 2, 3, 4)
    ]
    assert coins[0] == coins[1] and len({tuple(one) for one in coins}) > 1
