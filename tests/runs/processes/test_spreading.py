"""Scores by several processes: the same as by one, bit for bit, whatever happens to a process."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gardenpath.errors import RunError, ScoringStoppedError, StoppedError
from gardenpath.runs import processes as spreading
from gardenpath.runs.parsing import parsed
from gardenpath.runs.processes import ScoringJob, Worker, spread_jobs
from gardenpath.store.surprisals import SurprisalStore
from tests.toy_runs import run_of

_SUBJECTS = ("the boys", "the man", "the boys that knew", "the man that the boys knew")
_VERBS = ("knew", "hated", "loves", "knows", "wugs")
_OBJECTS = (".", "the boys .", "the man .", "the man that knew .")
SENTENCES = [
    tuple(" ".join(parts).split()) for parts in itertools.product(_SUBJECTS, _VERBS, _OBJECTS)
]
CHUNK = 8


@pytest.fixture
def always_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are started for any work, however little."""
    monkeypatch.setattr(spreading, "LEAST_SECONDS", 0.0)


def jobs_of(folder: Path, store: Path) -> list[ScoringJob]:
    """Three runs, with parses of some sentences."""
    return [
        ScoringJob(run_of(folder, model, store=store), SENTENCES, parsed=SENTENCES[:5], chunk=CHUNK)
        for model in ("lstm", "rnng", "ngram")
    ]


def stored(jobs: list[ScoringJob]) -> list[Sized]:
    return [job.store.get(job.key, job.sentences) for job in jobs]


@pytest.mark.usefixtures("always_starts")
def test_results_are_the_same_for_any_number_of_processes(folder: Path, tmp_path: Path) -> None:
    found = []
    for processes in (1, 2):
        jobs = jobs_of(folder, tmp_path / f"{processes}.sqlite")
        spread_jobs(jobs, processes)
        assert not any(job.missing() for job in jobs)
        found.append(stored(jobs))
    assert found[0] == found[1]
    assert all(one.columns for one in jobs[1].store.get(jobs[1].key, SENTENCES).values())
    job = jobs_of(folder, tmp_path / "alone.sqlite")[1]
    with spreading._one_thread():
        alone = job.run.scored(SENTENCES, parsed=SENTENCES[:5], chunk=CHUNK)
    assert alone == found[0][1], "as without workers, in one thread"


@pytest.mark.usefixtures("always_starts")
def test_a_killed_worker_is_named_and_the_stored_chunks_are_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = jobs_of(folder, tmp_path / "s.sqlite")
    started: list[Worker] = []
    begin = Worker.__init__

    def noticed(worker: Worker) -> None:
        begin(worker)
        started.append(worker)

    def kill_one() -> None:
        while not any(stored(jobs)):
            time.sleep(0.01)
        os.kill(started[0].pid, signal.SIGKILL)

    give = Worker.give

    def wait_for_the_kill(worker: Worker, number: int, message: dict[str, Any]) -> None:
        if any(stored(jobs)):
            worker.task = number  # and never told
        else:
            give(worker, number, message)

    monkeypatch.setattr(Worker, "__init__", noticed)
    monkeypatch.setattr(Worker, "give", wait_for_the_kill)
    killer = threading.Thread(target=kill_one)
    killer.start()
    with pytest.raises(RunError, match=r"was killed \(SIGKILL\).* chunks are stored"):
        spread_jobs(jobs, 2)
    killer.join()
    assert any(stored(jobs))
    assert all(worker._process.poll() is not None for worker in started), "no process is left"
    monkeypatch.undo()
    monkeypatch.setattr(spreading, "LEAST_SECONDS", 1e9)
    spread_jobs(jobs, 2)  # here, because others are not worth their start
    alone = jobs_of(folder, tmp_path / "alone.sqlite")
    spread_jobs(alone, 1)
    assert stored(jobs) == stored(alone)


@pytest.mark.usefixtures("always_starts")
@pytest.mark.parametrize("processes", [1, 2])
def test_a_signal_says_how_much_is_stored(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    """As without several processes; no chunk is stored after the message."""
    jobs = jobs_of(folder, tmp_path / "s.sqlite")

    def stop(*_: object) -> None:
        raise StoppedError(signal.SIGTERM)

    @contextmanager
    def stopping(*_: object) -> Iterator[Callable[[int], None]]:
        yield stop

    monkeypatch.setattr(spreading, "words_progress", stopping)
    with pytest.raises(ScoringStoppedError) as raised:
        spread_jobs(jobs, processes)
    count = sum(map(len, stored(jobs)))
    total = len(jobs) * len(SENTENCES)
    assert count < total
    said = f"{count} of {total} sentences of {len(jobs)} models are stored in {tmp_path}"
    assert raised.value.number == signal.SIGTERM
    assert said in raised.value.in_words and "run the same command again" in raised.value.in_words


def test_a_run_that_cannot_be_scored_is_left_to_the_caller(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs beside it are scored; the caller meets the error where it can deal with it."""
    jobs = jobs_of(folder, tmp_path / "s.sqlite")[:1]
    broken = run_of(folder, "lstm", store=tmp_path / "s.sqlite")
    shutil.copytree(broken.path, tmp_path / "broken")
    broken.folder = type(broken.folder)(tmp_path / "broken")
    _ = broken.model_key
    (tmp_path / "broken" / "weights.safetensors").write_bytes(b"no weights")
    monkeypatch.setattr(spreading, "LEAST_SECONDS", 0.0)
    spread_jobs([ScoringJob(broken, [("the", "boys")]), *jobs], 2)
    assert not any(job.missing() for job in jobs)


def test_no_process_is_started_for_little_work(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreading, "WorkerPool", lambda _count: pytest.fail("started"))
    job = ScoringJob(run_of(folder, "lstm", store=tmp_path / "s.sqlite"), SENTENCES)
    spread_jobs([job], 4)
    assert not job.missing()


def test_a_run_without_a_store_has_a_temporary_one(folder: Path) -> None:
    run = run_of(folder, "lstm")
    found = run.scored(SENTENCES[:3], processes=2)
    assert isinstance(run.store, SurprisalStore)
    place = run.store.path.parent
    assert place.is_dir() and found == run.store.get(run.model_key, SENTENCES[:3])
    run.store = None
    assert not place.exists()


def test_parses_are_shared_too(folder: Path, tmp_path: Path) -> None:
    sentences = SENTENCES[:6]
    one, other = (run_of(folder, "rnng", store=tmp_path / f"{n}.sqlite") for n in (1, 2))
    other.processes = 1
    with spreading._one_thread():
        alone = parsed(one, sentences, k=2)
    assert parsed(other, sentences, k=2) == alone
