"""The progress bar of a training."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from pytorch_lightning.callbacks import RichProgressBar

from gardenpath.errors import GardenpathError
from gardenpath.eval.perplexity import Perplexity, measure
from gardenpath.models.training.settings import OptimiserSettings, TrainerSettings
from gardenpath.models.training.trainer import EpochBar, epoch_text
from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.small_runs import NEURAL


@pytest.mark.parametrize(
    ("epoch", "most", "text"),
    [(0, 3, "Epoch 1/3"), (2, 3, "Epoch 3/3"), (4, -1, "Epoch 5"), (4, None, "Epoch 5")],
)
def test_epochs_count_from_one(epoch: int, most: int | None, text: str) -> None:
    assert epoch_text(epoch, most) == text


def test_the_bar_names_the_run_and_the_epoch() -> None:
    bar = EpochBar("runs/demo/rnng/seed1")
    bar._trainer = SimpleNamespace(max_epochs=3)  # type: ignore[assignment]
    assert bar._get_train_description(2) == "runs/demo/rnng/seed1: Epoch 3/3"


def test_numbers_of_the_epoch_before_are_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {"v_num": 0, "loss": 1.5, "train/loss": 2.5, "valid/loss": 2.0}

    def of_lightning(*_: Any) -> dict[str, float]:
        return dict(metrics)

    monkeypatch.setattr(RichProgressBar, "get_metrics", of_lightning)
    found = EpochBar("run").get_metrics(None, None)  # type: ignore[arg-type]
    assert found == {"loss": 1.5, "last train/loss": 2.5, "last valid/loss": 2.0}


# ----------------------------------------------------------------------------
# Training: seeds, best weights, early stopping, metrics.


# A rate at which the validation loss soon rises on random text.
OVERFIT = (
    *NEURAL,
    "model.optimiser.learning_rate=0.03",
    "model.optimiser.schedule=constant",
    "model.network.dropout=0.0",
    "trainer.max_epochs=6",
    "trainer.early_stopping=0",
)


def _on_split(run: RunFolder, folder: Path, split: str) -> Perplexity:
    text = (folder / "corpus" / f"{split}.txt").read_text(encoding="utf-8")
    return measure(small_runs.loaded(run), [line.split() for line in text.splitlines()])


@pytest.mark.slow
@pytest.mark.parametrize("model", ["lstm", "transformer"])
def test_same_seed_same_run_and_another_seed_another(tmp_path: Path, model: str) -> None:
    first = small_runs.run(tmp_path, *NEURAL, f"model={model}", f"run_dir={tmp_path / 'a'}")
    second = small_runs.run(tmp_path, *NEURAL, f"model={model}", f"run_dir={tmp_path / 'b'}")
    other = small_runs.run(tmp_path, *NEURAL, f"model={model}", "seed=2")
    assert (first / "weights.safetensors").read_bytes() == (
        second / "weights.safetensors"
    ).read_bytes()
    assert small_runs.metrics(first) == small_runs.metrics(second)
    assert first.result() == second.result()
    assert (first / "weights.safetensors").read_bytes() != (
        other / "weights.safetensors"
    ).read_bytes()
    for name in ("train/loss", "valid/loss"):
        assert small_runs.column(first, name) != small_runs.column(other, name)


@pytest.fixture(scope="module")
def overfitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, Path]:
    folder = tmp_path_factory.mktemp("overfitted")
    return small_runs.run(folder, *OVERFIT), folder


def test_best_weights_are_those_of_the_best_epoch(overfitted: tuple[RunFolder, Path]) -> None:
    run, folder = overfitted
    losses = small_runs.column(run, "valid/loss")
    assert len(losses) == 6
    assert losses[-1] > min(losses) + 0.05
    measured = _on_split(run, folder, "valid")
    assert measured.nats / (measured.words + measured.sentences) == pytest.approx(
        min(losses), rel=1e-5
    )


def test_metrics_have_a_row_per_epoch(overfitted: tuple[RunFolder, Path]) -> None:
    run, _ = overfitted
    header = (run / "metrics.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert set(header) == {
        "epoch",
        "step",
        "learning_rate",
        "train/loss",
        "valid/loss",
        "valid/perplexity",
        "valid/perplexity_without_end",
        "seconds",
    }
    rows = small_runs.metrics(run)
    assert [row["epoch"] for row in rows] == ["0", "1", "2", "3", "4", "5"]
    steps = small_runs.column(run, "step")
    assert steps[0] >= 48 / 8
    assert steps == sorted(set(steps))
    assert small_runs.column(run, "learning_rate") == [0.03] * 6
    assert small_runs.column(run, "train/loss")[-1] < small_runs.column(run, "train/loss")[0]
    perplexities = torch.tensor(small_runs.column(run, "valid/perplexity"))
    expected = torch.tensor(small_runs.column(run, "valid/loss")).exp()
    torch.testing.assert_close(perplexities, expected, rtol=1e-4, atol=0)


def test_perplexity_in_training_is_that_of_evaluation(overfitted: tuple[RunFolder, Path]) -> None:
    run, folder = overfitted
    best = min(small_runs.metrics(run), key=lambda row: float(row["valid/loss"]))
    measured = _on_split(run, folder, "valid")
    assert float(best["valid/perplexity"]) == pytest.approx(measured.with_end, rel=1e-5)
    without = float(best["valid/perplexity_without_end"])
    assert without == pytest.approx(measured.without_end, rel=1e-5)


def test_result_holds_both_splits(overfitted: tuple[RunFolder, Path]) -> None:
    run, folder = overfitted
    result = json.loads((run.path / "result.json").read_text(encoding="utf-8"))
    for split in ("valid", "test"):
        measured = _on_split(run, folder, split)
        assert result[split] == pytest.approx(
            {
                "loss": measured.nats / (measured.words + measured.sentences),
                "perplexity": measured.with_end,
                "perplexity_without_end": measured.without_end,
            }
        )


def test_early_stopping_waits_as_long_as_told(
    overfitted: tuple[RunFolder, Path], tmp_path: Path
) -> None:
    losses = small_runs.column(overfitted[0], "valid/loss")
    best = losses.index(min(losses))
    assert best + 2 < len(losses)
    run = small_runs.run(tmp_path, *OVERFIT, "trainer.early_stopping=2")
    assert small_runs.column(run, "valid/loss") == losses[: best + 3]
    assert (run / "weights.safetensors").read_bytes() == (
        overfitted[0] / "weights.safetensors"
    ).read_bytes()


def test_plateau_lowers_the_rate(tmp_path: Path) -> None:
    schedule = ("model.optimiser.schedule=plateau", "model.optimiser.decay=0.1")
    run = small_runs.run(tmp_path, *OVERFIT, *schedule)
    losses, rates = (small_runs.column(run, n) for n in ("valid/loss", "learning_rate"))
    worse = next(i for i in range(1, len(losses)) if losses[i] > min(losses[:i]))
    assert rates[worse - 1] == pytest.approx(0.03)
    assert 0.003 in [pytest.approx(rate) for rate in rates[worse : worse + 2]]


def test_steps_can_be_limited(tmp_path: Path) -> None:
    """Also in the middle of an epoch, and there is a model at the end."""
    run = small_runs.run(tmp_path, *NEURAL, "trainer.max_steps=4")
    assert small_runs.column(run, "step") == [4.0]
    assert run.is_finished


def test_no_steps_are_no_model(tmp_path: Path) -> None:
    with pytest.raises(GardenpathError, match=r"weights\.safetensors"):
        small_runs.run(tmp_path, *NEURAL, "trainer.max_steps=0")


def test_checkpoints_do_not_pass_through_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be small, or on another disk, where a file would be copied instead of renamed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    run = small_runs.run(tmp_path, *NEURAL, "trainer.checkpoint_steps=1")
    assert (run / "checkpoints/last.ckpt").is_file()


def test_gradient_clipping_changes_the_run(tmp_path: Path) -> None:
    losses = [
        small_runs.column(
            small_runs.run(
                tmp_path,
                *NEURAL,
                "trainer.max_epochs=1",
                "model.optimiser.algorithm=sgd",
                "model.optimiser.learning_rate=1.0",
                f"trainer.gradient_clip={clip}",
                f"run_dir={tmp_path / str(clip)}",
            ),
            "valid/loss",
        )[0]
        for clip in (0, 1e-6)
    ]
    # Steps of almost no length leave the model near the uniform distribution over its words.
    assert losses[1] > losses[0] + 0.05


def test_a_sentence_that_is_too_long_stops_training(tmp_path: Path) -> None:
    with pytest.raises(GardenpathError, match="max_positions"):
        small_runs.run(tmp_path, *NEURAL, "model=transformer", "model.network.max_positions=4")


def test_defaults() -> None:
    settings = TrainerSettings()
    assert (settings.early_stopping, settings.gradient_clip) == (5, 1.0)
    assert OptimiserSettings().algorithm == "adamw"


def test_a_missing_gpu_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    (mistake,) = TrainerSettings(accelerator="gpu").unavailable()
    assert "no GPU" in mistake
    assert TrainerSettings().unavailable() == []
    assert TrainerSettings(devices=2).unavailable() == []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert TrainerSettings(accelerator="gpu").unavailable() == []


def test_too_few_gpus_are_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for accelerator in ("auto", "gpu"):
        for devices in (1, 2):
            assert TrainerSettings(accelerator=accelerator, devices=devices).unavailable() == []
        (mistake,) = TrainerSettings(accelerator=accelerator, devices=3).unavailable()
        assert "devices=3, but this machine has 2 GPU(s)" in mistake
    assert TrainerSettings(accelerator="cpu", devices=3).unavailable() == []


def test_double_precision(tmp_path: Path) -> None:
    run = small_runs.run(tmp_path, *NEURAL, "trainer.precision=64", "trainer.max_epochs=1")
    assert small_runs.column(run, "valid/loss")[0] > 0
    assert run.is_finished


def test_variables_of_a_scheduler_do_not_matter_to_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``srun`` may have started several trainings, each of which is complete."""
    for name, value in (("NTASKS", "4"), ("PROCID", "3"), ("LOCALID", "3"), ("NODEID", "0")):
        monkeypatch.setenv(f"SLURM_{name}", value)
    run = small_runs.run(tmp_path, *NEURAL, "trainer.max_epochs=1")
    assert run.is_finished
    assert (run / "checkpoints/last.ckpt").exists()
