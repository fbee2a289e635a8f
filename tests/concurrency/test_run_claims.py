"""Trainings that want one run folder, and trainings that are killed while they write it."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from gardenpath.errors import RunError
from gardenpath.store import manifest, run_claim
from gardenpath.store.files import owner_path
from gardenpath.store.run_claim import claim
from gardenpath.store.run_folder import RunFolder
from tests.concurrency.kills import every_step, killed_before_step
from tests.store.sample_runs import CONFIG, sample_run, write_words

SPAWN = multiprocessing.get_context("spawn")
NEW: dict[str, Any] = {**CONFIG, "seed": 2}


def train(path: Path, barrier: Barrier, told: Queue[str], config: dict[str, Any]) -> None:
    """Begin together; hold the folder until all others have tried."""
    folder = RunFolder(path)
    barrier.wait(timeout=60)
    try:
        with claim(
            folder, config, existing="overwrite" if folder.is_begun else "refuse"
        ) as claimed:
            barrier.wait(timeout=60)
            claimed.begin(config, write_words)
            (folder / "weights.safetensors").write_bytes(b"new")
            claimed.finish({"seed": config["seed"]})
            told.put("")
    except RunError as error:
        told.put(str(error))
        barrier.wait(timeout=60)


@pytest.mark.parametrize("is_there", [False, True])
def test_one_of_several_trainings_wins(tmp_path: Path, is_there: bool) -> None:
    path = tmp_path / "runs" / "seed1"
    if is_there:
        sample_run(path)
    barrier, told = SPAWN.Barrier(4), SPAWN.Queue()
    processes = [
        SPAWN.Process(target=train, args=(path, barrier, told, {**CONFIG, "seed": number}))
        for number in range(4)
    ]
    for process in processes:
        process.start()
    said = [told.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0] * 4
    refusals = [text for text in said if text]
    assert len(refusals) == 3
    run = RunFolder(path)
    winner = processes[run.config()["seed"]]
    assert run.result() == {"seed": run.config()["seed"]}
    for text in refusals:
        assert f"is in use by process {winner.pid} on " in text and "run_dir=" in text
    run.verify()


def test_a_killed_training_gives_its_folder_back(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")

    def begin_and_die() -> None:
        with claim(folder, CONFIG) as claimed:
            claimed.begin(CONFIG, write_words)
            os.kill(os.getpid(), signal.SIGKILL)

    assert killed_before_step(10**9, begin_and_die, tmp_path)
    assert owner_path(folder / ".lock").exists(), "nobody has removed the record"
    with pytest.raises(RunError, match="an unfinished run"), claim(folder, CONFIG):
        pass
    with claim(folder, CONFIG, existing="resume") as claimed:
        assert claimed.continues


def state_of(folder: RunFolder) -> str:
    """Which run a folder holds, as somebody sees who comes after a kill."""
    if not folder.is_begun:
        assert not folder.is_finished
        return "none"
    seed = folder.config()["seed"]
    if folder.is_finished:
        folder.verify()
        assert folder.result()["seed"] == seed
        return f"finished {seed}"
    assert (folder / "vocabulary.json").exists()
    return f"begun {seed}"


@pytest.mark.slow
def test_a_kill_at_any_step_leaves_one_run_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first file of a new run over an old one to its last."""
    # Flushes matter to power failures only, and asking for versions takes long.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    for module in (manifest, run_claim):
        monkeypatch.setattr(module, "versions", lambda *_: "versions")
    old, folder = tmp_path / "old", RunFolder(tmp_path / "run")
    with claim(RunFolder(old), CONFIG) as claimed:
        claimed.begin(CONFIG, write_words)
        (old / "weights.safetensors").write_bytes(b"old")
        (old / "metrics.csv").write_bytes(b"old")
        claimed.finish({"seed": 1})
    (old / "notes.txt").write_text("mine", encoding="utf-8")

    def prepare() -> None:
        shutil.rmtree(folder.path, ignore_errors=True)
        shutil.copytree(old, folder.path)

    def replace() -> None:
        with claim(folder, NEW, existing="overwrite") as claimed:
            claimed.begin(NEW, write_words)
            (folder / "weights.safetensors").write_bytes(b"new")
            claimed.finish({"seed": 2})

    states = []
    for _ in every_step(replace, prepare=prepare, root=folder.path):
        assert folder.is_marked
        assert (folder.path / "notes.txt").read_text(encoding="utf-8") == "mine"
        states.append(state_of(folder))
        if states[-1] == "begun 2":
            assert not (folder / "metrics.csv").exists(), "nothing of the old run is mixed in"
        replace()
        assert state_of(folder) == "finished 2"
        assert not list(folder.path.glob(".*.part"))
    order = ["finished 1", "begun 1", "none", "begun 2", "finished 2"]
    assert states == sorted(states, key=order.index)
    assert {"finished 1", "none", "begun 2", "finished 2"} <= set(states)
