"""``evaluate.py`` from the command line: perplexity, suites, surprisal, rescore and studies."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.eval.display import EXACT
from gardenpath.eval.surprisal.tables import read_surprisals
from gardenpath.runs.training import train
from tests import small_runs, toy_runs
from tests.eval.published.samples import CLASSES, MANDARIN, REFLEXIVES
from tests.integration.commands import ROOT, call, start, toy


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


# ----------------------------------------------------------------------------
# ``evaluate.py suite=…`` and ``task=suites`` from the command line.


def test_tables_figures_and_a_report(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = toy_runs.arguments(
        folder, tmp_path, "suite=toy_english", "suite.suites=[reflexives/toy]", "suite.items=3",
        "task.perplexity=true", model="rnng",
    )  # fmt: skip
    assert call("evaluate.py", *arguments) == 0
    shown = capsys.readouterr()
    results = tmp_path / "toy_english"
    summary = pd.read_csv(results / "summary.csv")
    assert set(summary["model"]) == {"rnng", EXACT}
    assert (summary.loc[summary["model"] == EXACT, "accuracy"] == 1.0).all()
    for name in ("rnng", EXACT, "reflexives", "(marginal)", "report.html"):
        assert name in shown.out.replace("\n", "")
    for file in ("items.csv", "effects.csv", "surprisals.tsv", "word_pairs.csv"):
        assert (results / file).is_file()
    report = (results / "report.html").read_text(encoding="utf-8")
    assert report.startswith("<!DOCTYPE html>") and EXACT in report and "himself" in report
    assert any((results / "figures").glob("*.svg"))


def test_mistakes_are_found_before_anything_is_scored(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["task=suite", "task.ties=tails", "search.word_beam=0"]
    assert call("evaluate.py", *toy_runs.arguments(folder, tmp_path, *arguments)) == 2
    shown = capsys.readouterr().err
    assert "3 mistakes" in shown and "suite is missing" in shown
    assert list(tmp_path.iterdir()) == []


def test_a_suite_of_another_language(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = toy_runs.arguments(folder, tmp_path, "suite=mandarin", model="ngram")
    assert call("evaluate.py", *arguments) == 2
    assert "train one with 'python train.py data=…'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_list_of_suites_needs_no_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [f"run={tmp_path / 'none'}", f"output={tmp_path / 'out'}", "task.export=text"]
    assert call("evaluate.py", "task=suites", "suite=toy_english", *arguments) == 0
    assert "filler_gap/toy" in capsys.readouterr().out
    assert len(list((tmp_path / "out" / "suites").glob("*.txt"))) == 4


# ----------------------------------------------------------------------------
# ``evaluate.py task=surprisal`` from the command line.


@pytest.mark.slow
def test_a_pipe_into_a_table(folder: Path, tmp_path: Path) -> None:
    """In a process of its own, in another folder than that of the project."""
    arguments = toy_runs.arguments(
        folder, tmp_path, "task=surprisal", "input=-", "task.file=table.tsv", model="rnng"
    )
    done = subprocess.run(
        [sys.executable, str(ROOT / "evaluate.py"), *arguments],
        input="the boys knew .\n\nthe wugs knew .\n",
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 sentences" in done.stdout and "table.tsv" in done.stdout
    rows, header = read_surprisals(tmp_path / "table.tsv")
    words = ["the", "boys", "knew", ".", "</s>", "the", "wugs", "knew", ".", "</s>"]
    assert [row.word for row in rows] == words
    assert [row.seen_as for row in rows if not row.seen] == ["<unk-lc-s>"]
    assert (header.runs[0].model, header.runs[0].search) == ("rnng", "word_sync")
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["table.tsv", "table.tsv.meta.json"]


@pytest.mark.parametrize(
    ("arguments", "problem", "remedy"),
    [
        ([], "input is missing", "a sentence, a file of sentences, or -"),
        (["input={folder}/empty.txt"], "empty.txt: contains no sentences", "one sentence per line"),
        (["input={folder}/absent.txt"], "absent.txt", ""),
        (["input={folder}/empty.txt", "task.file={folder}/a.xlsx"], "a.xlsx", "choose one of .tsv"),
    ],
)
def test_errors_with_remedies(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    problem: str,
    remedy: str,
) -> None:
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    given = [argument.format(folder=tmp_path) for argument in arguments]
    output = tmp_path / "out"
    chosen = toy_runs.arguments(folder, output, "task=surprisal", *given, model="ngram")
    assert call("evaluate.py", *chosen) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ") and problem in shown and remedy in shown
    assert [path.name for path in tmp_path.iterdir()] == ["empty.txt"]


# ----------------------------------------------------------------------------
# ``evaluate.py task=rescore`` from the command line, on published surprisals.


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
def test_errors_of_rescoring_with_remedies(
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


# ----------------------------------------------------------------------------
# ``evaluate.py study=`` from the command line, on the files that authors released.


def _study(output: Path, name: str, *arguments: str) -> int:
    return call("evaluate.py", f"study={name}", f"output={output}", *arguments)


def _agreement(folder: Path, part: str) -> tuple[int, int]:
    """Cells that agree with the published ones, and all that were compared."""
    table = pd.read_csv(folder / "tables" / f"{part}.csv", keep_default_na=False)
    table["agrees"] = table["agrees"].astype(str)
    known = table[table["agrees"] != ""]
    return int((known["agrees"] == "True").sum()), len(known)


@pytest.mark.slow
def test_suppression_and_recovery(reference_data: Path, tmp_path: Path) -> None:
    """All numbers of the figures, as the sheet of values has them."""
    folder = reference_data / "published" / "suppression"
    assert _study(tmp_path, "suppression", f"surprisals={folder}", f"materials={folder}") == 0
    results = tmp_path / "suppression_study"
    assert _agreement(results, "figure_2") == (6, 6)
    assert _agreement(results, "figure_4") == (20, 20)
    assert _agreement(results, "figure_5") == (12, 12)
    claims = pd.read_csv(results / "claims.csv")
    assert set(claims["verdict"]) == {"reproduced", "not reproduced", "depends", "not tested"}
    assert claims["reason"].str.len().min() > 0
    assert (results / "report.html").is_file() and list((results / "figures").glob("*.png"))
    assert list((results / "statistics").glob("*.R"))
    receipt = results / "data" / "released_surprisals" / "receipt.json"
    assert len(json.loads(receipt.read_text("utf-8"))["surprisals"]) == 4


@pytest.mark.slow
def test_reflexives_are_refused_without_leave_and_leave_nothing(
    reference_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some released files have another noun than the stimuli, which must be accepted by name."""
    roots = [reference_data / "published" / name for name in ("reflexives", "reflexives_more")]
    given = (
        f"surprisals=[{roots[0]},{roots[1]}]",
        f"materials=[{roots[0] / 'stimuli'},{roots[1] / 'stimuli'}]",
    )
    assert _study(tmp_path, "reflexives", *given) == 2
    assert "90 sentences reworded" in capsys.readouterr().err
    assert not (tmp_path / "reflexives_study").exists()
    assert _study(tmp_path, "reflexives", *given, "reworded=0.2") == 0
    results = tmp_path / "reflexives_study"
    assert _agreement(results, "table_3") == (11, 11)
    assert _agreement(results, "figure_2") == (30, 30)
    assert _study(tmp_path, "reflexives", *given, "reworded=0.2", "task.items=all") == 0
    assert _agreement(results, "table_3") == (6, 11)


def test_a_study_of_other_materials_is_refused(reference_data: Path, tmp_path: Path) -> None:
    mandarin = reference_data / "published" / "mandarin"
    wrong = (f"surprisals={mandarin / 'surprisals'}", f"materials={mandarin / 'suites'}")
    assert _study(tmp_path, "suppression", *wrong) == 2
    assert _study(tmp_path, "filler_gap", *wrong) == 2
    assert not list(tmp_path.iterdir())
