"""``task=perplexity``: a table on the terminal, and a file."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gardenpath.eval.display import EXACT
from tests.toy_runs import TEST_SENTENCES, evaluate


def test_only_some_sentences_or_none_are_searched(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(folder, tmp_path, "task=perplexity", "task.marginal_sentences=3", model="rnng")
    with (tmp_path / "perplexity.csv").open(encoding="utf-8", newline="") as file:
        counts = [(row["model"], row["sentences"]) for row in csv.DictReader(file)]
    whole = str(TEST_SENTENCES)
    assert counts == [
        ("rnng (joint)", whole), (EXACT, whole), ("rnng (marginal)", "3"), (EXACT, "3")
    ]  # fmt: skip
    shown = capsys.readouterr().out
    assert "with their gold trees" in shown and "summed over the trees" in shown
    assert "test split" in shown and "perplexity.csv" in shown.replace("\n", "")
    evaluate(folder, tmp_path, "task=perplexity", "task.marginal_sentences=0", model="rnng")
    with (tmp_path / "perplexity.csv").open(encoding="utf-8", newline="") as file:
        assert [row["model"] for row in csv.DictReader(file)] == ["rnng (joint)", EXACT]
    assert "summed over the trees" not in capsys.readouterr().out
