"""``evaluate.py task=rescore`` from the command line, on published surprisals."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.eval.published.test_rescoring import CLASSES, MANDARIN, REFLEXIVES
from tests.integration.commands import call


def _rescore(output: Path, suite: str, *arguments: str) -> int:
    return call("evaluate.py", "task=rescore", f"suite={suite}", f"output={output}", *arguments)


def test_the_published_mandarin_rows(
    reference_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The four neural rows, to the third decimal, on the terminal and in the tables."""
    folder = reference_data / "published" / "mandarin"
    given = (f"materials={folder / 'suites'}", f"surprisals={folder / 'surprisals'}")
    assert _rescore(tmp_path, "mandarin", *given, "task.report=false") == 0
    shown = capsys.readouterr().out
    folder = tmp_path / "mandarin_rescored"
    summary = pd.read_csv(folder / "summary.csv", keep_default_na=False)
    found = summary.groupby(["model", "class"])["accuracy"].mean()
    for model, expected in MANDARIN.items():
        assert tuple(round(found[model, name], 3) for name in CLASSES) == expected
        assert all(f"{value:.3f}" in shown for value in expected)
    items = pd.read_csv(folder / "items.csv", keep_default_na=False, low_memory=False)
    assert set(items["model"]) == {*MANDARIN, "ngram"}


def test_the_published_reflexives(reference_data: Path, tmp_path: Path) -> None:
    folder = reference_data / "published" / "reflexives"
    given = (f"materials={folder / 'stimuli'}", f"surprisals={folder / 'surprisal'}")
    assert _rescore(tmp_path, "reflexives", *given, "task.report=false") == 0
    summary = pd.read_csv(tmp_path / "reflexives_rescored" / "summary.csv")
    found = summary.set_index(["model", "modifier", "pronoun"])
    pronouns = ("herself", "himself", "themselves")
    for model, rows in REFLEXIVES.items():
        for modifier, row in zip(("relative_clause", "prepositional_phrase"), rows, strict=True):
            accuracies = [found.loc[(model, modifier, one), "accuracy"] for one in pronouns]
            assert tuple(round(value, 3) for value in accuracies) == row[:3]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((), ("1 mistake", "surprisals is missing: the folder with one folder per model")),
        (("surprisals={folder}/absent",), ("absent: is not a folder",)),
        (("surprisals={folder}",), ("contains no surprisals", "tables such as")),
        (
            ("surprisals={folder}", "task.ties=toss", "task.tie_seed=x"),
            ("2 mistakes", "task.ties=toss: valid: expectation, coin", "task.tie_seed=x"),
        ),
    ],
)
def test_errors_with_remedies(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    parts: tuple[str, ...],
) -> None:
    given = [argument.format(folder=tmp_path) for argument in arguments]
    assert _rescore(tmp_path / "out", "toy_english", *given) == 2
    shown = capsys.readouterr().err
    assert all(part in shown for part in parts)
    assert list(tmp_path.iterdir()) == []
