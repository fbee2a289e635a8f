"""Compute the missing scores of jobs with several processes, which put them into the store.

Afterwards the scores are read from the store as if they had been there before, so that tables,
statistics and reports are made in one place and are the same for any number of processes. A job
that a process could not compute is left to the caller, who meets the error and deals with it.
"""

from __future__ import annotations

import signal
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gardenpath.console import console, words_progress
from gardenpath.errors import GardenpathError, RunError, ScoringStoppedError, StoppedError
from gardenpath.eval.word_scorer import OnWords
from gardenpath.runs.processes.automatic import best_count, searched_here
from gardenpath.runs.processes.jobs import Computation, ScoringJob, TemporaryStore
from gardenpath.runs.processes.worker_pool import Gone, Worker, WorkerAnswer, WorkerPool
from gardenpath.runs.run import Run
from gardenpath.settings.bounds import ProcessCount
from gardenpath.text import Words

# Rough speeds of one thread, which decide whether workers are worth their start: they import torch
# and load the model, which takes seconds.
_SEARCHED_WORDS_PER_SECOND = 200
_SCORED_WORDS_PER_SECOND = 20_000
LEAST_SECONDS = 10.0


class LostWorkerError(RunError):
    """A worker process has ended although it was not asked to."""


@dataclass(frozen=True)
class ScoringShard:
    """A chunk of the sentences of a job."""

    job: int
    sentences: Sequence[Words]

    @property
    def words(self) -> int:
        """Number of words."""
        return sum(map(len, self.sentences))


def spread_jobs(jobs: Sequence[ScoringJob], processes: ProcessCount | None = None) -> None:
    """Compute what is missing, with up to ``processes`` processes of one thread each.

    Without a number, that of the runs is used; if they have none either, nothing is done here.
    Results are the same, bit for bit, for any number of processes. Work of a few seconds is done
    in this process, also with one thread, because starting others would take longer. If a worker
    is killed, an error says so; what was stored is kept.

    With ``auto``, only long searches on a CPU are computed here (:mod:`automatic`), and the rest
    is left to the caller, also that of a worker that was killed.
    """
    asked = processes or _asked_of([job.run for job in jobs])
    if asked == "auto":
        _spread_automatically(jobs)
        return
    shards = list(_missing(jobs)) if asked else []
    if shards:
        _compute(jobs, shards, 1 if _is_small(jobs, shards) else min(asked, len(shards)))


def _asked_of(runs: Sequence[Run]) -> ProcessCount | Literal[0]:
    """Return the largest number that a run has; ``auto`` if none has one, but some have that."""
    counts = [run.processes for run in runs if isinstance(run.processes, int)]
    if not counts and any(run.processes == "auto" for run in runs):
        return "auto"
    return max(counts, default=0)


