"""``evaluate.py`` from the command line."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import pytest

import train
from src.config import load_settings
from src.eval.comparison import EXACT
from src.models.run_folder import RunFolder
from tests import small_runs
from tests.integration.commands import TINY, call, start, toy


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models on one toy corpus, two seeds of one of them."""
    folder = tmp_path_factory.mktemp("evaluated")
    for overrides in (
        ("model=unigram",),
        ("model=ngram",),
        ("model=lstm", *TINY),
        ("model=lstm", *TINY, "seed=2"),
    ):
        train.train(load_settings("train", toy(folder, *overrides, train_sentences=1000)))
    return folder


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _evaluate(folder: Path, output: Path, *arguments: str) -> int:
    return call(
        "evaluate.py",
        f"run={folder / 'runs'}",
        f"output={output}",
        f"paths.cache={folder / 'cache'}",
        *arguments,
    )


@dataclass(frozen=True)
class Evaluated:
    """What a user sees of an evaluation."""

    text: str
    rows: list[dict[str, str]]
    files: list[str]


@pytest.fixture(scope="module")
def evaluated(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    folder = tmp_path_factory.mktemp("evaluation")
    done = start(
        "evaluate.py",
        "task=perplexity",
        f"run={runs / 'runs'}",
        f"output={folder / 'out'}",
        f"paths.cache={runs / 'cache'}",
        folder=folder,
    )
    assert done.returncode == 0, done.stderr
    rows = _rows(folder / "out" / "perplexity.csv")
    files = [str(path.relative_to(folder)) for path in folder.rglob("*")]
    return Evaluated(done.stdout, rows, files)


def test_a_table_and_a_file(evaluated: Evaluated) -> None:
    assert len(evaluated.rows) == 5
    for row in evaluated.rows:
        assert row["model"] in evaluated.text
        assert f"{float(row['perplexity']):.2f}" in evaluated.text
    for part in (EXACT, "entropy of the grammar", "toy_english", "perplexity.csv"):
        assert part in evaluated.text.replace("\n", "")
    assert sorted(evaluated.files) == ["out", "out/perplexity.csv"]


def test_no_model_beats_the_exact_grammar(evaluated: Evaluated) -> None:
    rows = evaluated.rows
    perplexities = [float(row["perplexity"]) for row in rows]
    assert perplexities == sorted(perplexities, reverse=True)
    assert rows[-1]["model"] == EXACT
    assert float(rows[-1]["excess_bits_per_word"]) == 0.0
    assert min(float(row["excess_bits_per_word"]) for row in rows[:-1]) > 0.05
    by_model = {row["model"]: float(row["perplexity"]) for row in rows}
    assert by_model["ngram"] < by_model["unigram"] / 2
    assert {row["sentences"] for row in rows} == {"100"}
    assert len({row["words"] for row in rows}) == 1


def test_numbers_are_those_of_training(evaluated: Evaluated, runs: Path) -> None:
    for row in evaluated.rows:
        if row["model"] != EXACT:
            path = runs / "runs" / "toy_english" / row["model"] / f"seed{row['seed']}"
            kept = RunFolder(path).result()["test"]
            assert float(row["perplexity"]) == pytest.approx(kept["perplexity"], rel=1e-9)
            without = float(row["perplexity_without_end"])
            assert without == pytest.approx(kept["perplexity_without_end"], rel=1e-9)


def test_another_split(runs: Path, tmp_path: Path) -> None:
    assert _evaluate(runs, tmp_path, "task.split=valid") == 0
    assert {row["sentences"] for row in _rows(tmp_path / "perplexity.csv")} == {"20"}


def test_several_corpora_in_one_table(tmp_path: Path) -> None:
    """Corpora without a grammar have no exact answer."""
    small_runs.run(tmp_path, "model=unigram")
    train.train(load_settings("train", toy(tmp_path, "model=unigram", "data=toy_mandarin")))
    assert _evaluate(tmp_path, tmp_path / "out") == 0
    rows = _rows(tmp_path / "out" / "perplexity.csv")
    assert {(row["corpus"], row["model"]) for row in rows} == {
        ("text", "unigram"),
        ("toy_mandarin", "unigram"),
        ("toy_mandarin", EXACT),
    }
    without_grammar = next(row for row in rows if row["corpus"] == "text")
    assert without_grammar["excess_bits_per_word"] == ""


def test_no_runs_is_an_error_with_a_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _evaluate(tmp_path, tmp_path / "out") == 2
    text = capsys.readouterr().err
    assert "no finished runs" in text and "python train.py" in text
    assert not (tmp_path / "out").exists()


def test_mistakes_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _evaluate(tmp_path, tmp_path / "out", "task.splt=valid", "runn=x") == 2
    text = capsys.readouterr().err
    assert "2 mistakes" in text and "'task.split'" in text
    assert not (tmp_path / "out").exists()


def test_help_shows_examples_and_choices(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("evaluate.py", "--help") == 0
    text = capsys.readouterr().out
    for part in ("python evaluate.py task=perplexity run=", "task:", "perplexity", "split: test"):
        assert part in text
