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
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gardenpath.errors import ConfigError, RunError, ScoringStoppedError, StoppedError
from gardenpath.runs import processes as automatic
from gardenpath.runs import processes as spreading
from gardenpath.runs.parsing import parsed
from gardenpath.runs.processes import LostWorkerError, ScoringJob, spread_jobs
from gardenpath.settings.schema import plain, read
from gardenpath.settings.tasks import PerplexityTask, SuiteTask
from gardenpath.store.surprisals import SurprisalStore
from gardenpath.workers import Worker
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


@pytest.mark.slow
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
    started: list[Worker[Any]] = []
    begin = Worker.__init__

    def noticed(worker: Worker[Any], task: Any) -> None:
        begin(worker, task)
        started.append(worker)

    def kill_one() -> None:
        while not any(stored(jobs)):
            time.sleep(0.01)
        os.kill(started[0].pid, signal.SIGKILL)

    send = Worker.send

    def wait_for_the_kill(worker: Worker[Any], content: object) -> None:
        if not any(stored(jobs)):
            send(worker, content)

    monkeypatch.setattr(Worker, "__init__", noticed)
    monkeypatch.setattr(Worker, "send", wait_for_the_kill)
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


@pytest.mark.slow
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


@pytest.mark.slow
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
    monkeypatch.setattr(spreading, "WorkerPool", lambda *_: pytest.fail("started"))
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


# ----------------------------------------------------------------------------
# ``task.processes=auto``: processes for long searches on a CPU, and for nothing else.


WORDS = sum(map(len, SENTENCES))


@pytest.fixture
def two_threads() -> Iterator[None]:
    """This process would compute with two threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any work is long enough."""
    monkeypatch.setattr(spreading, "LEAST_SECONDS", 0.0)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of processes that would be started; nothing is computed."""
    counts: list[int] = []
    monkeypatch.setattr(spreading, "_compute", lambda _jobs, _shards, count: counts.append(count))
    return counts


def job_of(folder: Path, model: str = "rnng", *, store: Path, **given: Any) -> ScoringJob:
    run = run_of(folder, model, store=store)
    run.processes = "auto"
    return ScoringJob(run, given.pop("sentences", SENTENCES), **{"chunk": CHUNK, **given})


@pytest.mark.slow
@pytest.mark.usefixtures("two_threads")
@pytest.mark.usefixtures("is_long")
def test_results_are_those_of_any_number_of_processes(folder: Path, tmp_path: Path) -> None:
    found = job_of(folder, store=tmp_path / "auto.sqlite", sentences=SENTENCES[:32])
    spread_jobs([found])
    assert not found.missing()
    alone = job_of(folder, store=tmp_path / "one.sqlite", sentences=SENTENCES[:32])
    spread_jobs([alone], 1)
    stored = [one.store.get(one.key, one.sentences) for one in (found, alone)]
    assert stored[0] == stored[1] and len(stored[0]) == 32


@pytest.mark.usefixtures("two_threads")
@pytest.mark.usefixtures("is_long")
def test_one_process_takes_the_place_of_each_thread(
    folder: Path, tmp_path: Path, started: list[int]
) -> None:
    job = job_of(folder, store=tmp_path / "s.sqlite")
    spread_jobs([job])
    torch.set_num_threads(1)
    spread_jobs([job])
    assert started == [2]


@pytest.mark.usefixtures("two_threads")
@pytest.mark.usefixtures("is_long")
@pytest.mark.parametrize("chunk, expected", [(40, []), (20, [2]), (10, [4]), (8, [5])])
def test_every_process_has_several_chunks(
    folder: Path, tmp_path: Path, started: list[int], chunk: int, expected: list[int]
) -> None:
    """There are 80 sentences, and 8 threads."""
    torch.set_num_threads(8)
    spread_jobs([job_of(folder, store=tmp_path / "s.sqlite", chunk=chunk)])
    assert started == expected


@pytest.mark.usefixtures("two_threads")
def test_no_process_is_started_for_little_work_automatic(
    folder: Path, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the store is read nor a temporary one made."""
    job = job_of(folder, store=tmp_path / "s.sqlite")
    job.run.store = None
    seconds = WORDS / spreading._SEARCHED_WORDS_PER_SECOND
    monkeypatch.setattr(spreading, "LEAST_SECONDS", 1.01 * seconds)
    spread_jobs([job])
    assert not started and job.run.store is None
    monkeypatch.setattr(spreading, "LEAST_SECONDS", 0.99 * seconds)
    spread_jobs([job])
    assert started == [2]


