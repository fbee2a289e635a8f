"""Several writers of one file of surprisals lose nothing, also when some of them are killed."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import time
from contextlib import closing
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from gardenpath.store import surprisals as surprisal_store
from gardenpath.store.surprisals import Stored, SurprisalStore
from gardenpath.util import Words

SPAWN = multiprocessing.get_context("spawn")
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
