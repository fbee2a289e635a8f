"""What tasks print about analyses."""

from __future__ import annotations

import pytest

from gardenpath.eval.report.shown_analyses import run_analyses, shown_results
from gardenpath.eval.report.study import Shown
from gardenpath.tasks.printing import print_analyses
from tests.eval.report.samples import garden_paths


def test_what_was_found_is_printed_first(capsys: pytest.CaptureFixture[str]) -> None:
    items = garden_paths({"lstm": 0.0, "plm": 0.0, "rnng": 9.0, "transformer": 0.0})
    print_analyses(shown_results(run_analyses(items)))
    shown = " ".join(capsys.readouterr().out.split())
    count = "1 of 4 comparisons differs significantly from zero (p < .05)."
    assert f"garden-path effect? {count} RNNG" in shown
    assert shown.index("RNNG, trained on") < shown.index("for LSTM") < shown.index("for PLM")
    assert "Analyses that were not run: " in shown


def test_long_answers_are_cut_and_empty_ones_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    many = Shown(title="Many?", sentences=[f"answer {number}" for number in range(9)])
    print_analyses([Shown(title="None?"), many])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["Many?", *(f"  answer {n}" for n in range(6)), "  … 3 more in the report"]
