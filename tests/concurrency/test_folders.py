"""Run folders, results and the store under several writers, and under kills at any step."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from gardenpath.errors import RunError
from gardenpath.store import files, manifest, run_claim
from gardenpath.store import surprisals as surprisal_store
from gardenpath.store.files import owner_path, recover_folder
from gardenpath.store.manifest import (
    read_results_manifest,
    results_folder,
    stored_corpus,
    verify_corpus,
    verify_files,
)
from gardenpath.store.run_claim import claim
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.surprisals import Stored, SurprisalStore
from gardenpath.util import Words
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


@pytest.mark.slow
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


# ----------------------------------------------------------------------------
# Several writers of one file of surprisals lose nothing, also when some of them are killed.


CHUNKS, PER_CHUNK = 30, 20


def sentence(writer: int, chunk: int, number: int) -> Words:
    """Every third sentence is one that all writers have."""
    owner = "all" if number % 3 == 0 else f"writer{writer}"
    return (owner, f"chunk {chunk}", str(number))


def scores(words: Words) -> Stored:
    return Stored([-float(len(word)) / 3 for word in words] + [-0.1])


def chunk_of(writer: int, chunk: int) -> dict[Words, Stored]:
    found = [sentence(writer, chunk, number) for number in range(PER_CHUNK)]
    return {words: scores(words) for words in found}


def write(path: Path, writer: int, barrier: Barrier, pause: float = 0.0) -> None:
    store = SurprisalStore(path)
    barrier.wait(timeout=60)
    for chunk in range(CHUNKS):
        store.put("model", chunk_of(writer, chunk))
        time.sleep(pause)


def started(path: Path, count: int, pause: float = 0.0) -> list[BaseProcess]:
    """Writers that begin at the same moment."""
    barrier = SPAWN.Barrier(count + 1)
    processes: list[BaseProcess] = [
        SPAWN.Process(target=write, args=(path, writer, barrier, pause)) for writer in range(count)
    ]
    for process in processes:
        process.start()
    barrier.wait(timeout=60)
    return processes


def require_sound(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("is_on_network", [False, True])
def test_writers_lose_nothing(
    tmp_path: Path, is_on_network: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six begin together, on a file that is not there yet, or on one for a network disk."""
    path = tmp_path / "s.sqlite"
    if is_on_network:
        monkeypatch.setattr(surprisal_store, "is_network", lambda _: True)
        SurprisalStore(path).put("another", chunk_of(0, 0))
    processes = started(path, 6)
    expected = {
        words: stored
        for writer in range(6)
        for chunk in range(CHUNKS)
        for words, stored in chunk_of(writer, chunk).items()
    }
    counts = [0]
    while any(process.is_alive() for process in processes):
        found = SurprisalStore(path).get("model", expected)  # a reader is never in the way
        assert found.items() <= expected.items()
        counts.append(len(found))
    for process in processes:
        process.join(timeout=120)
    assert [process.exitcode for process in processes] == [0] * 6
    assert counts == sorted(counts), "what was read once is there for good"
    assert SurprisalStore(path).get("model", expected) == expected
    with closing(sqlite3.connect(path)) as connection:
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    assert mode == ("delete" if is_on_network else "wal")
    require_sound(path)


