"""The table of runs: states, settings that differ, results."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.errors import RunError
from gardenpath.runs.overview import different_settings, reasons, states_of, states_of_jobs, summary
from gardenpath.store.files import locked
from gardenpath.store.tables import RUNS, read_table
from tests import small_runs
from tests.integration.commands import ROOT, call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Runs of a unigram model: two that are done, one failed, one stopped, one interrupted."""
    for count in (1, 2, 3, 4, 5):
        path = tmp_path / "runs" / str(count)
        small_runs.run(tmp_path, "model=unigram", f"data.min_count={count}", f"run_dir={path}")
    for count, kind in ((3, "diverged"), (4, ""), (5, "interrupted")):
        path = tmp_path / "runs" / str(count)
        (path / "result.json").unlink()
        if kind:
            content = {"kind": kind, "message": "the loss is\nnot finite", "step": 3, "time": ""}
            (path / "failure.json").write_text(json.dumps(content), encoding="utf-8")
    return tmp_path


def test_states_of_runs(folder: Path) -> None:
    states = states_of([folder / "runs"])
    assert [one.status for one in states] == ["done", "done", "failed", "unfinished", "unfinished"]
    assert summary(states) == "5 runs: 2 done, 2 unfinished, 1 failed"
    failed, *unfinished = reasons(states)
    path = folder / "runs" / "3"
    assert failed == f"failed: {path}: the training failed: the loss is not finite"
    assert all(one.startswith("unfinished: ") and "existing=resume" in one for one in unfinished)
    assert list(different_settings(states)) == ["data.min_count"]
    assert all(one.bytes_on_disk > 1000 and one.setting("seed") == 1 for one in states)
    done = states[0]
    metrics = json.loads((done.path / "result.json").read_text(encoding="utf-8"))
    assert done.test_perplexity == metrics["test"]["perplexity"]
    assert done.valid_perplexity == metrics["valid"]["perplexity"]
    assert states[3].test_perplexity is None


def test_runs_are_in_the_order_of_models(tmp_path: Path) -> None:
    jobs = [str(tmp_path / "runs" / model) for model in ("lstm", "ngram", "unigram")]
    for job in jobs:
        small_runs.run(tmp_path, f"model={Path(job).name}", f"run_dir={job}")
    found = states_of([tmp_path / "runs"])
    assert [one.path.name for one in found] == ["unigram", "ngram", "lstm"]
    found = states_of_jobs(jobs, {jobs[0]: "stopped"})
    assert [(one.path.name, one.status == "failed") for one in found] == [
        ("unigram", False), ("ngram", False), ("lstm", True)
    ]  # fmt: skip


def test_a_run_that_is_training_is_running(folder: Path) -> None:
    path = folder / "runs" / "4"
    with locked(path / ".lock", what="the run"):
        state = next(one for one in states_of([folder / "runs"]) if one.path == path)
        assert state.status == "running" and "process" in state.reason
    claimed = folder / "runs" / "6"
    claimed.mkdir()
    with locked(claimed / ".lock", what="the run"):  # its corpus is being prepared
        assert [one.status for one in states_of([claimed])] == ["running"]


def test_a_run_that_cannot_be_read_is_shown(folder: Path) -> None:
    (folder / "runs" / "1" / "config.yaml").write_text("[", encoding="utf-8")
    state = states_of([folder / "runs"])[0]
    assert state.status == "damaged" and "config.yaml" in state.reason
    with pytest.raises(RunError, match="is not a folder"):
        states_of([folder / "absent"])


def test_the_task_prints_and_writes_the_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("evaluate.py", "task=runs", f"run={folder / 'runs'}", f"output={folder}") == 0
    output = capsys.readouterr().out
    assert "5 runs: 2 done, 2 unfinished, 1 failed" in output and "min_count" in output
    assert "the loss is not finite" in output
    table = read_table(folder / "runs.csv", RUNS)
    assert list(table["status"]) == ["done", "done", "failed", "unfinished", "unfinished"]
    assert [int(one) for one in table["data.min_count"]] == [1, 2, 3, 4, 5]
    assert table["test_perplexity"].notna().sum() == 2 and (table["megabytes"] > 0).all()
    assert isinstance(table, pd.DataFrame)


@pytest.mark.slow
def test_the_table_is_refreshed_until_it_is_interrupted(folder: Path) -> None:
    command = [sys.executable, str(ROOT / "evaluate.py"), "task=runs", f"run={folder / 'runs'}"]
    command += [f"output={folder}", "--watch=0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        tables = 0
        for line in watching.stdout:
            tables += "5 runs: " in line
            if tables == 2:
                break
        watching.send_signal(signal.SIGINT)
        try:
            watching.communicate(timeout=60)
        finally:
            watching.kill()
        assert watching.returncode == 0
