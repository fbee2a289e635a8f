"""``task.processes=auto``: processes for long searches on a CPU, and for nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gardenpath.errors import ConfigError
from gardenpath.runs import processes as automatic
from gardenpath.runs import processes as spreading
from gardenpath.runs.processes import LostWorkerError, ScoringJob, spread_jobs
from gardenpath.settings.schema import plain, read
from gardenpath.settings.tasks import PerplexityTask, SuiteTask
from tests.runs.processes.test_spreading import CHUNK, SENTENCES
from tests.toy_runs import run_of

WORDS = sum(map(len, SENTENCES))


@pytest.fixture(autouse=True)
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


@pytest.mark.usefixtures("is_long")
def test_results_are_those_of_any_number_of_processes(folder: Path, tmp_path: Path) -> None:
    found = job_of(folder, store=tmp_path / "auto.sqlite", sentences=SENTENCES[:32])
    spread_jobs([found])
    assert not found.missing()
    alone = job_of(folder, store=tmp_path / "one.sqlite", sentences=SENTENCES[:32])
    spread_jobs([alone], 1)
    stored = [one.store.get(one.key, one.sentences) for one in (found, alone)]
    assert stored[0] == stored[1] and len(stored[0]) == 32


@pytest.mark.usefixtures("is_long")
def test_one_process_takes_the_place_of_each_thread(
    folder: Path, tmp_path: Path, started: list[int]
) -> None:
    job = job_of(folder, store=tmp_path / "s.sqlite")
    spread_jobs([job])
    torch.set_num_threads(1)
    spread_jobs([job])
    assert started == [2]


@pytest.mark.usefixtures("is_long")
@pytest.mark.parametrize("chunk, expected", [(40, []), (20, [2]), (10, [4]), (8, [5])])
def test_every_process_has_several_chunks(
    folder: Path, tmp_path: Path, started: list[int], chunk: int, expected: list[int]
) -> None:
    """There are 80 sentences, and 8 threads."""
    torch.set_num_threads(8)
    spread_jobs([job_of(folder, store=tmp_path / "s.sqlite", chunk=chunk)])
    assert started == expected


def test_no_process_is_started_for_little_work(
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


def test_what_is_stored_is_no_work(
    folder: Path, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(folder, store=tmp_path / "s.sqlite")
    job.run.scored(SENTENCES[:64], chunk=CHUNK)  # less than the limit below
    monkeypatch.setattr(spreading, "LEAST_SECONDS", 0.9 * WORDS / 200)
    spread_jobs([job])
    assert not started


@pytest.mark.usefixtures("is_long")
@pytest.mark.parametrize("model", ["lstm", "ngram"])
def test_other_models_are_left_to_threads(
    folder: Path, tmp_path: Path, started: list[int], model: str
) -> None:
    spread_jobs([job_of(folder, model, store=tmp_path / "s.sqlite")])
    assert not started


@pytest.mark.usefixtures("is_long")
def test_a_gpu_is_left_to_one_process(
    folder: Path, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(folder, store=tmp_path / "s.sqlite")
    monkeypatch.setattr(type(job.run), "device", SimpleNamespace(type="cuda"))
    spread_jobs([job])
    assert not started


@pytest.mark.usefixtures("is_long")
def test_a_number_has_precedence(folder: Path, tmp_path: Path, started: list[int]) -> None:
    job = job_of(folder, "lstm", store=tmp_path / "s.sqlite")
    spread_jobs([job], 3)
    job.run.processes = 4
    spread_jobs([job, job_of(folder, store=tmp_path / "s.sqlite")])
    assert started == [3, 4]


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


def test_memory_of_a_container(tmp_path: Path) -> None:
    assert not list(automatic._free_in_container(tmp_path))
    (tmp_path / "memory.current").write_text("300\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert not list(automatic._free_in_container(tmp_path))
    (tmp_path / "memory.max").write_text("1000\n")
    assert list(automatic._free_in_container(tmp_path)) == [700.0]
    assert automatic.free_bytes() > 0


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


def test_the_setting() -> None:
    assert SuiteTask().processes == "auto"
    for value in ("auto", None, 3):
        content = {**plain(PerplexityTask()), "processes": value}
        assert read(PerplexityTask, content).processes == value
    for wrong in ("all", 0, -1):
        with pytest.raises(ConfigError, match="processes"):
            read(PerplexityTask, {**plain(PerplexityTask()), "processes": wrong})
