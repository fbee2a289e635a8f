"""A killed run that is resumed ends as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from gardenpath.errors import RunError
from gardenpath.models.training.trainer import LanguageModelling
from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.integration.commands import ROOT
from tests.small_runs import NEURAL

# About six steps an epoch; dropout is on, and the learning rate changes within the run.
MODELS = {
    "lstm": (
        *NEURAL,
        "model=lstm",
        "model.network.dropout=0.3",
        "model.optimiser.schedule=plateau",
        "model.optimiser.learning_rate=0.02",
        "trainer.max_epochs=4",
    ),
    "transformer": (
        *NEURAL,
        "model=transformer",
        "model.network.dropout=0.3",
        "model.optimiser.schedule=cosine",
        "model.optimiser.warmup_steps=3",
    ),
    "factored": (*NEURAL, "model=lstm", "model.network.output=factored"),
}


class Killed(BaseException):
    """Stands for a signal that cannot be caught."""


@contextmanager
def killed_at(step: int, error: BaseException) -> Iterator[None]:
    """Let training die before a step."""
    original = LanguageModelling.training_step

    def step_or_die(self: LanguageModelling, batch: Any, batch_idx: int) -> Any:
        if self.global_step == step:
            raise error
        return original(self, batch, batch_idx)

    with pytest.MonkeyPatch.context() as patch, pytest.raises((Killed, RunError)):
        patch.setattr(LanguageModelling, "training_step", step_or_die)
        yield


def _kill(folder: Path, step: int, *overrides: str) -> None:
    with killed_at(step, Killed()):
        small_runs.run(folder, *overrides)


def _require_same(resumed: RunFolder, expected: RunFolder) -> None:
    assert (resumed / "weights.safetensors").read_bytes() == (
        expected / "weights.safetensors"
    ).read_bytes()
    assert small_runs.metrics(resumed) == small_runs.metrics(expected)
    assert resumed.result() == expected.result()


@pytest.fixture(scope="module", params=MODELS)
def uninterrupted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[RunFolder, tuple[str, ...]]:
    overrides = MODELS[request.param]
    run = small_runs.run(tmp_path_factory.mktemp(request.param), *overrides)
    return run, overrides


# Before anything is saved; within an epoch; at its first step; in a later epoch.
@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 4, 6, 9, 16])
def test_resumed_within_an_epoch(
    uninterrupted: tuple[RunFolder, tuple[str, ...]], tmp_path: Path, step: int
) -> None:
    expected, overrides = uninterrupted
    often = (*overrides, "trainer.checkpoint_steps=2")
    _kill(tmp_path, step, *often)
    _require_same(small_runs.run(tmp_path, *often, "existing=resume"), expected)


@pytest.mark.slow
def test_resumed_after_an_epoch(
    uninterrupted: tuple[RunFolder, tuple[str, ...]], tmp_path: Path
) -> None:
    expected, overrides = uninterrupted
    _kill(tmp_path, 15, *overrides)
    _require_same(small_runs.run(tmp_path, *overrides, "existing=resume"), expected)


@pytest.mark.slow
def test_resumed_again_and_again(
    uninterrupted: tuple[RunFolder, tuple[str, ...]], tmp_path: Path
) -> None:
    expected, overrides = uninterrupted
    often = (*overrides, "trainer.checkpoint_steps=1", "existing=resume")
    for step in (3, 3, 7, 11):
        _kill(tmp_path, step, *often)
    _require_same(small_runs.run(tmp_path, *often), expected)


def test_resumed_after_the_last_epoch(
    uninterrupted: tuple[RunFolder, tuple[str, ...]], tmp_path: Path
) -> None:
    """Killed between the end of training and the final numbers."""
    expected, overrides = uninterrupted
    run = small_runs.run(tmp_path, *overrides)
    (run.path / "result.json").unlink()
    _require_same(small_runs.run(tmp_path, *overrides, "existing=resume"), expected)


def test_what_was_trained_before_the_kill_is_not_trained_again(tmp_path: Path) -> None:
    overrides = (*MODELS["lstm"], "trainer.checkpoint_steps=2")
    _kill(tmp_path, 9, *overrides)
    steps: list[int] = []
    original = LanguageModelling.training_step

    def counted(self: LanguageModelling, batch: Any, batch_idx: int) -> Any:
        steps.append(self.global_step)
        return original(self, batch, batch_idx)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LanguageModelling, "training_step", counted)
        small_runs.run(tmp_path, *overrides, "existing=resume")
    assert steps[0] == 8
    assert steps == sorted(set(steps))


SCRIPT = """
import os, signal, sys
from gardenpath.runs.training import train
from gardenpath.models.training.trainer import LanguageModelling

original = LanguageModelling.training_step
def step_or_die(self, batch, batch_idx):
    if self.global_step == 8:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(self, batch, batch_idx)
