"""Checkpoint files: whole or not there, readable by torch alone, and damage is noticed."""

from __future__ import annotations

import json
import os
import random
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors import safe_open

from gardenpath.errors import DivergedError, RunError
from gardenpath.models.output import BatchScores
from gardenpath.models.sequential.networks import LstmNetwork
from gardenpath.models.training import checkpoints as divergence
from gardenpath.models.training.checkpoints import WholeCheckpoints, read_checkpoint
from gardenpath.models.weights import save_weights
from gardenpath.runs.training import train
from gardenpath.store.run_folder import RunFolder, read_failure
from tests import small_runs
from tests.concurrency.kills import every_step
from tests.integration.commands import TINY, call, toy
from tests.small_runs import NEURAL

_EMPTY: dict[str, Any] = {
    "loops": {}, "callbacks": {}, "optimizer_states": [], "lr_schedulers": []
}  # fmt: skip


def state(value: float) -> dict[str, Any]:
    """The state of a training with one matrix."""
    return {**_EMPTY, "state_dict": {"weight": torch.full((64, 8), value)}}


def save(path: Path, value: float = 1.0) -> None:
    WholeCheckpoints().save_checkpoint(state(value), path)


def saved(path: Path, value: float = 1.0) -> Path:
    save(path, value)
    return path


def value_of(path: Path) -> float:
    (value,) = set(read_checkpoint(path)["state_dict"]["weight"].flatten().tolist())
    return float(value)


def test_torch_and_zip_read_it_as_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path / "checkpoints" / "last.ckpt", 2.0)
    assert value_of(path) == 2.0
    loaded = torch.load(path, weights_only=True)
    assert torch.equal(loaded["state_dict"]["weight"], torch.full((64, 8), 2.0))
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.comment.startswith(b"gardenpath sha256 ")


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path / "last.ckpt")
    content = path.read_bytes()
    generator = random.Random(3)
    places = [*generator.sample(range(len(content)), 300), *range(len(content) - 110, len(content))]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << generator.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(RunError, match=r"is damaged: .*; delete it to start over") as caught:
            read_checkpoint(path)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("kept", [0, 1, 30, 0.5, 0.99, -1, -82, -83])
def test_a_truncated_file_is_noticed(tmp_path: Path, kept: float) -> None:
    path = saved(tmp_path / "last.ckpt")
    content = path.read_bytes()
    path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
    with pytest.raises(RunError, match="delete it to start over"):
        read_checkpoint(path)


def test_checkpoints_without_a_checksum_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    torch.save(state(4.0), path)
    with pytest.raises(RunError, match="its end is missing"):
        value_of(path)


