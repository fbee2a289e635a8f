"""Scoring in several processes: what is missing in a store is computed, and put into it.

Called by whatever scores sentences (`Run.scored`, suites, perplexity, parses) before it reads the
store. Scores are then read from there as if they had been there before, so that tables, statistics
and reports are made in one place and are the same, bit for bit, for any number of processes. A job
that cannot be computed is left to the caller, who meets the error and deals with it. The processes
themselves are those of `workers`; nothing here may change a number.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import weakref
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gardenpath.console import console, words_progress
from gardenpath.data.sentence import OnWords
from gardenpath.data.words.pieces import BoundaryChoice
from gardenpath.errors import GardenpathError, RunError, ScoringStoppedError, StoppedError
from gardenpath.eval.search.settings import SearchSettings
from gardenpath.runs.run import Run
from gardenpath.settings.schema import ProcessCount
from gardenpath.store.surprisals import (
    ANY_ENTRY,
    EntryNeeds,
    Matters,
    SurprisalStore,
    missing_chunks,
    places_of,
)
from gardenpath.util import Words
from gardenpath.workers import Worker, WorkerExitedError, WorkerPool


class TemporaryStore(SurprisalStore):
    """A file of surprisals in the folder for temporary files, removed with this object."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="gardenpath-")
        super().__init__(Path(folder) / "surprisals.sqlite")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


@dataclass(frozen=True)
class ScoringJob:
    """The sentences to score with a run or, with ``k_best``, to parse.

    For ``parsed`` sentences, partial parses are computed too. ``chunk`` is the number of sentences
    computed together; None uses that of the run. ``matters`` are the positions whose standard error
    must reach the tolerance of the search, as in :meth:`Run.scored`.
    """

    run: Run
    sentences: Sequence[Words]
    parsed: Collection[Words] = ()
    chunk: int | None = None
    k_best: int | None = None
    matters: Matters | None = None

    @property
    def needs(self) -> EntryNeeds:
        """What stored results must have so that they are not computed again."""
        if self.k_best is not None:
            return ANY_ENTRY
        return self.run.entry_needs(self.parsed, self.matters)

    @property
    def key(self) -> str:
        """The key of the results in the store."""
        return _key_of(self.run, self.k_best)

    @property
    def store(self) -> SurprisalStore:
        """The store of the run; a run without one receives a temporary one, which it keeps."""
        if self.run.store is None:
            self.run.store = TemporaryStore()
        return self.run.store

    def missing(self) -> list[list[Words]]:
        """Return the chunks that are not in the store; none if they cannot be computed apart."""
        if self.run.model.is_order_dependent:
            return []
        sentences = list(dict.fromkeys(map(tuple, self.sentences)))
        store = self.run.store
        return missing_chunks(
            {} if store is None else store.get(self.key, sentences),
            sentences,
            chunk=self.chunk or self.run.chunk,
            chunk_words=self.run.chunk_words,
            needs=self.needs,
        )

    def computation(self, on_words: OnWords) -> Computation:
        """Return what computes chunks in this process, into the store."""
        self.run.store = self.store
        return Computation(self.run, self.k_best, on_words)

    def order(self, chunk: Sequence[Words], number: int = 0) -> ChunkOrder:
        """Return what a worker process needs to compute a chunk of this job of a number."""
        run = self.run
        return ChunkOrder(
            job=number,
            model=(run.path.absolute(), run.device_name, run.search, run.boundary_choice),
            store=self.store.path.absolute(),
            key=self.key,
            k_best=self.k_best,
            sentences=chunk,
            parsed={words for words in chunk if run.is_syntactic and words in self.parsed},
            matters=None
            if self.matters is None
            else {words: sorted(places_of(words, self.matters)) for words in chunk},
        )


def _key_of(run: Run, k_best: int | None) -> str:
    """Return the key under which scores or, with ``k_best``, parses are stored."""
    if k_best is None:
        return run.model_key
    from gardenpath.runs.parsing import parses_key

    return parses_key(run, k_best)