def test_writers_that_are_killed_harm_no_others(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    generator = random.Random(7)
    processes = started(path, 4, pause=0.01)
    for process in processes[:2]:
        time.sleep(generator.uniform(0.02, 0.2))
        process.kill()
    for process in processes:
        process.join(timeout=120)
    assert [process.exitcode for process in processes] == [-9, -9, 0, 0]
    store = SurprisalStore(path)
    for writer in range(4):
        for chunk in range(CHUNKS):
            own = {w: s for w, s in chunk_of(writer, chunk).items() if w[0] != "all"}
            found = store.get("model", own)
            assert found in ({}, own) if writer < 2 else found == own, "a chunk is put as a whole"
    require_sound(path)


def write_parses(path: Path, writer: int, barrier: Barrier) -> None:
    """The same sentences, from every second writer with parses."""
    store = SurprisalStore(path)
    barrier.wait(timeout=60)
    for chunk in range(CHUNKS):
        found = chunk_of(0, chunk)
        if writer % 2:
            found = {
                words: Stored(stored.log_probs, parses=[[(1.0, word)] for word in words])
                for words, stored in found.items()
            }
        store.put("model", found)


def test_parses_survive_writers_without_parses(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    barrier = SPAWN.Barrier(4)
    processes = [
        SPAWN.Process(target=write_parses, args=(path, writer, barrier)) for writer in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=120)
    assert [process.exitcode for process in processes] == [0] * 4
    sentences = [words for chunk in range(CHUNKS) for words in chunk_of(0, chunk)]
    found = SurprisalStore(path).get("model", sentences)
    assert len(found) == len(sentences)
    assert all(stored.parses is not None for stored in found.values())


def write_columns(path: Path, writer: int, barrier: Barrier) -> None:
    """The same sentences from all writers, with columns and more and more replicates."""
    store = SurprisalStore(path)
    barrier.wait(timeout=60)
    for chunk in range(CHUNKS):
        store.put("model", {words: searched(words, 2 + writer) for words in chunk_of(0, chunk)})


def searched(words: Words, replicates: int) -> Stored:
    """Scores of a search, which depend on the number of its replicates."""
    places = range(len(words) + 1)
    return Stored(
        [-float(replicates)] * len(places),
        columns={"best_share": [1 / replicates] * len(places)},
        deviations=[[0.5] * replicates for _ in places],
    )


@pytest.mark.slow
@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_writers_and_readers_of_one_file_lose_nothing(tmp_path: Path, journal: str) -> None:
    """All begin together on a file whose entries have no columns yet."""
    path = tmp_path / "s.sqlite"
    old = {words: stored for chunk in range(CHUNKS) for words, stored in chunk_of(0, chunk).items()}
    SurprisalStore(path).put("model", old)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
    barrier = SPAWN.Barrier(4)
    processes = [
        SPAWN.Process(target=write_columns, args=(path, writer, barrier)) for writer in range(3)
    ]
    for process in processes:
        process.start()
    barrier.wait(timeout=60)
    seen = dict.fromkeys(old, 0)
    while any(process.is_alive() for process in processes):
        for words, stored in SurprisalStore(path).get("model", old).items():
            count = stored.replicates
            assert stored == (searched(words, count) if count else old[words])
            assert count >= seen[words], "an entry is replaced by one that says more only"
            seen[words] = count
    for process in processes:
        process.join(timeout=120)
    assert [process.exitcode for process in processes] == [0] * 3
    assert SurprisalStore(path).get("model", old) == {words: searched(words, 4) for words in old}
    require_sound(path)


# ----------------------------------------------------------------------------
# Results and prepared corpora whose writers are killed at any step: whole, old or new.


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flushes matter to power failures only, and asking for versions takes long."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(manifest, "versions", lambda *_: "versions")


def write_results(path: Path, text: str) -> None:
    with results_folder(path, about={"text": text}) as folder:
        (folder / "figures").mkdir()
        for name in ("items.csv", f"only_{text}.csv", "figures/a.svg"):
            (folder / name).write_text(text * 1000, encoding="utf-8")


def whole(path: Path) -> str:
    """Which results are there; they must be whole, and nothing beside them."""
    found = read_results_manifest(path)
    verify_files(path, found, remedy="")
    text = str(found.about["text"])
    assert {one.name for one in path.rglob("*")} == {
        "items.csv", f"only_{text}.csv", "figures", "a.svg", "manifest.json"
    }  # fmt: skip
    return text


@pytest.mark.usefixtures("_quick")
@pytest.mark.slow
@pytest.mark.parametrize("way", ["exchange", "renames"])
def test_results_are_old_or_new_after_a_kill_at_any_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    path = tmp_path / "results" / "cats"
    if way == "renames":
        monkeypatch.setattr(files, "exchange", lambda *_: False)

    def prepare() -> None:
        shutil.rmtree(path.parent, ignore_errors=True)
        write_results(path, "old")

    found = []
    for _ in every_step(lambda: write_results(path, "new"), prepare=prepare, root=tmp_path):
        if way == "renames" and not path.exists():
            recover_folder(path)
        found.append(whole(path))
        write_results(path, "newer")
        assert whole(path) == "newer"
        assert {one.name for one in path.parent.iterdir()} == {"cats", ".cats.lock"}
    assert found == sorted(found, reverse=True), "old, and from some step on new"
    assert set(found) == {"old", "new"}


def build(folder: Path) -> None:
    (folder / "train").mkdir()
    for name in ("vocabulary.json", "train/tokens.npy"):
        (folder / name).write_text(name * 1000, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("_quick")
def test_a_corpus_is_whole_or_absent_after_a_kill_at_any_step(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    found = []
    for _ in every_step(
        lambda: verify_corpus(stored_corpus(cache, "key", build)),
        prepare=lambda: shutil.rmtree(cache, ignore_errors=True),
        root=tmp_path,
    ):
        found.append((cache / "key").exists())
        if found[-1]:
            verify_corpus(cache / "key")
        verify_corpus(stored_corpus(cache, "key", build))
    assert found == sorted(found) and set(found) == {False, True}
