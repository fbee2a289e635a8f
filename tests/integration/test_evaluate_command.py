"""``evaluate.py`` from the command line."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import pytest

from gardenpath.eval.display import EXACT
from gardenpath.runs.training import train
from tests import small_runs, toy_runs
from tests.integration.commands import call, start, toy


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _evaluate(folder: Path, output: Path, *arguments: str) -> int:
    return call(
        "evaluate.py",
        f"run={folder / 'runs'}",
        f"output={output}",
        f"paths.cache={folder / 'cache'}",
        f"paths.surprisals={toy_runs.store_of(folder)}",
        *toy_runs.NARROW,
        *arguments,
    )


@dataclass(frozen=True)
class Evaluated:
    """What a user sees of an evaluation, which is of perplexity unless a suite is named."""

    text: str
    rows: list[dict[str, str]]
    files: list[str]


@pytest.fixture(scope="module")
def evaluated(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    place = tmp_path_factory.mktemp("evaluation")
    done = start("evaluate.py", *toy_runs.arguments(folder, place / "out"), folder=place)
    assert done.returncode == 0, done.stderr
    rows = _rows(place / "out" / "perplexity.csv")
    files = [str(path.relative_to(place)) for path in place.rglob("*")]
    return Evaluated(done.stdout, rows, files)


def test_a_table_and_a_file(evaluated: Evaluated) -> None:
    assert {row["model"] for row in evaluated.rows} == {
        "ngram", "lstm", "rnng (joint)", "rnng (marginal)", "plm (joint)", "plm (marginal)", EXACT,
    }  # fmt: skip
    assert len(evaluated.rows) == 7
    for row in evaluated.rows:
        assert row["model"] in evaluated.text
        assert f"{float(row['perplexity']):.2f}" in evaluated.text
    for part in (
        EXACT, "entropy of the grammar", "toy_english", "perplexity.csv",
        "joint: of words together with their gold trees", "marginal: of words alone",
    ):  # fmt: skip
        assert part in evaluated.text.replace("\n", "")
    assert sorted(evaluated.files) == ["out", "out/perplexity.csv", "out/perplexity.csv.meta.json"]


def test_no_model_beats_the_exact_grammar(evaluated: Evaluated) -> None:
    rows = evaluated.rows
    perplexities = [float(row["perplexity"]) for row in rows]
    assert perplexities == sorted(perplexities, reverse=True)
    assert rows[-1]["model"] == EXACT
    assert float(rows[-1]["excess_bits_per_word"]) == 0.0
    assert min(float(row["excess_bits_per_word"]) for row in rows[:-1]) > 0.05
    assert {row["sentences"] for row in rows} == {str(toy_runs.TEST_SENTENCES)}
    assert len({row["words"] for row in rows}) == 1


def test_numbers_are_those_of_training(evaluated: Evaluated, folder: Path) -> None:
    """Of syntactic models, those of words with their gold trees."""
    by_model = {row["model"]: row for row in evaluated.rows}
    for model in ("ngram", "lstm", "rnng", "plm"):
        kept = toy_runs.run_of(folder, model).metrics["test"]
        row = by_model.get(model) or by_model[f"{model} (joint)"]
        name = "perplexity" if model in by_model else "joint_perplexity"
        assert float(row["perplexity"]) == pytest.approx(kept[name], rel=1e-6)
        if model in by_model:
            without = float(row["perplexity_without_end"])
            assert without == pytest.approx(kept["perplexity_without_end"], rel=1e-6)


def test_another_split(folder: Path, tmp_path: Path) -> None:
    chosen = ("task=perplexity", "task.split=valid", "task.marginal_sentences=5")
    assert _evaluate(folder, tmp_path, *chosen) == 0
    rows = _rows(tmp_path / "perplexity.csv")
    counts = {row["model"]: row["sentences"] for row in rows if row["model"] != EXACT}
    assert counts.pop("rnng (marginal)") == counts.pop("plm (marginal)") == "5"
    assert set(counts.values()) == {"20"}
    assert [row["sentences"] for row in rows if row["model"] == EXACT] == ["20", "5"]


def test_several_corpora_in_one_table(tmp_path: Path) -> None:
    """Corpora without a grammar have no exact answer."""
    small_runs.run(tmp_path, "model=unigram")
    train(*toy(tmp_path, "model=unigram", "data=toy_mandarin"))
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
    assert "2 mistakes" in text and "'task.split'" in text and "'run'" in text
    assert not (tmp_path / "out").exists()
