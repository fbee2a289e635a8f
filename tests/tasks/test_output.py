"""What tasks print about analyses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import wandb

from gardenpath.errors import GardenpathError
from gardenpath.eval.report.content import ReportedAnalysis, reported_analyses, run_analyses
from gardenpath.models.training.settings import WandbSettings, begun_at_wandb, end_at_wandb
from gardenpath.tasks.output import print_analyses, print_search, publish
from tests.eval.report.samples import garden_paths
from tests.toy_runs import run_of, settings


def test_questions_with_significant_answers_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    items = garden_paths({"lstm": 0.0, "plm": 0.0, "rnng": 9.0, "transformer": 0.0})
    print_analyses(reported_analyses(run_analyses(items)))
    lines = capsys.readouterr().out.splitlines()
    counts = [int(line.split("/")[0].split()[-1]) for line in lines[1:] if "significant" in line]
    assert counts[0] > 0 and any("1/4 significant" in line for line in lines)
    assert [count > 0 for count in counts] == sorted((c > 0 for c in counts), reverse=True)


def test_at_most_ten_lines_of_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    many = [
        ReportedAnalysis(
            title=f"{n} " + "long question " * 9, sentences=["yes"] * 2, significant=[n > 20, False]
        )
        for n in range(30)
    ]
    print_analyses([ReportedAnalysis(title="None?"), *many])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10 and max(map(len, lines)) <= 80
    assert lines[1].startswith("  21 long question") and lines[1].endswith("…  1/2 significant")
    assert lines[-1] == "  … 22 more questions"
    print_analyses([ReportedAnalysis(title="None?")])
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


# ----------------------------------------------------------------------------
# What is sent to Weights & Biases, and what is said if it cannot be.


class Recorder:
    """Takes the place of a run at Weights & Biases."""

    name = "evaluate/results"

    def __init__(self, *, offline: bool) -> None:
        self.offline = offline
        self.settings = type("Settings", (), {"sync_dir": "results/wandb/offline-run-1"})
        self.logged: list[str] = []
        self.is_finished = False

    def log(self, content: dict[str, Any]) -> None:
        self.logged += content

    def finish(self) -> None:
        self.is_finished = True


def test_without_account_or_network_the_message_says_what_to_do() -> None:
    def begin() -> None:
        raise wandb.errors.UsageError("No API key configured. Log in.\nMore lines.")

    expected = "cannot be reached: No API key configured. Log in. Log in with 'wandb login', or set"
    with pytest.raises(GardenpathError, match=expected) as caught:
        begun_at_wandb(begin)
    assert "logger.offline=true" in str(caught.value) and "More" not in str(caught.value)


@pytest.mark.parametrize("offline", [True, False])
def test_tables_are_sent_and_the_run_ends(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    offline: bool,
) -> None:
    given: dict[str, Any] = {}
    run = Recorder(offline=offline)
    monkeypatch.setattr(wandb, "init", lambda **named: given.update(named) or run)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "summary.csv").write_text("a,b\n1,2\n")
    base = settings(folder, tmp_path, "task=perplexity")
    chosen = replace(base, logger=WandbSettings(offline=offline))
    publish(tmp_path / "results", chosen)
    assert run.logged == ["summary"] and run.is_finished
    # Without a setting, the environment variable WANDB_MODE decides.
    assert given["mode"] == ("offline" if offline else None)
    told = "wandb sync results/wandb/offline-run-1" if offline else "Sent to Weights & Biases"
    assert told in capsys.readouterr().out


def test_an_offline_run_says_how_it_is_sent() -> None:
    assert end_at_wandb(Recorder(offline=True)).endswith("wandb sync results/wandb/offline-run-1")
    assert end_at_wandb(Recorder(offline=False)) == ""
