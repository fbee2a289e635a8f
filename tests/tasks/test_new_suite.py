"""``task=new_suite``, and effects and factors of suites of one's own."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from gardenpath.errors import GardenpathError, InputError
from gardenpath.eval.suites.tables import load_table_suite
from gardenpath.settings.tasks import NewSuiteTask
from gardenpath.store.manifest import read_side_car
from gardenpath.tasks.suites import run_new_suite
from tests.toy_runs import evaluate, run_of


def test_the_starting_point_can_be_evaluated(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_new_suite(NewSuiteTask(source="mine"))
    options = ("task.report=false", "task.allow_unknown=true", "suite.suites=[mine.yaml]")
    evaluate(folder, tmp_path, "suite=file", *options, model="ngram")
    effects = pd.read_csv(tmp_path / "mine" / "effects.csv")
    items = pd.read_csv(tmp_path / "mine" / "items.csv")
    assert set(effects["effect"]) == {"mismatch_effect"}
    assert effects["value_bits"].tolist() == pytest.approx(items["difference_bits"].tolist())
    sentences = pd.read_csv(tmp_path / "mine" / "sentences.csv")
    assert sentences["agreement"].tolist() == ["yes", "no"] * 2


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("kept")
    with pytest.raises(InputError, match=r"mine\.csv: exists already"):
        run_new_suite(NewSuiteTask(source="mine"))
    assert [one.name for one in tmp_path.iterdir()] == ["mine.csv"]


def _suite(folder: Path, *lines: str) -> Path:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in (("item", "condition", "a", "b"), (1, "x", "the", "man"), (1, "y", "the", "boy")):
        book.active.append(row)
    book.save(folder / "items.xlsx")
    head = ["name: own", "language: en", "table: items.xlsx", "regions: [a, b]"]
    (folder / "own.yaml").write_text("\n".join([*head, *lines]) + "\n")
    return folder / "own.yaml"


def test_a_sheet_with_effects_alone(tmp_path: Path) -> None:
    suite = load_table_suite(_suite(tmp_path, "effects:", "  e: (b;%x%) - (b;%y%)"))
    assert [one.name for one in suite.effects] == ["e"]
    assert suite.predictions[0].formula.is_claim
    assert suite.items[0].variants[1].words == ("the", "boy")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["effects:", "  e: (b;%x%) > (b;%y%)"], "is a comparison.*write a difference"),
        (["predictions:", "  p: (b;%x%) - (b;%y%)"], "compares nothing.*write a comparison"),
        (["effects:", "  e: (c;%x%)"], "region 'c' is unknown"),
        (["version: 2"], "says nothing to test.*add predictions"),
        (["sheet: Two", "effects: {e: (b;%x%)}"], "has no sheet 'Two'.*its sheets: Sheet"),
        (["effects: {e: (b;%x%)}", "factors: {x: {f: a}}"], "condition y has none"),
    ],
)
def test_mistakes_name_the_cure(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_table_suite(_suite(tmp_path, *lines))


def test_a_formula_and_effects_with_intervals(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    run_new_suite(NewSuiteTask(source="mine"))
    known = [word for word in run_of(folder, "ngram").vocabulary.tokens if word.isalpha()][:12]
    rows = ["item,condition,subject,verb,rest"]
    for number, (match, mismatch) in enumerate(zip(known[::2], known[1::2], strict=True), 1):
        rows += [f"{number},match,the boys,{match},.", f"{number},mismatch,the boys,{mismatch},."]
    (tmp_path / "mine.csv").write_text("\n".join(rows), encoding="utf-8")
    options = ("task.allow_unknown=true", "suite.suites=[mine.yaml]", "task.min_items=1")
    formula = "task.formula=local_bits ~ agreement + (1 | item)"
    evaluate(folder, tmp_path, "suite=file", *options, formula, model="ngram")
    shown = capsys.readouterr().out
    assert "mine: effects in bits, with 95 % intervals" in shown
    means = pd.read_csv(tmp_path / "mine" / "effect_means.csv")
    effects = pd.read_csv(tmp_path / "mine" / "effects.csv")
    assert means["mean_bits"].tolist() == pytest.approx([effects["value_bits"].mean()])
    assert means["low"][0] <= means["mean_bits"][0] <= means["high"][0]
    assert means["near_ties"].tolist() == [effects["near_tie"].sum()]
    own = pd.read_csv(tmp_path / "mine" / "statistics" / "own_estimates.csv")
    assert own["term"].str.contains("agreement").all()
    about = read_side_car(tmp_path / "mine" / "statistics" / "own_estimates.csv")
    assert about["formula"] == "local_bits ~ agreement + (1 | item)" and about["unit"] == "bits"
    with pytest.raises(GardenpathError, match=r"no column agrement.*did you mean 'agreement'"):
        evaluate(
            folder, tmp_path, "suite=file", *options, formula.replace("ee", "e"), model="ngram"
        )


def test_two_suites_of_one_name_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_new_suite(NewSuiteTask(source="mine"))
    Path("other.yaml").write_text(Path("mine.yaml").read_text())
    options = (
        "task.report=false",
        "task.allow_unknown=true",
        "suite.suites=[mine.yaml,other.yaml]",
    )
    with pytest.raises(GardenpathError, match=r"two suites are called 'mine'.*change name:"):
        evaluate(folder, tmp_path, "suite=file", *options, model="ngram")
