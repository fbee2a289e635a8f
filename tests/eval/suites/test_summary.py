"""Flip and island contrast in the summary, against the functions that define them."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from gardenpath.eval.suites.effects import (
    LICENSING,
    WH_GAP,
    WH_NO_GAP,
    ItemEffect,
    WhEffects,
    criterion,
    flip_rate,
)
from gardenpath.eval.suites.outcomes import ItemOutcome
from gardenpath.eval.suites.regions import variant_rows
from gardenpath.eval.suites.summary import (
    CRITERIA,
    RunName,
    ScoredItems,
    effects_frame,
    items_frame,
    with_criteria,
    word_rows,
)
from gardenpath.store.tables import (
    EFFECTS,
    ITEMS,
    SUMMARY,
    SUMMARY_KEYS,
    SURPRISALS,
    read_table,
    write_table,
)
from tests.eval.suites.suite_samples import cats_suite, score_suite, surprisals_of

ONE = RunName(run="lstm-1", model="lstm", corpus="toy", seed=1)
TWO = RunName(run="lstm-2", model="lstm", corpus="toy", seed=2)
EXACT = RunName(run="exact", model="exact grammar")

# Both effects of some items, and their labels.
Items = Sequence[tuple[tuple[float, float], dict[str, str]]]


def _effects(items: Items, modifier: str = "cleft") -> list[ItemEffect]:
    return [
        ItemEffect(f"filler_gap/{modifier}", "filler_gap", modifier, number, labels, name, value)
        for number, ((gap, nogap), labels) in enumerate(items, start=1)
        for name, value in ((WH_GAP, gap), (WH_NO_GAP, nogap), (LICENSING, nogap + gap))
    ]


def _summary(effects: pd.DataFrame) -> pd.DataFrame:
    """A row for each group, as the summary of accuracies has it."""
    rows = effects[list(SUMMARY_KEYS)].drop_duplicates(ignore_index=True)
    return rows.assign(accuracy=0.5)


def _criteria(*measured: tuple[RunName, list[ItemEffect]]) -> pd.DataFrame:
    effects = effects_frame(measured)
    return with_criteria(_summary(effects), effects, SUMMARY_KEYS)


def _outside(*values: tuple[float, float], depth: str = "1") -> Items:
    return [(pair, {"island": "no", "depth": depth}) for pair in values]


def _inside(*values: tuple[float, float], depth: str = "1") -> Items:
    return [(pair, {"island": "yes", "depth": depth}) for pair in values]


def test_each_row_has_the_criteria_of_its_items() -> None:
    dice = np.random.default_rng(0)
    near = [(float(a), float(b)) for a, b in dice.normal((3, 3), 1, (12, 2))]
    far = [(float(a), float(b)) for a, b in dice.normal((0.2, 0.2), 1, (12, 2))]
    learnt = _effects([*_outside(*near), *_inside(*far)])
    not_learnt = _effects([*_outside(*far), *_inside(*near)], "tough")
    found = _criteria((ONE, [*learnt, *not_learnt])).set_index("modifier")
    for name, outside, inside in (("cleft", near, far), ("tough", far, near)):
        one = [WhEffects(*pair) for pair in outside]
        other = [WhEffects(*pair) for pair in inside]
        assert found.loc[name, "flip_rate"] == pytest.approx(flip_rate(one))
        assert found.loc[name, "flip"] == criterion(one).is_met
        assert found.loc[name, "island_contrast"] == criterion(one, other).is_met
    assert found["flip"].tolist() == [True, False]
    assert found["island_contrast"].tolist() == [True, False]


def test_items_are_averaged_over_runs_and_rates_are_means_of_runs() -> None:
    first = _effects(_outside(*[(5.0, 5.0)] * 6))
    second = _effects(_outside(*[(-1.0, 1.0)] * 3, *[(1.0, 1.0)] * 3))
    found = _criteria((ONE, first), (TWO, second)).iloc[0]
    assert found["flip_rate"] == pytest.approx((1 + 0.5) / 2)
    # (5 - 1) / 2 and (5 + 1) / 2 are above 0, whichever items are drawn.
    assert bool(found["flip"])
    assert pd.isna(found["island_contrast"])


def test_island_contrast_compares_items_of_the_same_depth() -> None:
    """Without an embedding effects are stronger, but that is not the islands' doing."""
    deep = [*_outside((1.0, 1.0), (1.0, 1.0)), *_inside((1.0, 1.0), (1.0, 1.0))]
    shallow = _outside(*[(9.0, 9.0)] * 8, depth="0")
    found = _criteria((ONE, _effects([*deep, *shallow]))).iloc[0]
    assert bool(found["flip"]) and not bool(found["island_contrast"])
    assert not pd.isna(found["island_contrast"])


def test_islands_alone_and_unlabelled_items_have_no_criteria() -> None:
    inside = _effects(_inside((1.0, 1.0), (1.0, 1.0)), "adjunct")
    outside = _effects(_outside((1.0, 1.0), (1.0, 1.0)), "object")
    unlabelled = _effects([((1.0, 1.0), {})], "discharge")
    found = _criteria((ONE, [*inside, *outside, *unlabelled])).set_index("modifier")
    assert found.loc[["adjunct", "discharge"], list(CRITERIA)].isna().all(axis=None)
    assert found.loc["object", "flip_rate"] == 1.0 and pd.isna(
        found.loc["object", "island_contrast"]
    )
    for effects in (inside, unlabelled):
        assert not set(CRITERIA) & set(_criteria((ONE, effects)).columns)


def test_infinite_effects_have_signs_but_no_interval() -> None:
    certain = _effects([*_outside(*[(math.inf, math.inf)] * 3), *_inside((0.0, 0.0))])
    found = _criteria((EXACT, certain)).iloc[0]
    assert found["flip_rate"] == 1.0
    assert pd.isna(found["flip"]) and pd.isna(found["island_contrast"])


def test_the_file_has_them_and_rows_without_stay(tmp_path: Path) -> None:
    outcomes = [
        ItemOutcome("filler_gap/cleft", "filler_gap", "cleft", 1, {}, "gap", 1.0, False, 1.0),
        ItemOutcome("s", "reflexives", "rc", 1, {"pronoun": "herself"}, "p", 0.0, False, 1.0),
    ]
    effects = effects_frame([(ONE, _effects(_outside(*[(1.0, 2.0)] * 4)))])
    items = items_frame([(ONE, outcomes)])
    results = ScoredItems(items=items, effects=effects, min_items=1)
    results.write(tmp_path)
    written = pd.read_csv(tmp_path / "summary.csv", keep_default_na=False, dtype=str)
    assert list(written.columns)[-3:] == list(CRITERIA)
    assert written["class"].tolist() == ["filler_gap", "reflexives"]
    assert written[list(CRITERIA)].to_numpy().tolist() == [["1.0", "TRUE", ""], ["", "", ""]]
    assert list(written.columns)[:-3] == list(results.summary.columns)
    assert written["accuracy"].tolist() == ["1.0", "0.0"]


# ----------------------------------------------------------------------------
# Tables of results: their columns, their files, and what the terminal shows.


LSTM = RunName(run="lstm-1", model="lstm", corpus="toy", seed=1)


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
    values = variant_rows(suite, surprisals_of(suite, [(4, 7)]))
    frame = SURPRISALS.frame(list(word_rows(LSTM, suite, values, unknown={"猫1"})))
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
