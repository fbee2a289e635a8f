"""``evaluate.py task=rescore`` from the command line, on published surprisals."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.eval.published.released_numbers import CLASSES, MANDARIN, REFLEXIVES
from tests.integration.commands import call


def _rescore(output: Path, suite: str, *arguments: str) -> int:
    return call("evaluate.py", "task=rescore", f"suite={suite}", f"output={output}", *arguments)


@pytest.mark.slow
def test_the_published_mandarin_rows(
    reference_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The neural rows of both corpora, to the third decimal, on the terminal and in the tables."""
    folder = reference_data / "published" / "mandarin"
    given = (f"materials={folder / 'suites'}", f"surprisals={folder}")
    assert _rescore(tmp_path, "mandarin", *given, "task.report=false") == 0
    shown = capsys.readouterr().out
    folder = tmp_path / "mandarin_rescored"
    summary = pd.read_csv(folder / "summary.csv", keep_default_na=False)
    found = summary.groupby(["corpus", "model", "class"])["accuracy"].mean()
    for corpus, models in MANDARIN.items():
        for model, expected in models.items():
            accuracies = [found[corpus, model, name] for name in CLASSES]
            assert accuracies == pytest.approx(expected, abs=0.00051)
            assert all(f"{value:.3f}" in shown for value in accuracies)
    items = pd.read_csv(folder / "items.csv", keep_default_na=False, low_memory=False)
    assert set(items["model"]) == {*MANDARIN["ctb"], "ngram"}
    assert len(json.loads((folder / "receipt.json").read_text("utf-8"))["surprisals"]) == 576


def test_the_published_reflexives(reference_data: Path, tmp_path: Path) -> None:
    folder = reference_data / "published" / "reflexives"
    given = (f"materials=[{folder / 'stimuli'}]", f"surprisals={{ptb: {folder / 'surprisal'}}}")
    assert _rescore(tmp_path, "reflexives", *given, "task.report=false") == 2
    assert not (tmp_path / "reflexives_rescored").exists()
    assert _rescore(tmp_path, "reflexives", *given, "task.report=false", "reworded=0.2") == 0
    summary = pd.read_csv(tmp_path / "reflexives_rescored" / "summary.csv")
    found = summary.set_index(["model", "modifier", "pronoun"])
    assert set(summary["corpus"]) == {"ptb"}
    pronouns = ("herself", "himself", "themselves")
    for experiment, models in REFLEXIVES.items():
        for model, row in models.items():
            accuracies = [found.loc[(model, experiment, one), "accuracy"] for one in pronouns]
            assert tuple(round(value, 3) for value in accuracies) == row[:3]


@pytest.mark.slow
def test_effects_and_statistics_of_published_surprisals(
    reference_data: Path, tmp_path: Path
) -> None:
    """The same tables as of own runs, with the R scripts of the analyses."""
    folder = reference_data / "published" / "suppression"
    given = (f"materials={folder}", f"surprisals={folder}")
    assert _rescore(tmp_path, "islands", *given) == 0
    results = tmp_path / "islands_rescored"
    names = {path.name for path in results.iterdir()}
    assert names >= {
        "items.csv", "summary.csv", "effects.csv", "sentences.csv", "surprisals.tsv",
        "receipt.json", "statistics", "report.html",
    }  # fmt: skip
    effects = pd.read_csv(results / "effects.csv", keep_default_na=False)
    means = effects.groupby(["model", "modifier", "effect"])["value_bits"].mean()
    assert means["gulordava", "object", "wh_effect_nogap"] == pytest.approx(1.210, abs=0.0005)
    assert list((results / "statistics").glob("*.R"))


def test_a_table_of_a_user_for_suites_of_a_user(tmp_path: Path) -> None:
    """Items and surprisals in one table, with a few lines that say what is predicted."""
    (tmp_path / "words.csv").write_text(
        "nr,cond,reg,tok,surp\n"
        "1,a,subject,Cats,3\n1,a,verb,sleep,2\n1,b,subject,Cats,3\n1,b,verb,sleeps,9\n"
        "2,a,subject,Dogs,4\n2,a,verb,bark,3\n2,b,subject,Dogs,4\n2,b,verb,barks,1\n",
        encoding="utf-8",
    )
    (tmp_path / "mine.yaml").write_text(
        "name: agreement\nlanguage: en\ntable: words.csv\n"
        "columns: {item: nr, condition: cond, region: reg, word: tok}\n"
        "conditions: {a: match, b: mismatch}\n"
        "predictions:\n  agreement: (verb;%mismatch%) > (verb;%match%)\n",
        encoding="utf-8",
    )
    given = (
        f"suite.suites=[{tmp_path / 'mine.yaml'}]",
        f"surprisals={tmp_path / 'words.csv'}",
        "columns={item: nr, condition: cond, word: tok, surprisal: surp}",
        "task.report=false",
    )
    assert _rescore(tmp_path / "out", "file", *given) == 2  # the unit is not named
    assert _rescore(tmp_path / "out", "file", *given, "unit=bits") == 0
    items = pd.read_csv(tmp_path / "out" / "mine_rescored" / "items.csv")
    assert items["outcome"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (
            (),
            (
                "1 mistake",
                "surprisals is missing: the folder with one folder per model, or a table",
            ),
        ),
        (("surprisals={folder}/absent",), ("absent: is not a folder or a table",)),
        (("surprisals={folder}",), ("contains no surprisals", "tables such as")),
        (
            ("surprisals={folder}", "task.ties=toss", "task.tie_seed=x"),
            ("2 mistakes", "task.ties=toss: valid: near, exact", "task.tie_seed=x"),
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