@pytest.mark.slow
@pytest.mark.usefixtures("two_threads")
def test_what_is_stored_is_no_work(
    folder: Path, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(folder, store=tmp_path / "s.sqlite")
    job.run.scored(SENTENCES[:64], chunk=CHUNK)  # less than the limit below
    monkeypatch.setattr(spreading, "LEAST_SECONDS", 0.9 * WORDS / 200)
    spread_jobs([job])
    assert not started


@pytest.mark.usefixtures("two_threads")
@pytest.mark.usefixtures("is_long")
@pytest.mark.parametrize("model", ["lstm", "ngram"])
def test_other_models_are_left_to_threads(
    folder: Path, tmp_path: Path, started: list[int], model: str
) -> None:
    spread_jobs([job_of(folder, model, store=tmp_path / "s.sqlite")])
    assert not started


@pytest.mark.usefixtures("two_threads")
@pytest.mark.usefixtures("is_long")
def test_a_gpu_is_left_to_one_process(
    folder: Path, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(folder, store=tmp_path / "s.sqlite")
    monkeypatch.setattr(type(job.run), "device", SimpleNamespace(type="cuda"))
    spread_jobs([job])
    assert not started


@pytest.mark.usefixtures("two_threads")
@pytest.mark.usefixtures("is_long")
def test_a_number_has_precedence(folder: Path, tmp_path: Path, started: list[int]) -> None:
    job = job_of(folder, "lstm", store=tmp_path / "s.sqlite")
    spread_jobs([job], 3)
    job.run.processes = 4
    spread_jobs([job, job_of(folder, store=tmp_path / "s.sqlite")])
    assert started == [3, 4]


@pytest.mark.usefixtures("two_threads")
@pytest.mark.usefixtures("is_long")
def test_processes_fit_into_memory(
    folder: Path, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may use 2 GB for its search."""
    torch.set_num_threads(8)
    job = job_of(folder, store=tmp_path / "s.sqlite")
    for gigabytes in (5.9, 6.0, 9.0):
        monkeypatch.setattr(automatic, "free_bytes", lambda free=gigabytes * 1e9: free)
        spread_jobs([job])
    assert started == [2, 3]


@pytest.mark.usefixtures("two_threads")
def test_memory_of_a_container(tmp_path: Path) -> None:
    assert not list(automatic._free_in_container(tmp_path))
    (tmp_path / "memory.current").write_text("300\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert not list(automatic._free_in_container(tmp_path))
    (tmp_path / "memory.max").write_text("1000\n")
    assert list(automatic._free_in_container(tmp_path)) == [700.0]
    assert automatic.free_bytes() > 0


@pytest.mark.usefixtures("two_threads")
@pytest.mark.usefixtures("is_long")
def test_this_process_goes_on_alone(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def lost(*_: object) -> None:
        raise LostWorkerError("process 7 was killed (SIGKILL)")

    monkeypatch.setattr(spreading, "_compute_spread", lost)
    job = job_of(folder, store=tmp_path / "s.sqlite", sentences=SENTENCES[:32])
    assert len(job.run.scored(job.sentences, chunk=CHUNK)) == 32
    assert "was killed (SIGKILL). This process computes the rest alone." in capsys.readouterr().out


@pytest.mark.usefixtures("two_threads")
def test_the_setting() -> None:
    assert SuiteTask().processes == "auto"
    for value in ("auto", None, 3):
        content = {**plain(PerplexityTask()), "processes": value}
        assert read(PerplexityTask, content).processes == value
    for wrong in ("all", 0, -1):
        with pytest.raises(ConfigError, match="processes"):
            read(PerplexityTask, {**plain(PerplexityTask()), "processes": wrong})
