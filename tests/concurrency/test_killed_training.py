"""Trainings that are killed at any point and resumed end as if nothing had happened."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.concurrency import kills
from tests.concurrency.training_kills import (
    OVERFITTING,
    differences,
    exit_code,
    kill_training_at_random,
    send_in,
    start_training,
)

_OFTEN = (*OVERFITTING, "trainer.checkpoint_steps=1")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    run = small_runs.run(tmp_path_factory.mktemp("whole"), *OVERFITTING)
    losses, rates = (small_runs.column(run, name) for name in ("valid/loss", "learning_rate"))
    assert len(losses) == 8, "early stopping ended it"
    assert losses.index(min(losses)) == 5
    assert rates[3] > rates[4], "the rate was lowered after the fourth epoch"
    return run


def _killed(folder: Path, *overrides: str, before: Callable[[], None]) -> None:
    if not (folder / "corpus").exists():
        small_runs.write_corpus(folder / "corpus")
    assert exit_code(start_training(folder, *overrides, before=before)) == -signal.SIGKILL


def _resumed(folder: Path, *overrides: str) -> RunFolder:
    return small_runs.run(folder, *overrides, "existing=resume")


# In the fourth epoch: the first batch of its validation, its last, after it; and in the fifth.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "number", "every"),
    [
        ("validation_step", 7, 1),
        ("validation_step", 8, 6),
        ("on_validation_epoch_end", 4, 2),
        ("on_train_epoch_end", 4, 1),
        ("training_step", 27, 0),
        ("training_step", 27, 1),
    ],
)
def test_killed_around_a_validation(
    expected: RunFolder, tmp_path: Path, method: str, number: int, every: int
) -> None:
    overrides = (*OVERFITTING, f"trainer.checkpoint_steps={every}")
    _killed(tmp_path, *overrides, before=send_in(method, number, signal.SIGKILL))
    assert differences(_resumed(tmp_path, *overrides), expected) == []


@pytest.mark.slow
def test_killed_in_every_validation(expected: RunFolder, tmp_path: Path) -> None:
    """Each process trains to the next validation, resumes there, and is killed in the one after."""
    batches = 2
    epochs = len(small_runs.metrics(expected))
    _killed(tmp_path, *_OFTEN, before=send_in("validation_step", 1, signal.SIGKILL))
    for _ in range(epochs - 1):
        _killed(tmp_path, *_OFTEN, before=send_in("validation_step", batches + 1, signal.SIGKILL))
    assert differences(_resumed(tmp_path, *_OFTEN), expected) == []


@pytest.mark.slow
def test_killed_while_files_are_written(expected: RunFolder, tmp_path: Path) -> None:
    """Before every so many-th step on a file of the run folder, also of a resumed run."""
    small_runs.write_corpus(tmp_path / "corpus")
    run = RunFolder(Path(small_runs.settings(tmp_path, *_OFTEN).run_dir))
    killed = 0
    for step in (3, 12, 25, 35, 45, 55, 65, 10**6):
        process = start_training(
            tmp_path, *_OFTEN, before=functools.partial(kills.die_at, step, str(run.path))
        )
        killed += exit_code(process) == -signal.SIGKILL
    assert killed >= 6
    assert differences(run, expected) == []


def test_killed_after_early_stopping(expected: RunFolder, tmp_path: Path) -> None:
    """What is resumed then is not trained any further."""
    run = small_runs.run(tmp_path, *OVERFITTING)
    (run / "result.json").unlink()
    assert differences(_resumed(tmp_path, *OVERFITTING), expected) == []


@pytest.mark.slow
@pytest.mark.parametrize("limit", [10, 18])
def test_a_limit_of_steps_is_kept(tmp_path: Path, limit: int) -> None:
    overrides = (*_OFTEN, f"trainer.max_steps={limit}")
    whole = small_runs.run(tmp_path / "whole", *overrides)
    assert small_runs.column(whole, "step")[-1] == limit
    for number, method in ((9, "training_step"), (1, "training_step"), (1, "validation_step")):
        _killed(tmp_path, *overrides, before=send_in(method, number, signal.SIGKILL))
    resumed = _resumed(tmp_path, *overrides)
    assert differences(resumed, whole) == []
    (resumed / "result.json").unlink()
    assert differences(_resumed(tmp_path, *overrides), whole) == []


@pytest.mark.slow
def test_killed_at_random(expected: RunFolder, tmp_path: Path) -> None:
    report = kill_training_at_random(7, tmp_path, expected, *_OFTEN, kills=4)
    assert report.kills >= 1
    assert report.differences == ()