@dataclass
class Computation:
    """Computes the chunks of one run, one after another, with the model loaded once."""

    run: Run
    k_best: int | None
    on_words: OnWords
    _compute: Any = None

    def __call__(
        self, chunk: Sequence[Words], parsed: Collection[Words], matters: Matters | None
    ) -> None:
        """Compute a chunk and store it."""
        # Imported here, because they load torch.
        from gardenpath.runs.parsing import Parsing
        from gardenpath.runs.scorers import Computing

        assert self.run.store is not None
        if self._compute is None:
            self._compute = (
                Computing(self.run, (), self.on_words)
                if self.k_best is None
                else Parsing(self.run, self.k_best, self.on_words)
            )
        if self.k_best is None:
            self._compute.parsed, self._compute.matters = parsed, matters
        scores = self._compute(chunk)
        self.run.store.put(_key_of(self.run, self.k_best), dict(zip(chunk, scores, strict=True)))
        if not self.run.reports_progress:
            self.on_words(sum(map(len, chunk)))


# ----------------------------------------------------------------------------
# In a worker process.


@dataclass(frozen=True)
class ChunkOrder:
    """A chunk of a job, for a worker process; ``model`` is a run, its device, search and units."""

    job: int
    model: tuple[Path, str, SearchSettings, BoundaryChoice]
    store: Path
    key: str
    k_best: int | None
    sentences: Sequence[Words]
    parsed: Collection[Words]
    matters: Mapping[Words, Collection[int]] | None

    def computation(self, on_words: OnWords) -> Computation:
        """Open the run, which must be that of the parent."""
        path, device, search, boundary = self.model
        store = SurprisalStore(self.store)
        run = Run(path, device=device, search=search, store=store, boundary=boundary)
        if _key_of(run, self.k_best) != self.key:
            raise RunError(f"{run.path}: has changed since the evaluation began; evaluate again")
        return Computation(run, self.k_best, on_words)


class ChunkScorer:
    """Computes chunks with one thread; the model of the last chunk stays loaded."""

    def __init__(self) -> None:
        self._loaded: dict[object, Computation] = {}

    def __call__(self, order: ChunkOrder, on_words: OnWords) -> None:
        """Compute a chunk into the store."""
        model = (order.model, order.store, order.k_best)
        computation = self._loaded.get(model)
        self._loaded.clear()  # also if there is an error
        with _one_thread():
            computation = computation or order.computation(on_words)
            computation(order.sentences, order.parsed, order.matters)
        self._loaded[model] = computation


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


# ----------------------------------------------------------------------------
# How many processes score sentences if nobody says: ``task.processes=auto``.
#
# The steps of a search are too small to be divided among threads. For enough sentences, one-thread
# processes that take the place of the threads are faster. They are started where this is safe to
# say: for searches on a CPU, with several chunks for each process, if memory suffices. All else is
# left to the threads of this process, as with null.


# With fewer chunks for each process, some would wait for the last one.
_CHUNKS_PER_PROCESS = 2

# What a process needs beside its search: torch, the model and its copy for the search.
_BYTES_PER_PROCESS = 1e9


def _is_searched_here(job: ScoringJob) -> bool:
    """Whether sentences are searched on the CPU of this machine."""
    try:
        return job.run.is_syntactic and job.run.device.type == "cpu"
    except GardenpathError:
        return False  # the caller meets it again


