"""A job that fails or is refused never stops the others of its sweep."""

from __future__ import annotations

import errno
import json
import math
import pickle
from pathlib import Path

import pytest

from gardenpath.errors import RunError
from gardenpath.sweeps import JobOutcome, survived
from tests import small_runs
from tests.integration.commands import call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a corpus."""
    small_runs.write_corpus(tmp_path / "corpus")
    return tmp_path


def test_a_missing_corpus_stops_no_other_job(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = small_runs.arguments(folder, "model=unigram,ngram")
    given[1] = f"data.root={folder / 'absent'},{folder / 'corpus'}"
    assert call("train.py", "-m", *given) == 1
    output = capsys.readouterr().out
    assert "4 runs: 2 done, 2 failed" in output
    assert output.count("failed: ") == 2 and f"{folder / 'absent'}" in output


@pytest.mark.slow
def test_a_repeated_sweep_skips_what_is_finished(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = small_runs.arguments(folder, "model=unigram,ngram")
    assert call("train.py", "-m", *given) == 0
    capsys.readouterr()
    paths = sorted((folder / "runs").rglob("result.json"))
    before = [path.stat().st_mtime_ns for path in paths]
    assert call("train.py", "-m", *given, "seed=1,2") == 0
    output = capsys.readouterr().out
    assert output.count("is finished already") == 2 and "4 runs: 4 done" in output
    assert [path.stat().st_mtime_ns for path in paths] == before
    assert call("train.py", "-m", *given, "existing=refuse") == 1
    assert call("train.py", "-m", *given, "existing=overwrite") == 0
    assert [path.stat().st_mtime_ns for path in paths] != before


def test_an_evaluation_that_fails_stops_no_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = small_runs.run(folder, "model=unigram").path
    two = small_runs.run(folder, "model=ngram").path
    common = [f"output={folder / 'out'}", f"paths.cache={folder / 'cache'}",
              f"paths.surprisals={folder / 'store.sqlite'}"]  # fmt: skip
    runs = f"run={folder / 'absent'},{one},{two}"
    assert call("evaluate.py", "-m", "task=perplexity", runs, *common) == 1
    output = capsys.readouterr().out
    assert "3 jobs: 2 done, 1 failed" in output and "absent" in output
    assert len(list((folder / "out").rglob("perplexity.csv"))) == 2


def test_outcomes_travel_between_processes() -> None:
    failed = pickle.loads(pickle.dumps(JobOutcome.failed("no\n  memory")))  # noqa: S301
    assert failed.failure == "no memory" and math.isinf(failed)
    assert pickle.loads(pickle.dumps(JobOutcome(1.5))) == 1.5  # noqa: S301


def test_an_error_of_the_system_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def full() -> float:
        raise OSError(errno.ENOSPC, "full", "/a")

    assert survived(full).failure == "/a: full (free some space, or choose another disk)"
    assert "Traceback" not in capsys.readouterr().err


def test_an_interruption_is_not_the_failure_of_one_job() -> None:
    def interrupted() -> float:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise RunError("interrupted") from None

    with pytest.raises(SystemExit):
        survived(interrupted)
    assert survived(lambda: None).failure is None


@pytest.mark.slow
def test_a_damaged_or_useless_run_is_not_skipped_as_finished(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = small_runs.arguments(folder, "model=lstm", *small_runs.NEURAL, "trainer.max_epochs=1")
    assert call("train.py", "-m", *given, "seed=1,2") == 0
    one, two = (folder / "runs" / "text" / "lstm" / f"seed{number}" for number in (1, 2))
    weights = bytearray((one / "weights.safetensors").read_bytes())
    weights[-5] ^= 1
    (one / "weights.safetensors").write_bytes(weights)
    # As older versions did, without a manifest.
    (two / "manifest.json").unlink()
    result = json.loads((two / "result.json").read_text(encoding="utf-8"))
    result["test"]["loss"] = math.inf
    (two / "result.json").write_text(json.dumps(result), encoding="utf-8")
    capsys.readouterr()
    assert call("train.py", "-m", *given, "seed=1,2") == 1
    output = capsys.readouterr().out
    assert "2 runs: 2 failed" in output and "is finished already" not in output
    assert f"failed: {one / 'weights.safetensors'}: is damaged" in output
    assert f"failed: {two}: the training diverged: the test loss is inf" in output
    assert call("train.py", "-m", *given, "seed=1,2", "existing=overwrite") == 0


def test_the_reason_of_a_divergence_names_the_folder_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = small_runs.arguments(
        folder, "model=lstm", *small_runs.NEURAL, "trainer.gradient_clip=0",
        "model.optimiser.learning_rate=1e30",
    )  # fmt: skip
    path = folder / "runs" / "text" / "lstm" / "seed1"
    assert call("train.py", "-m", *given) == 1
    capsys.readouterr()
    assert call("train.py", "-m", *given) == 1
    output = capsys.readouterr().out
    again = "is not resumed, because it would diverge again: training diverged at step "
    assert f"failed: {path}: {again}" in output