def _spread_automatically(jobs: Sequence[ScoringJob]) -> None:
    """Compute long searches on a CPU with as many processes as are worth their start."""
    searches = [job for job in jobs if searched_here(job)]
    whole = [ScoringShard(number, job.sentences) for number, job in enumerate(searches)]
    if _is_small(searches, whole):
        return  # even if nothing is stored
    shards = list(_missing(searches))
    count = best_count(searches, len(shards))
    if count < 2 or _is_small(searches, shards):
        return
    try:
        _compute(searches, shards, count)
    except LostWorkerError as error:
        console.print(
            f"{error}. This process computes the rest alone.",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip


def _is_small(jobs: Sequence[ScoringJob], shards: Sequence[ScoringShard]) -> bool:
    """Whether other processes would take longer to start than to compute."""
    return sum(_seconds(jobs[one.job], one) for one in shards) < LEAST_SECONDS


def _compute(jobs: Sequence[ScoringJob], shards: Sequence[ScoringShard], count: int) -> None:
    total = sum(one.words for one in shards)
    title = f"scoring ({count} processes)" if count > 1 else "scoring"
    try:
        with words_progress(title, total) as on_words:
            if count == 1:
                _compute_here(jobs, shards, on_words)
            else:
                _compute_spread(jobs, shards, count, on_words)
    except KeyboardInterrupt as stop:
        raise _stopped(stop, jobs) from stop


def _stopped(stop: KeyboardInterrupt, jobs: Sequence[ScoringJob]) -> ScoringStoppedError:
    """Say how many sentences are stored after a signal."""
    total = sum(len(set(map(tuple, job.sentences))) for job in jobs)
    store = jobs[0].store
    return ScoringStoppedError(
        stop.number if isinstance(stop, StoppedError) else signal.SIGINT,
        stored=total - sum(len(one.sentences) for one in _missing(jobs)),
        total=total,
        path=None if isinstance(store, TemporaryStore) else store.path,
        models=len(jobs),
    )


def _missing(jobs: Sequence[ScoringJob]) -> Iterator[ScoringShard]:
    for number, job in enumerate(jobs):
        try:
            yield from (ScoringShard(number, chunk) for chunk in job.missing())
        except GardenpathError:
            continue  # the caller meets it again


def _seconds(job: ScoringJob, shard: ScoringShard) -> float:
    is_searched = job.run.is_syntactic
    return shard.words / (_SEARCHED_WORDS_PER_SECOND if is_searched else _SCORED_WORDS_PER_SECOND)


def _compute_here(
    jobs: Sequence[ScoringJob], shards: Sequence[ScoringShard], on_words: OnWords
) -> None:
    failed: set[int] = set()
    current: tuple[int, Computation] | None = None
    with _one_thread():
        for shard in shards:
            if shard.job in failed:
                continue
            job = jobs[shard.job]
            if current is None or current[0] != shard.job:
                current = shard.job, job.computation(on_words)
            try:
                current[1](shard.sentences, job.parsed, job.matters)
            except GardenpathError:
                failed.add(shard.job)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread: numbers of several threads differ in their last bits."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _compute_spread(
    jobs: Sequence[ScoringJob], shards: Sequence[ScoringShard], count: int, on_words: OnWords
) -> None:
    waiting = _Waiting(shards)
    with WorkerPool(count) as pool:
        for worker in pool.workers:
            _give(worker, waiting, jobs, shards)
        for event in pool.events():
            if isinstance(event, Gone):
                raise LostWorkerError(_lost(event, jobs, shards, waiting))
            _heed(event, waiting, shards, on_words)
            if event.ends is not None:
                _give(event.worker, waiting, jobs, shards)
            if not any(worker.task is not None for worker in pool.workers):
                return


def _heed(
    event: WorkerAnswer, waiting: _Waiting, shards: Sequence[ScoringShard], on_words: OnWords
) -> None:
    if event.words:
        on_words(event.words)
    if event.ends is not None:
        event.worker.task = None
        if event.failed:
            waiting.drop(shards[event.ends].job)
        else:
            waiting.stored += 1


def _give(
    worker: Worker, waiting: _Waiting, jobs: Sequence[ScoringJob], shards: Sequence[ScoringShard]
) -> None:
    """Give the next chunk to a worker that has none; its last model is loaded already."""
    number = waiting.next_for(worker)
    if number is None:
        return
    shard = shards[number]
    worker.job = shard.job
    worker.give(number, jobs[shard.job].message(shard.sentences))


class _Waiting:
    """The chunks that no worker has yet, by job."""

    def __init__(self, shards: Sequence[ScoringShard]) -> None:
        self._by_job: dict[int, deque[int]] = {}
        for number, shard in enumerate(shards):
            self._by_job.setdefault(shard.job, deque()).append(number)
        self._workers: Counter[int] = Counter()
        self.stored = 0

    def next_for(self, worker: Worker) -> int | None:
        """Prefer the job of the worker's last chunk, then the one with most chunks per worker."""
        if worker.job in self._by_job:
            return self._taken(worker.job)
        if worker.job is not None:
            self._workers[worker.job] -= 1
            worker.job = None
        if not self._by_job:
            return None
        job = max(self._by_job, key=lambda one: len(self._by_job[one]) / (1 + self._workers[one]))
        self._workers[job] += 1
        return self._taken(job)

    def _taken(self, job: int) -> int:
        number = self._by_job[job].popleft()
        if not self._by_job[job]:
            del self._by_job[job]
        return number

    def drop(self, job: int) -> None:
        """Give up the rest of a job."""
        self._by_job.pop(job, None)


def _lost(
    gone: Gone, jobs: Sequence[ScoringJob], shards: Sequence[ScoringShard], waiting: _Waiting
) -> str:
    """Say which process was lost, and how to go on."""
    code, task = gone.exit_code, gone.worker.task
    how = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with code {code}"
    run: Path | str = "" if task is None else jobs[shards[task].job].run.path
    doing = f" while it scored {run}" if run else ""
    return (
        f"process {gone.worker.pid} {how}{doing}; {waiting.stored} of {len(shards)} chunks are "
        "stored, and the same command continues from there; if memory was short, set a smaller "
        "task.processes= or search.memory_gb="
    )
