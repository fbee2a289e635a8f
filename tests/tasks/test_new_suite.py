"""``task=new_suite``, and effects and factors of suites of one's own."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from gardenpath.errors import InputError
from gardenpath.eval.suites.formats.table_suite import load_table_suite
from gardenpath.settings.task_settings import NewSuiteTask
from gardenpath.tasks.stimuli.new_suite import run
from tests.toy_runs import evaluate


def test_the_starting_point_can_be_evaluated(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(NewSuiteTask(source="mine"))
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
        run(NewSuiteTask(source="mine"))
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
