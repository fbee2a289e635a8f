"""What tasks print about analyses."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.eval.report.content import Shown, run_analyses, shown_results
from gardenpath.tasks.output import print_analyses, print_search
from tests.eval.report.samples import garden_paths
from tests.toy_runs import run_of


def test_questions_with_significant_answers_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    items = garden_paths({"lstm": 0.0, "plm": 0.0, "rnng": 9.0, "transformer": 0.0})
    print_analyses(shown_results(run_analyses(items)))
    lines = capsys.readouterr().out.splitlines()
    counts = [int(line.split("/")[0].split()[-1]) for line in lines[1:] if "significant" in line]
    assert counts[0] > 0 and any("1/4 significant" in line for line in lines)
    assert [count > 0 for count in counts] == sorted((c > 0 for c in counts), reverse=True)


def test_at_most_ten_lines_of_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    many = [
        Shown(title=f"{n} " + "long question " * 9, sentences=["yes"] * 2, found=[n > 20, False])
        for n in range(30)
    ]
    print_analyses([Shown(title="None?"), *many])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10 and max(map(len, lines)) <= 80
    assert lines[1].startswith("  21 long question") and lines[1].endswith("…  1/2 significant")
    assert lines[-1] == "  … 22 more questions"
    print_analyses([Shown(title="None?")])
    assert capsys.readouterr().out == ""


def test_the_search_of_all_runs_is_named_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_search([run_of(folder, model) for model in ("rnng", "plm", "lstm")])
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("search: word-synchronous beam search, action beam 10, word beam 3,")
    assert shown.count("beam search") == 1
    print_search([run_of(folder, "lstm")])
    assert capsys.readouterr().out == ""
