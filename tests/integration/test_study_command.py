"""``evaluate.py study=`` from the command line, on the files that authors released."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.integration.commands import call


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