class Canary:
    """Something that a checkpoint must not bring to life."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("canary",))


@pytest.mark.parametrize(
    "content", [{"state_dict": {}}, [1, 2], {**_EMPTY, "state_dict": Canary()}]
)
def test_other_content_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "last.ckpt"
    WholeCheckpoints().save_checkpoint(content, path)
    with pytest.raises(RunError, match="delete it to start over"):
        read_checkpoint(path)
    assert not (tmp_path / "canary").exists()


def test_a_kill_at_any_step_leaves_the_old_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "run" / "last.ckpt"

    def prepare() -> None:
        shutil.rmtree(path.parent, ignore_errors=True)
        save(path, 1.0)

    found = []
    for _ in every_step(lambda: save(path, 2.0), prepare=prepare, root=tmp_path):
        found.append(value_of(path))
    assert found == sorted(found) and set(found) == {1.0, 2.0}


def test_a_full_disk_keeps_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "last.ckpt", 1.0)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(RunError, match="No space left") as caught:
        patch.setattr(os, "fsync", full)
        save(path, 2.0)
    assert str(path) in str(caught.value) and "existing=resume" in str(caught.value)
    assert value_of(path) == 1.0
    assert [one.name for one in tmp_path.iterdir()] == ["last.ckpt"]


# ----------------------------------------------------------------------------
# A training that diverges stops at once, says so, and is neither finished nor resumed.


EXPLODING = (
    *NEURAL,
    "model.optimiser.algorithm=sgd",
    "model.optimiser.learning_rate=1e30",
    "model.optimiser.schedule=constant",
    "trainer.gradient_clip=0",
)


@pytest.fixture(scope="module")
def exploded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunFolder, str]:
    folder = tmp_path_factory.mktemp("exploded")
    with pytest.raises(DivergedError) as caught:
        small_runs.run(folder, *EXPLODING, "trainer.checkpoint_steps=1")
    return folder, RunFolder(folder / "runs/text/lstm/seed1"), str(caught.value)


def test_it_stops_at_the_step_and_says_why(exploded: tuple[Path, RunFolder, str]) -> None:
    _, run, message = exploded
    assert "\n" not in message and str(run.path) in message
    assert "diverged at step " in message and "(learning rate 1e+30)" in message
    assert "lower model.optimiser.learning_rate" in message
    failure = read_failure(run)
    assert failure is not None
    assert (failure.kind, failure.message) == ("diverged", message)
    assert failure.step is not None and failure.step <= 3


def test_the_batch_can_be_looked_at(exploded: tuple[Path, RunFolder, str]) -> None:
    folder, run, message = exploded
    path = run / "diverged" / "batch.safetensors"
    assert str(path) in message
    with safe_open(path, framework="pt") as file:
        about = file.metadata()
        numbers = file.get_tensor("sentence_numbers").tolist()
        assert len(file.get_tensor("inputs")) == len(numbers)
    failure = read_failure(run)
    assert failure is not None
    assert int(about["step"]) == failure.step
    assert about["split"] == "train" and float(about["learning_rate"]) == 1e30
    corpus = (folder / "corpus" / "train.txt").read_text(encoding="utf-8").splitlines()
    listed = (run / "diverged" / "sentences.txt").read_text(encoding="utf-8").splitlines()
    assert listed == [f"{number}\t{corpus[number]}" for number in numbers]


def test_nothing_infinite_is_left(exploded: tuple[Path, RunFolder, str]) -> None:
    _, run, _ = exploded
    assert not run.is_finished and not (run / "weights.safetensors").exists()
    if (run / "checkpoints/last.ckpt").exists():
        state = torch.load(run / "checkpoints/last.ckpt", weights_only=True)["state_dict"]
        assert all(torch.isfinite(weight).all() for weight in state.values())


def test_it_is_not_resumed_but_can_be_replaced(exploded: tuple[Path, RunFolder, str]) -> None:
    folder, run, message = exploded
    with pytest.raises(DivergedError, match="would diverge again") as caught:
        small_runs.run(folder, *EXPLODING, "trainer.checkpoint_steps=1", "existing=resume")
    reason = message.removeprefix(f"{run.path}: ")
    assert str(caught.value) == (
        f"{run.path}: is not resumed, because it would diverge again: {reason}"
    )
    small_runs.run(folder, *NEURAL, "existing=overwrite", "trainer.max_epochs=1")
    assert run.is_finished and read_failure(run) is None
    assert not (run / "diverged").exists()


@pytest.mark.parametrize("model", ["transformer", "rnng", "plm"])
def test_batches_of_all_families_are_kept(tmp_path: Path, model: str) -> None:
    chosen = [*TINY, *EXPLODING[len(NEURAL) :], f"model={model}", "model.network.layers=1"]
    with pytest.raises(DivergedError) as caught:
        train(*toy(tmp_path, *chosen, train_sentences=60))
    run = RunFolder(tmp_path / "runs" / "toy_english" / model / "seed1")
    assert str(run.path) in str(caught.value)
    with safe_open(run / "diverged" / "batch.safetensors", framework="pt") as file:
        numbers = file.get_tensor("sentence_numbers")
        assert len(file.keys()) > 3
    listed = (run / "diverged" / "sentences.txt").read_text(encoding="utf-8").splitlines()
    assert len(listed) == len(numbers)


def test_the_command_fails_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small_runs.write_corpus(tmp_path / "corpus")
    code = call("train.py", *small_runs.arguments(tmp_path, *EXPLODING))
    said = capsys.readouterr().err.splitlines()
    assert code == 2
    assert [line for line in said if line.startswith("error: ") and "diverged" in line] == said[-1:]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_validation_loss_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    """In the second epoch: what the first has learnt is kept, and nothing after it."""
    original, calls = LstmNetwork.score, 0

    def score(self: LstmNetwork, batch: Any) -> BatchScores:
        nonlocal calls
        scores = original(self, batch)
        calls += not self.training
        if self.training or calls != 4:
            return scores
        spoilt = {"word": scores.log_prob["word"] - value, "end": scores.log_prob["end"]}
        return BatchScores(spoilt, scores.words, scores.sentences)

    monkeypatch.setattr(LstmNetwork, "score", score)
    with pytest.raises(DivergedError, match=f"the validation loss is {value}"):
        small_runs.run(tmp_path, *NEURAL)
    run = RunFolder(tmp_path / "runs/text/lstm/seed1")
    assert len(small_runs.metrics(run)) == 1
    with safe_open(run / "diverged" / "batch.safetensors", framework="pt") as file:
        assert file.metadata()["split"] == "valid"
        numbers = file.get_tensor("sentence_numbers").tolist()
    corpus = (tmp_path / "corpus" / "valid.txt").read_text(encoding="utf-8").splitlines()
    listed = (run / "diverged" / "sentences.txt").read_text(encoding="utf-8").splitlines()
    assert listed == [f"{number}\t{corpus[number]}" for number in numbers]


def test_gradients_that_are_not_numbers_are_found_before_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss itself is finite, and the weights are not after the step."""
    original, calls = LstmNetwork.score, 0

    def score(self: LstmNetwork, batch: Any) -> BatchScores:
        nonlocal calls
        calls += 1
        scores = original(self, batch)
        if calls != 2:
            return scores
        weight = next(self.parameters())
        # The square root of zero has an infinite derivative; times zero it is not a number.
        broken = {"word": scores.log_prob["word"] + 0.0 * (0.0 * weight.sum()).sqrt()}
        return BatchScores({**scores.log_prob, **broken}, scores.words, scores.sentences)

    monkeypatch.setattr(LstmNetwork, "score", score)
    with pytest.raises(DivergedError, match=r"at step 2 .*: the weights are infinite") as caught:
        small_runs.run(tmp_path, *NEURAL, "trainer.checkpoint_steps=1")
    assert caught.value.step == 2


