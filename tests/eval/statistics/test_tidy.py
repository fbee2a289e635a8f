"""Tests of ranks of runs, comparisons, and rows that analyses derive."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gardenpath.errors import StatisticsError
from gardenpath.eval.statistics.analysis import make_analysis
from gardenpath.eval.statistics.tidy import tidy, with_comparisons, with_run_ranks
from tests.eval.statistics.tables import item_table


def _runs(*runs: tuple[str, str, int | None]) -> pd.DataFrame:
    rows = [
        {"run": f"{number} {model}", "model": model, "corpus": corpus, "seed": seed, "item": item}
        for number, (model, corpus, seed) in enumerate(runs)
        for item in (1, 2)
    ]
    return pd.DataFrame(rows).astype({"seed": "Int64"})


def test_seeds_are_ranks_within_model_and_corpus() -> None:
    table = _runs(
        *(
            ("lstm", "a", 12),
            ("lstm", "a", 3),
            ("lstm", "b", 7),
            ("rnng", "a", 0),
            ("rnng", "a", 2),
        ),
        *(("ngram", "a", None), ("plm", "a", None), ("plm", "a", None)),
    )
    found = with_run_ranks(table).groupby("run", sort=True)["seed"].agg(["min", "max"])
    assert found["min"].tolist() == found["max"].tolist() == [2, 1, 1, 1, 2, 1, 1, 2]
    # The rank does not depend on which suites a run was scored on.
    part = with_run_ranks(table)[lambda rows: rows["item"] == 2]
    assert part["seed"].tolist() == found["min"].tolist()


def test_without_runs_seeds_are_ranked_themselves() -> None:
    table = _runs(("lstm", "a", 12), ("lstm", "a", 3)).drop(columns="run")
    assert with_run_ranks(table)["seed"].tolist() == [2, 2, 1, 1]
    assert "seed" not in with_run_ranks(table.drop(columns="seed"))


def test_comparisons_are_items_unless_a_suite_has_several_predictions() -> None:
    one = item_table({"lstm": 0.5}, modifiers=("none",), seeds=(1,), items=2)
    two = pd.concat([one, one.assign(prediction="q")]).assign(**{"class": "c", "suite": "s"})
    table = with_comparisons(pd.concat([one, two], ignore_index=True))
    assert table["comparison"].tolist() == ["0", "1", "0 p", "1 p", "0 q", "1 q"]
    assert with_comparisons(one.drop(columns="prediction"))["comparison"].tolist() == ["0", "1"]
    assert "comparison" not in with_comparisons(pd.DataFrame({"x": [1]}))


TABLE = pd.DataFrame(
    {
        "model": ["lstm", "rnng", "rnng", "plm"],
        "corpus": ["CTB 9", "ctb_xinhua", "ctb", "ctb"],
        "item": [1, 1, 2, 2],
        "y": [1.0, 2.0, 3.0, np.inf],
    }
)


def _tidy(**settings: object) -> tuple[pd.DataFrame, list[str]]:
    common = {"title": "t", "test": "means", "response": "y"}
    found = tidy(make_analysis({**common, **settings}, name="a"), TABLE)
    return found.rows, found.notes


def test_values_of_several_columns_are_looked_up_together_and_the_first_match_counts() -> None:
    values = {"*/*xinhua*": None, "rnng/ctb*": 1, "lstm/ctb*": 0}
    rows, notes = _tidy(derive={"x": {"from": ["model", "corpus"], "values": values}})
    assert rows["x"].tolist() == [0.0, 1.0] and rows["y"].tolist() == [1.0, 3.0]
    assert notes == ["rows with model and corpus rnng/ctb_xinhua, plm/ctb were left out: no x"]


def test_rows_without_an_entry_may_keep_another_value() -> None:
    rule = {"from": ["model", "item"], "values": {"rnng/2": "other"}, "otherwise": "model"}
    rows, notes = _tidy(derive={"x": rule})
    assert rows["x"].tolist() == ["lstm", "rnng", "other"]
    assert notes == ["1 rows without a finite y were left out"]


def test_what_no_row_has_is_said() -> None:
    with pytest.raises(StatisticsError, match=r"^no row has model gru \(it has lstm, rnng, plm\)$"):
        _tidy(where={"model": ["gru"]})
    with pytest.raises(StatisticsError, match=r"^no row has corpus xinhua \(it has ctb\)$"):
        _tidy(where={"model": ["plm"]}, derive={"x": {"from": "corpus", "values": {"xinhua": 1}}})
    with pytest.raises(StatisticsError, match=r"^the table has no column depth$"):
        _tidy(where={"depth": ["0"]})
    rows, _ = _tidy(where={"depth": ["0", ""]})
    assert len(rows) == 3


def test_contrasts_repeat_the_rows_of_each_pair() -> None:
    pairs = [["lstm", "rnng"], ["rnng", "plm"]]
    rows, _ = _tidy(contrasts={"x": {"from": "model", "pairs": pairs}})
    first = rows[rows["contrast"] == "lstm → rnng"]
    assert first["x"].tolist() == [-0.5, 0.5, 0.5]
    assert rows[rows["contrast"] == "rnng → plm"]["x"].tolist() == [-0.5, -0.5]


def test_each_response_has_its_own_rows() -> None:
    table = TABLE.assign(z=[4.0, 5.0, 6.0, 7.0])
    analysis = make_analysis({"title": "t", "test": "means", "responses": ["y", "z"]}, name="a")
    rows = tidy(analysis, table).rows
    assert rows.groupby("metric")["value"].apply(list).to_dict() == {
        "y": [1.0, 2.0, 3.0],
        "z": [4.0, 5.0, 6.0, 7.0],
    }
    assert analysis.parts_by == ("metric",)
