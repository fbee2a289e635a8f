"""Tables of results: their columns, their files, and what the terminal shows."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from gardenpath.eval.suites.effects import ItemEffect
from gardenpath.eval.suites.outcomes import ItemOutcome, score_suite
from gardenpath.eval.suites.summary import (
    RunName,
    ScoredItems,
    effects_frame,
    items_frame,
    surprisal_rows,
)
from gardenpath.store.tables import EFFECTS, ITEMS, SUMMARY, SURPRISALS, read_table, write_table
from tests.eval.suites.samples import cats_suite, surprisals_of

LSTM = RunName(run="lstm-1", model="lstm", corpus="toy", seed=1)
EXACT = RunName(run="exact", model="exact grammar")


def _results() -> ScoredItems:
    suite = cats_suite(items=3)
    good = score_suite(suite, surprisals_of(suite, [(1, 2), (1, 2), (3, 3)]), unknown={"猫2"})
    bad = score_suite(suite, surprisals_of(suite, [(1, 2), (3, 2), (3, math.nan)]))
    return ScoredItems(items=items_frame([(LSTM, good), (EXACT, bad)]), notes=("a remark",))


def test_items_have_their_columns_and_labels() -> None:
    items = _results().items
    assert tuple(items.columns) == (*ITEMS.names, "near_tie", "animal")
    assert items["class"].tolist() == ["classifier_noun"] * 6
    assert items["seed"].tolist() == [1, 1, 1, pd.NA, pd.NA, pd.NA]
    assert items["unknown"].tolist() == [0, 1, 0, 0, 0, 0]
    assert items["unknown_words"].tolist() == ["", "猫2", "", "", "", ""]
    assert items["outcome"].tolist()[:5] == [1, 1, 0.5, 1, 0]


def test_a_label_never_hides_a_column() -> None:
    row = ItemOutcome("s", "k", "m", 1, {"model": "x"}, "p", 1.0, False, 1.0)
    items = items_frame([(LSTM, [row])])
    assert items["model"].tolist() == ["lstm"] and items["label_model"].tolist() == ["x"]


def test_files_are_read_back_as_they_were(tmp_path: Path) -> None:
    results = _results()
    results.write(tmp_path / "new" / "folder")
    read = read_table(tmp_path / "new" / "folder" / "items.csv", ITEMS)
    pd.testing.assert_frame_equal(read, results.items)
    summary = read_table(tmp_path / "new" / "folder" / "summary.csv", SUMMARY)
    pd.testing.assert_frame_equal(summary, results.summary)
    assert {*summary.columns} == {*SUMMARY.names, "near_ties", "usable"}
    assert summary["accuracy"].tolist() == pytest.approx([2.5 / 3, 0.5])
    assert summary["ties"].tolist() == [1, 0]
    assert summary["missing"].tolist() == [0, 1]


def test_the_summary_is_broken_down_by_pronoun_where_there_is_one() -> None:
    rows = [
        ItemOutcome("s", "reflexives", "rc", n, {"pronoun": p}, "p", value, False, 1.0)
        for n, (p, value) in enumerate([("herself", 1.0), ("himself", 0.0)])
    ]
    results = ScoredItems(items=items_frame([(LSTM, rows)]))
    assert results.summary["pronoun"].tolist() == ["herself", "himself"]
    assert results.summary["accuracy"].tolist() == [1.0, 0.0]
    assert results.by_class["accuracy"].tolist() == [0.5]


def test_surprisals_word_by_word(tmp_path: Path) -> None:
    suite = cats_suite(items=1)
    frame = surprisal_rows(LSTM, suite, surprisals_of(suite, [(4, 7)]), unknown={"猫1"})
    assert tuple(frame.columns) == SURPRISALS.names
    assert frame["region"].tolist() == ["classifier", "classifier", "noun", "end"] * 2
    assert frame["word_id"].tolist() == [1, 2, 3, 4] * 2
    assert frame["surprisal_bits"].tolist() == [1, 2, 4, 0.5, 1, 2, 7, 0.5]
    assert frame["seen"].tolist() == [True, True, False, True] * 2
    assert frame["variant"].tolist() == [1] * 8
    write_table(tmp_path / "surprisals.tsv", frame)
    lines = (tmp_path / "surprisals.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == list(SURPRISALS.names)
    assert lines[3].split("\t") == [
        "lstm-1", "lstm", "toy", "1", "cats", "1", "match", "1", "noun", "3", "猫1", "FALSE", "4.0",
    ]  # fmt: skip


def test_effects_are_one_row_each() -> None:
    effect = ItemEffect("s", "islands", "object", 4, {"island": "no"}, "wh_effect_gap", -1.5)
    frame = effects_frame([(EXACT, [effect])])
    assert tuple(frame.columns) == (*EFFECTS.names, "near_tie", "island")
    assert frame.iloc[0]["value_bits"] == -1.5
    assert frame["seed"].isna().all()


def test_the_terminal_shows_a_table_for_each_corpus() -> None:
    console = Console(width=120, file=io.StringIO(), record=True)
    tables = _results().tables(title="Accuracy of cats")
    for table in tables:
        console.print(table)
    text = console.export_text()
    assert len(tables) == len(set(_results().items["corpus"]))
    assert "Accuracy of cats" in text and text.count("a remark") == 1
    names = [line.split()[1] for line in text.splitlines() if line.startswith("│")]
    assert {"classifier", "mean", "ties", "missing", "unknown"} <= set(names)
    assert "lstm" in text and "exact grammar" in text
    assert "0.833" in text and "0.500" in text