@pytest.mark.parametrize("model", ["lstm", "ngram"])
def test_a_model_without_finite_perplexity_is_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    from gardenpath.models.output import Totals
    from gardenpath.runs import training

    def impossible(*_: object) -> Totals:
        return Totals(log_prob={"word": -float("inf"), "end": -1.0}, words=3, sentences=1)

    monkeypatch.setattr(training, "score_split", impossible)
    chosen = (*NEURAL, "trainer.max_epochs=1") if model == "lstm" else ()
    with pytest.raises(DivergedError, match="the loss of the split valid is inf"):
        small_runs.run(tmp_path, f"model={model}", *chosen)
    run = RunFolder(tmp_path / f"runs/text/{model}/seed1")
    assert not run.is_finished
    content = json.loads((run / "failure.json").read_text(encoding="utf-8"))
    assert (content["kind"], content["step"]) == ("diverged", None)


def test_weights_that_are_not_numbers_are_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if no word of the corpus uses them."""
    from gardenpath.models.training import trainer

    def spoilt(network: Any, path: Path) -> None:
        with torch.no_grad():
            next(network.parameters())[0, 0] = float("nan")
        save_weights(network, path)

    monkeypatch.setattr(trainer, "save_weights", spoilt)
    with pytest.raises(DivergedError):
        small_runs.run(tmp_path, *NEURAL, "trainer.max_epochs=1")
    assert not RunFolder(tmp_path / "runs/text/lstm/seed1").is_finished


def test_on_a_gpu_the_loss_of_the_step_before_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host never waits for the step that it has just launched."""
    log: list[str] = []

    def on_its_way(loss: torch.Tensor) -> tuple[torch.Tensor, Any]:
        number = sum(line.startswith("launched") for line in log) + 1
        log.append(f"launched {number}")
        return loss, SimpleNamespace(synchronize=lambda: log.append(f"waited for {number}"))

    monkeypatch.setattr(divergence, "_on_its_way", on_its_way)
    small_runs.run(tmp_path / "well", *NEURAL, "trainer.max_epochs=1")
    assert log[:5] == [
        "launched 1", "launched 2", "waited for 1", "launched 3", "waited for 2"
    ]  # fmt: skip
    with pytest.raises(DivergedError) as late:
        small_runs.run(tmp_path, *EXPLODING)
    monkeypatch.undo()
    with pytest.raises(DivergedError) as at_once:
        small_runs.run(tmp_path, *EXPLODING, "existing=overwrite")
    assert str(late.value) == str(at_once.value), "the same step and batch are named"
