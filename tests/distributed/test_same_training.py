"""Two processes train the model that one process trains: losses, decisions and weights."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors.torch import load_file

import gardenpath
from gardenpath.errors import RunError
from gardenpath.models.training.distributed import Placement
from gardenpath.runs.training import train
from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.distributed.follower import NEAR, SMALL, places, write_trees
from tests.integration.commands import ROOT

COMMON = (*SMALL, "trainer.max_epochs=8", "trainer.early_stopping=2")
MODELS = {
    # A rate at which the validation loss soon rises.
    "lstm": ("model.optimiser.algorithm=sgd", "model.optimiser.learning_rate=3.0"),
    "transformer": ("model.network.heads=2",),
    "rnng": ("model.optimiser.learning_rate=0.05",),
    "plm": ("model.network.heads=2", "model.optimiser.warmup_steps=3"),
    "factored": ("model=rnng", "model.network.output=factored"),
}


class Follower:
    """The second process, and the environment of the first."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = ("127.0.0.1", int(free.getsockname()[1]))
        self.first, second = (
            Placement(rank=rank, size=2, local_rank=rank, local_size=2, address=address)
            for rank in range(2)
        )
        paths = [str(ROOT), str(Path(gardenpath.__file__).absolute().parents[1])]
        variables = {**second.as_environment(), "PYTHONPATH": os.pathsep.join(paths)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.distributed.follower"],
            cwd=folder,
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, arguments: list[str]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(arguments) + "\n")
        self.process.stdin.flush()

    def result(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("distributed")
    write_trees(path / "trees")
    return path


@pytest.fixture(scope="module")
def follower(folder: Path) -> Iterator[Follower]:
    started = Follower(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in started.first.as_environment().items():
            patch.setenv(name, value)
        yield started
    started.process.communicate(timeout=60)
    assert started.process.returncode == 0


def arguments(folder: Path, model: str, devices: int, *more: str) -> list[str]:
    return [
        *([] if model == "factored" else [f"model={model}"]),
        *COMMON,
        *MODELS[model],
        f"trainer.devices={devices}",
        *places(folder, f"{model}{devices}"),
        *more,
    ]


def alone(folder: Path, model: str) -> RunFolder:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WORLD_SIZE")
        train(*arguments(folder, model, 1))
    return RunFolder(folder / f"{model}1")


def together(follower: Follower, folder: Path, model: str, *more: str) -> RunFolder:
    given = arguments(folder, model, 2, *more)
    follower.begin(given)
    train(*given)
    assert follower.result() == "{}"
    return RunFolder(folder / f"{model}2")


@pytest.fixture(scope="module")
def lstms(folder: Path, follower: Follower) -> tuple[RunFolder, RunFolder]:
    """The model of one process, and that of two."""
    return alone(folder, "lstm"), together(follower, folder, "lstm")


def test_two_processes_train_the_model_of_one(lstms: tuple[RunFolder, RunFolder]) -> None:
    require_same(*lstms)


@pytest.mark.slow
@pytest.mark.parametrize("model", [name for name in MODELS if name != "lstm"])
def test_so_they_do_with_other_models(folder: Path, follower: Follower, model: str) -> None:
    require_same(alone(folder, model), together(follower, folder, model))


def require_same(one: RunFolder, two: RunFolder) -> None:
    """Numbers of all epochs, results and weights."""
    rows = small_runs.metrics(one)
    assert len(rows) > 1
    for name in rows[0]:
        assert small_runs.column(two, name) == pytest.approx(
            small_runs.column(one, name), rel=0, abs=NEAR if "loss" in name else 1e-4
        ), name
    for split, expected in one.result().items():
        assert two.result()[split] == pytest.approx(expected, rel=NEAR)
    weights, others = load_file(one / "weights.safetensors"), load_file(two / "weights.safetensors")
    assert weights.keys() == others.keys()
    for name, weight in weights.items():
        assert (weight - others[name]).abs().max() < NEAR, name
    log = (two / "train.log").read_text(encoding="utf-8")
    assert log.count(": epoch 1/") == 1


def test_schedule_and_early_stopping_were_exercised(lstms: tuple[RunFolder, RunFolder]) -> None:
    """Else the comparison says nothing about them."""
    rates = small_runs.column(lstms[1], "learning_rate")
    assert min(rates) < 3.0
    assert len(rates) < 8


@pytest.mark.usefixtures("lstms")
def test_a_refused_run_ends_all_processes(folder: Path, follower: Follower) -> None:
    given = arguments(folder, "lstm", 2)
    follower.begin(given)
    with pytest.raises(RunError, match="contains a finished run"):
        train(*given)
    assert follower.result().startswith("LeaderGoneError: ")


def test_a_finished_run_is_left_alone_by_all(
    folder: Path, follower: Follower, lstms: tuple[RunFolder, RunFolder]
) -> None:
    run = lstms[1]
    before = (run / "result.json").stat().st_mtime_ns
    together(follower, folder, "lstm", "existing=resume")
    assert (run / "result.json").stat().st_mtime_ns == before


def test_only_the_first_process_estimates_ngrams(folder: Path, follower: Follower) -> None:
    given = [one for one in arguments(folder, "lstm", 2) if not one.startswith(("model", "run"))]
    given += ["model=ngram", f"run_dir={folder / 'ngram'}"]
    follower.begin(given)
    assert train(*given)["test"]["loss"] > 0
    assert follower.result() == "{}"