LanguageModelling.training_step = step_or_die
train(*sys.argv[1:])
"""


def test_a_process_that_is_really_killed(tmp_path: Path) -> None:
    """Nothing of the dying process, not even clean-up, takes part."""
    overrides = (*MODELS["lstm"], "trainer.checkpoint_steps=3")
    expected = small_runs.run(tmp_path / "whole", *overrides)
    small_runs.write_corpus(tmp_path / "killed" / "corpus")
    dead = subprocess.run(
        [sys.executable, "-c", SCRIPT, *small_runs.arguments(tmp_path / "killed", *overrides)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())},
        capture_output=True,
        check=False,
    )
    assert dead.returncode == -signal.SIGKILL, dead.stderr.decode()
    resumed = small_runs.run(tmp_path / "killed", *overrides, "existing=resume")
    _require_same(resumed, expected)


def test_a_changed_byte_of_a_checkpoint_is_not_resumed(tmp_path: Path) -> None:
    _kill(tmp_path, 8, *MODELS["lstm"])
    path = RunFolder(tmp_path / "runs/text/lstm/seed1") / "checkpoints/last.ckpt"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError, match="does not have the checksum") as caught:
        small_runs.run(tmp_path, *MODELS["lstm"], "existing=resume")
    assert str(path) in str(caught.value) and "delete it to start over" in str(caught.value)


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99])
def test_a_truncated_checkpoint_is_named_with_a_remedy(tmp_path: Path, kept: float) -> None:
    _kill(tmp_path, 8, *MODELS["lstm"])
    path = RunFolder(tmp_path / "runs/text/lstm/seed1") / "checkpoints/last.ckpt"
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(RunError, match="delete it to start over") as caught:
        small_runs.run(tmp_path, *MODELS["lstm"], "existing=resume")
    assert str(path) in str(caught.value)


@pytest.mark.slow
def test_without_its_checkpoint_a_run_starts_over(tmp_path: Path) -> None:
    expected = small_runs.run(tmp_path / "whole", *MODELS["lstm"])
    _kill(tmp_path, 8, *MODELS["lstm"])
    (RunFolder(tmp_path / "runs/text/lstm/seed1") / "checkpoints/last.ckpt").unlink()
    _require_same(small_runs.run(tmp_path, *MODELS["lstm"], "existing=resume"), expected)


def test_resuming_with_other_settings_is_refused(tmp_path: Path) -> None:
    _kill(tmp_path, 8, *MODELS["lstm"])
    with pytest.raises(
        RunError, match=r"model\.network\.dropout \(0\.3, now 0\.1\), trainer\.gradient"
    ):
        small_runs.run(
            tmp_path,
            *MODELS["lstm"],
            "existing=resume",
            "model.network.dropout=0.1",
            "trainer.gradient_clip=9",
        )


def test_an_unfinished_run_is_not_started_over_by_accident(tmp_path: Path) -> None:
    _kill(tmp_path, 8, *MODELS["lstm"])
    with pytest.raises(RunError, match="an unfinished run"):
        small_runs.run(tmp_path, *MODELS["lstm"])


def test_a_finished_run_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = small_runs.run(tmp_path, "model=unigram")
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}
    with pytest.raises(RunError, match="a finished run"):
        small_runs.run(tmp_path, "model=unigram")
    small_runs.run(tmp_path, "model=unigram", "existing=resume")
    assert "finished already" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*")} == before


@pytest.mark.slow
def test_overwriting_replaces_a_run(tmp_path: Path) -> None:
    run = small_runs.run(tmp_path, *MODELS["lstm"])
    small_runs.run(tmp_path, *MODELS["lstm"], "existing=overwrite", "trainer.max_epochs=1")
    assert len(small_runs.metrics(run)) == 1


@pytest.mark.slow
def test_a_finished_run_is_continued_to_more_epochs(tmp_path: Path) -> None:
    """``existing=resume`` with a raised limit equals a run of that length; ``skip`` refuses it."""
    given = (*MODELS["lstm"], "trainer.early_stopping=0")
    expected = small_runs.run(tmp_path / "whole", *given, "trainer.max_epochs=4")
    short = (*given, "trainer.max_epochs=2")
    small_runs.run(tmp_path, *short)
    with pytest.raises(RunError, match=r"settings: trainer.max_epochs \(.*\); train it for more"):
        small_runs.run(tmp_path, *given, "trainer.max_epochs=4", "existing=skip")
    with pytest.raises(RunError, match=r"other settings: trainer.max_epochs \(.*\); replace it"):
        small_runs.run(tmp_path, *given, "trainer.max_epochs=1", "existing=resume")
    before = small_runs.run(tmp_path, *short, "existing=resume").result()
    longer = small_runs.run(tmp_path, *given, "trainer.max_epochs=4", "existing=resume")
    assert len(small_runs.metrics(longer)) == 4 and longer.result() != before
    _require_same(longer, expected)


def test_a_run_is_not_resumed_with_another_corpus(tmp_path: Path) -> None:
    """Not even if the words are the same: the sentences after the checkpoint would be others."""
    overrides = ("model=lstm", *small_runs.NEURAL, "trainer.max_epochs=1")
    run = small_runs.run(tmp_path, *overrides)
    (run / "result.json").unlink()
    sentences = tmp_path / "corpus" / "train.txt"
    text = sentences.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    sentences.write_text("".join(reversed(lines)), encoding="utf-8")
    before = {path: path.read_bytes() for path in run.path.iterdir() if path.is_file()}
    with pytest.raises(RunError, match="the corpus, or the way it is prepared, has changed"):
        small_runs.run(tmp_path, *overrides, "existing=resume")
    after = {path: path.read_bytes() for path in run.path.iterdir() if path.name != "failure.json"
             and path.is_file()}  # fmt: skip
    assert after == before
    sentences.write_text(text, encoding="utf-8")
    small_runs.run(tmp_path, *overrides, "existing=resume")
    assert run.is_finished
