"""Syntactic models through the same command, checkpoints and run folders as all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gardenpath.errors import ConfigError
from gardenpath.models.training.trainer import LanguageModelling
from gardenpath.runs.training import train
from gardenpath.settings.command_line import check_command_line
from gardenpath.settings.compose import load_settings
from gardenpath.settings.train import TrainSettings
from gardenpath.store.run_folder import RunFolder
from tests import small_runs

VARIANTS = {
    "rnng": ("model=rnng",),
    "rnng in-order": ("model=rnng", "model.network.strategy=in_order"),
    "rnng attention": ("model=rnng", "model.network.composition=attention"),
    "plm": ("model=plm",),
    "plm_mask": ("model=plm_mask",),
    "rnng on pieces": (
        "model=rnng",
        "data.subwords.algorithm=bpe",
        "data.subwords.pieces=120",
    ),
}


class Killed(BaseException):
    """Stands for a signal that cannot be caught."""


def run(folder: Path, *overrides: str) -> RunFolder:
    settings: TrainSettings = load_settings(
        "train",
        [
            "data=toy_english",
            "data.reader.train=60",
            "data.reader.valid=12",
            "data.reader.test=12",
            "model.size=tiny",
            "model.batches.max_sentences=12",
            "trainer=cpu",
            "trainer.max_epochs=3",
            f"paths.runs={folder / 'runs'}",
            f"paths.cache={folder / 'cache'}",
            *overrides,
        ],
    )
    train(settings)
    return RunFolder(Path(settings.run_dir))


@pytest.mark.parametrize("variant", VARIANTS)
def test_training_lowers_the_joint_loss_and_reports_its_parts(variant: str, tmp_path: Path) -> None:
    folder = run(tmp_path, *VARIANTS[variant])
    rows = small_runs.metrics(folder)
    losses = [float(row["valid/loss"]) for row in rows]
    assert losses[-1] < losses[0]
    for row in rows:
        parts = float(row["valid/action_loss"]) + float(row["valid/word_loss"])
        assert parts == pytest.approx(float(row["valid/loss"]), rel=1e-5)
    result = folder.result()
    assert result["valid"]["loss"] == pytest.approx(min(losses), rel=1e-5)
    assert "joint_perplexity" in result["test"] and "perplexity" not in result["test"]


@pytest.mark.parametrize("variant", ["rnng", "plm_mask"])
def test_a_killed_run_resumes_to_the_same_result(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides = (*VARIANTS[variant], "trainer.checkpoint_steps=2")
    expected = run(tmp_path / "whole", *overrides)
    original = LanguageModelling.training_step

    def step_or_die(self: LanguageModelling, batch: Any, batch_idx: int) -> Any:
        if self.global_step == 8:
            raise Killed
        return original(self, batch, batch_idx)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(LanguageModelling, "training_step", step_or_die)
        run(tmp_path / "killed", *overrides)
    resumed = run(tmp_path / "killed", *overrides, "existing=resume")
    assert resumed.weights_path.read_bytes() == expected.weights_path.read_bytes()
    assert small_runs.metrics(resumed) == small_runs.metrics(expected)


@pytest.mark.parametrize("model", ["lstm", "transformer", "rnng", "plm", "plm_mask"])
def test_classes_of_pieces_are_refused_before_anything_is_loaded(model: str) -> None:
    given = [f"model={model}", "data=toy_english", "model.network.output=factored"]
    check_command_line("train", given)
    with pytest.raises(ConfigError, match=r"output=factored needs whole words, but .*=bpe divides"):
        check_command_line("train", [*given, "data.subwords.algorithm=bpe"])


@pytest.mark.parametrize("model", ["rnng", "plm", "plm_mask"])
def test_plain_text_is_refused_before_anything_is_loaded(model: str) -> None:
    with pytest.raises(ConfigError, match=f"model={model} learns from trees"):
        check_command_line("train", [f"model={model}", "data=text", "data.root=/nowhere"])
