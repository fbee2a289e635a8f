"""Tests of what an analysis leaves for R."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from src.eval.statistics.analyses import run_analysis
from src.eval.statistics.analysis import load_analysis
from src.eval.statistics.rscript import r_script, write_result
from tests.eval.statistics.tables import effect_table, item_table

FOLDER = Path(__file__).parents[3] / "conf" / "analysis"


def _is_balanced(text: str) -> bool:
    """Whether the brackets outside of quotes close in order."""
    open_brackets: list[str] = []
    quote = ""
    for line in text.splitlines():
        for sign in "" if line.startswith("#") else line:
            if quote:
                quote = "" if sign == quote else quote
            elif sign in "\"'":
                quote = sign
            elif sign in "([{":
                open_brackets.append(sign)
            elif sign in ")]}" and (
                not open_brackets or "([{".index(open_brackets.pop()) != ")]}".index(sign)
            ):
                return False
    return not open_brackets and not quote


def test_every_fit_is_a_call_of_lme4() -> None:
    analysis = load_analysis(FOLDER / "supervision.yaml")
    script = r_script(run_analysis(analysis, item_table({"lstm": 0.6, "rnng": 0.8})))
    assert 'part <- d[d$corpus == "toy" & d$class == "verb_noun" & d$architecture' in script
    assert (
        "glmer(outcome ~ syntax + (1 | modifier) + (1 | item) + (1 | seed), data = part, "
        "family = binomial)" in script
    )
    assert "d$syntax <- as.numeric(d$syntax)" in script
    assert _is_balanced(script)


def test_factors_are_coded_as_they_were() -> None:
    analysis = load_analysis(FOLDER / "wh_discharge.yaml")
    script = r_script(run_analysis(analysis, effect_table()))
    assert (
        'part$modifier <- factor(part$modifier, levels = c("subject", "adjunct_discharge", '
        '"cnp_discharge"))' in script
    )
    assert "contrasts(part$modifier) <- contr.sum(3)" in script
    assert "as.numeric(d$modifier)" not in script
    assert "print(summary(lmer(value_bits ~ modifier + (1 | suite:item)" in script


@pytest.mark.parametrize("name", ["flips", "wh_intervals", "wh_effects"])
def test_data_and_script_go_together(tmp_path: Path, name: str) -> None:
    result = run_analysis(load_analysis(FOLDER / f"{name}.yaml"), effect_table())
    write_result(tmp_path, result)
    written = pd.read_csv(tmp_path / f"{name}.csv", dtype=str, keep_default_na=False)
    assert len(written) == len(result.data)
    assert written["value_bits"].astype(float).tolist() == result.data["value_bits"].tolist()
    script = (tmp_path / f"{name}.R").read_text(encoding="utf-8")
    assert _is_balanced(script) and f'read.csv("{name}.csv"' in script
    assert (tmp_path / f"{name}_estimates.csv").exists()


def test_an_empty_answer_leaves_its_reason_only(tmp_path: Path) -> None:
    result = run_analysis(load_analysis(FOLDER / "flips.yaml"), item_table({"lstm": 0.6}))
    write_result(tmp_path, result)
    assert [path.name for path in tmp_path.iterdir()] == ["flips.txt"]
    assert "Skipped: the table has no column" in (tmp_path / "flips.txt").read_text()


def test_the_script_runs_in_r(tmp_path: Path) -> None:
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("needs R")
    result = run_analysis(load_analysis(FOLDER / "flips.yaml"), effect_table())
    write_result(tmp_path, result)
    done = subprocess.run(
        [program, "flips.R"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.count("One Sample t-test") == len(result.parts)