def _best_count(jobs: Sequence[ScoringJob], chunks: int) -> int:
    """Return the number of processes for a number of chunks; below two, none is worth its start.

    It is at most the number of threads that this process would use, which ``OMP_NUM_THREADS``
    limits, so that jobs of a sweep that share a machine do not start more processes than cores.
    """
    import torch

    memory_gb = max((job.run.search.memory_gb for job in jobs), default=0.0)
    fitting = int(free_bytes() // (_BYTES_PER_PROCESS + memory_gb * 1e9))
    return min(torch.get_num_threads(), chunks // _CHUNKS_PER_PROCESS, fitting)


def free_bytes() -> float:
    """Return the memory that new processes can use: of the machine, or of the container if less."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        # Without Linux's count of what is free, half of all memory counts as free.
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2
    else:
        (available,) = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        free = float(available) * 1024
    return min([free, *_free_in_container()])


def _free_in_container(folder: Path = Path("/sys/fs/cgroup")) -> Iterator[float]:
    """Yield the limit of the container less what is used, if there is one."""
    try:
        most = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = (folder / "memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return
    if most != "max":
        yield max(0.0, float(most) - float(used))


# ----------------------------------------------------------------------------
# Share the chunks of jobs out.


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

    With ``auto``, only long searches on a CPU are computed here, and the rest is left to the
    caller, also that of a worker that was killed.
    """
    wanted = processes or _wanted_by([job.run for job in jobs])
    if wanted == "auto":
        _spread_automatically(jobs)
        return
    shards = list(_missing(jobs)) if wanted else []
    if shards:
        _compute(jobs, shards, 1 if _is_small(jobs, shards) else min(wanted, len(shards)))


def _wanted_by(runs: Sequence[Run]) -> ProcessCount | Literal[0]:
    """Return the largest number that a run has; ``auto`` if none has one, but some have that."""
    counts = [run.processes for run in runs if isinstance(run.processes, int)]
    if not counts and any(run.processes == "auto" for run in runs):
        return "auto"
    return max(counts, default=0)


def _spread_automatically(jobs: Sequence[ScoringJob]) -> None:
    """Compute long searches on a CPU with as many processes as are worth their start."""
    searches = [job for job in jobs if _is_searched_here(job)]
    whole = [ScoringShard(number, job.sentences) for number, job in enumerate(searches)]
    if _is_small(searches, whole):
        return  # even if nothing is stored
    shards = list(_missing(searches))
    count = _best_count(searches, len(shards))
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
    seconds = sum(
        shard.words / _SEARCHED_WORDS_PER_SECOND
        if jobs[shard.job].run.is_syntactic
        else shard.words / _SCORED_WORDS_PER_SECOND
        for shard in shards
    )
    return seconds < LEAST_SECONDS


def _compute(jobs: Sequence[ScoringJob], shards: Sequence[ScoringShard], count: int) -> None:
    total = sum(shard.words for shard in shards)
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
        stored=total - sum(len(shard.sentences) for shard in _missing(jobs)),
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


def _compute_spread(
    jobs: Sequence[ScoringJob], shards: Sequence[ScoringShard], count: int, on_words: OnWords
) -> None:
    waiting = _Waiting(jobs, shards)
    stored = 0
    with WorkerPool(count, ChunkScorer()) as pool:
        try:
            for order, succeeded in pool.compute(waiting.next_for, on_words):
                if succeeded:
                    stored += 1
                else:
                    waiting.drop(order.job)
        except WorkerExitedError as lost:
            code, path = lost.exit_code, lost.item.model[0]
            how = (
                f"was killed ({signal.Signals(-code).name})"
                if code < 0
                else f"ended with code {code}"
            )
            raise LostWorkerError(
                f"process {lost.pid} {how} while it scored {path}; {stored} of {len(shards)} "
                "chunks are stored, and the same command continues from there; if memory was "
                "short, set a smaller task.processes= or search.memory_gb="
            ) from None


class _Waiting:
    """The chunks that no worker has yet, by job."""

    def __init__(self, jobs: Sequence[ScoringJob], shards: Sequence[ScoringShard]) -> None:
        self._jobs = jobs
        self._by_job: dict[int, deque[ScoringShard]] = {}
        for shard in shards:
            self._by_job.setdefault(shard.job, deque()).append(shard)
        self._workers: Counter[int] = Counter()

    def next_for(self, worker: Worker[ChunkOrder]) -> ChunkOrder | None:
        """Prefer the job of the worker's last chunk, then the one with most chunks per worker."""
        job = None if worker.item is None else worker.item.job
        if job not in self._by_job:
            if job is not None:
                self._workers[job] -= 1
            if not self._by_job:
                return None
            job = max(
                self._by_job, key=lambda job: len(self._by_job[job]) / (1 + self._workers[job])
            )
            self._workers[job] += 1
        shard = self._by_job[job].popleft()
        if not self._by_job[job]:
            del self._by_job[job]
        return self._jobs[job].order(shard.sentences, job)

    def drop(self, job: int) -> None:
        """Give up the rest of a job."""
        self._by_job.pop(job, None)
