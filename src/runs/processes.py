"""Jobs that several processes share: the sentences of a run, and the chunks still to compute."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from gardenpath.console import console, words_progress
from gardenpath.data.sentence import OnWords
from gardenpath.errors import GardenpathError, RunError, ScoringStoppedError, StoppedError
from gardenpath.eval.search.settings import SEARCHES, SearchSettings
from gardenpath.runs.run import Run
from gardenpath.safe_text import parse_json
from gardenpath.settings.schema import ProcessCount, plain, read
from gardenpath.store.surprisals import (
    ANY_ENTRY,
    EntryNeeds,
    Matters,
    SurprisalStore,
    missing_chunks,
    places_of,
)
from gardenpath.util import Words, python_command


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
        return key_of(self.run, self.k_best)

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
        asked = list(dict.fromkeys(map(tuple, self.sentences)))
        store = self.run.store
        found = {} if store is None else store.get(self.key, asked)
        chunk = self.chunk or self.run.chunk
        return missing_chunks(
            found, asked, chunk=chunk, chunk_words=self.run.chunk_words, needs=self.needs
        )

    def computation(self, on_words: OnWords) -> Computation:
        """Return what computes chunks in this process, into the store."""
        self.run.store = self.store
        return Computation(self.run, self.k_best, on_words)

    def message(self, chunk: Sequence[Words]) -> dict[str, Any]:
        """Describe a chunk to a worker process, in JSON types."""
        parsed = self.parsed if self.run.is_syntactic else ()
        return {
            "run": str(self.run.path.absolute()),
            "device": self.run.device_name,
            "search": plain(self.run.search),
            "boundary": self.run.boundary_choice,
            "store": str(self.store.path.absolute()),
            "key": self.key,
            "k_best": self.k_best,
            "sentences": chunk,
            "parsed": [number for number, words in enumerate(chunk) if words in parsed],
            "matters": self._places(chunk),
        }

    def _places(self, chunk: Sequence[Words]) -> list[list[int]] | None:
        """Return the positions that matter of each sentence; None for all positions."""
        if self.matters is None:
            return None
        return [sorted(places_of(words, self.matters)) for words in chunk]


def key_of(run: Run, k_best: int | None) -> str:
    """Return the key under which scores or, with ``k_best``, parses are stored."""
    if k_best is None:
        return run.model_key
    from gardenpath.runs.parsing import parses_key

    return parses_key(run, k_best)


def read_search(content: dict[str, Any]) -> SearchSettings:
    """Return the search settings in a message."""
    return read(SEARCHES[content["kind"]], content)


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
        assert self.run.store is not None
        if self._compute is None:
            self._compute = self._begun()
        if self.k_best is None:
            self._compute.parsed, self._compute.matters = parsed, matters
        scores = self._compute(chunk)
        self.run.store.put(key_of(self.run, self.k_best), dict(zip(chunk, scores, strict=True)))
        if not self.run.reports_progress:
            self.on_words(sum(map(len, chunk)))

    def _begun(self) -> Any:
        # Imported here, because they load torch.
        from gardenpath.runs.parsing import Parsing
        from gardenpath.runs.scorers import Computing

        if self.k_best is None:
            return Computing(self.run, (), self.on_words)
        return Parsing(self.run, self.k_best, self.on_words)


class TemporaryStore(SurprisalStore):
    """A file of surprisals in the folder for temporary files, removed with this object."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="gardenpath-")
        super().__init__(Path(folder) / "surprisals.sqlite")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


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


def searched_here(job: ScoringJob) -> bool:
    """Whether sentences are searched on the CPU of this machine."""
    try:
        return job.run.is_syntactic and job.run.device.type == "cpu"
    except GardenpathError:
        return False  # the caller meets it again


def best_count(jobs: Sequence[ScoringJob], chunks: int) -> int:
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
    return min([_free_on_machine(), *_free_in_container()])


def _free_on_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        # Without Linux's count of what is free, half of all memory counts as free.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2
    kilobytes = {name: rest.split()[0] for name, _, rest in (line.partition(":") for line in lines)}
    return float(kilobytes["MemAvailable"]) * 1024


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
# A worker process: computes chunks of sentences, one thread, and puts them into the store.
#
# The parent starts a process that calls :func:`serve`, and writes one chunk per line to its
# standard input (``ScoringJob.message``). The worker answers on its standard output with lines
# about words completed, chunks stored and errors. All lines are JSON. A worker ends when its
# standard input is closed, and so never outlives its parent, even if that is killed.


def serve() -> None:
    """Compute the chunks named on standard input until it is closed."""
    # Ctrl-C reaches all processes of a terminal; the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()

    def answer(**content: Any) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    import torch

    from gardenpath.safe_text import parse_json

    torch.set_num_threads(1)
    computation: Computation | None = None
    while True:
        message = parse_json(tasks.get())
        try:
            computation = _computed(message, computation, lambda words: answer(words=words))
        except Exception as error:  # the parent computes the chunk itself, and meets it again
            computation = None
            answer(failed=message["number"], error=f"{type(error).__name__}: {error}")
        else:
            answer(done=message["number"])


def _listen(tasks: queue.SimpleQueue[str]) -> None:
    """Receive chunks while others are computed; end the process when the parent is gone."""
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)  # what is being computed is of no use to anybody; the store is always whole


def _computed(message: dict[str, Any], last: Computation | None, on_words: Any) -> Computation:
    """Compute a chunk, with the model of the last one if it is the same."""
    from gardenpath.errors import RunError
    from gardenpath.runs.run import Run
    from gardenpath.store.surprisals import SurprisalStore

    run = Run(
        message["run"],
        device=message["device"],
        search=read_search(message["search"]),
        store=SurprisalStore(Path(message["store"])),
        boundary=message["boundary"],
    )
    if last is None or not _is_same(last, run, message["k_best"]):
        if key_of(run, message["k_best"]) != message["key"]:
            raise RunError(f"{run.path}: has changed since the evaluation began; evaluate again")
        last = Computation(run, message["k_best"], on_words)
    sentences = [tuple(words) for words in message["sentences"]]
    parsed = {sentences[number] for number in message["parsed"]}
    places = message["matters"]
    last(sentences, parsed, None if places is None else dict(zip(sentences, places, strict=True)))
    return last


def _is_same(last: Computation, run: Run, k_best: int | None) -> bool:
    assert last.run.store is not None and run.store is not None
    before = (last.run.path, last.run.search, last.run.boundary_choice, last.run.store.path)
    now = (run.path, run.search, run.boundary_choice, run.store.path)
    return before == now and last.k_best == k_best


# ----------------------------------------------------------------------------
# Start worker processes, exchange messages with them, and stop them in every case.


# Seconds that a worker has to end by itself.
_PATIENCE = 5.0

# Libraries read the number of threads from these when they are loaded.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class Worker:
    """A worker process; ``task`` is the number of its chunk, ``job`` that of its loaded model."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            python_command(serve.__module__, serve.__name__),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD},
            text=True,
            encoding="utf-8",
        )
        self.task: int | None = None
        self.job: int | None = None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def give(self, number: int, message: dict[str, Any]) -> None:
        """Let the worker compute a chunk; a dead worker is noticed by its silence."""
        assert self._process.stdin is not None
        self.task = number
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"number": number, **message}) + "\n")
            self._process.stdin.flush()

    def answers(self) -> Iterator[dict[str, Any]]:
        """Yield what the worker says, until it ends; a line that a kill cut short is left out."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith("\n"):
                yield parse_json(line)

    def exit_code(self) -> int:
        """Wait for the end of the process; negative numbers are signals."""
        return self._process.wait()

    def stop(self) -> None:
        """Ask the process to end; what it has stored is kept."""
        self._process.terminate()

    def join(self) -> None:
        """Wait until the process has ended; kill it if it does not."""
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()


@dataclass(frozen=True)
class WorkerAnswer:
    """A worker has completed ``words`` words, or a chunk (``ends``), which may have ``failed``."""

    worker: Worker
    words: int = 0
    ends: int | None = None
    failed: bool = False


@dataclass(frozen=True)
class Gone:
    """A worker has ended, although nobody asked it to."""

    worker: Worker
    exit_code: int


class WorkerPool:
    """Worker processes within a ``with`` block, which always ends with their end."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.workers: list[Worker] = []
        self._listeners: list[threading.Thread] = []
        self._events: queue.SimpleQueue[WorkerAnswer | Gone] = queue.SimpleQueue()

    def __enter__(self) -> WorkerPool:
        try:
            for _ in range(self._count):
                one = Worker()
                self.workers.append(one)
                listener = threading.Thread(target=self._listen, args=(one,), daemon=True)
                self._listeners.append(listener)
                listener.start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def events(self) -> Iterator[WorkerAnswer | Gone]:
        """Yield what happens to the workers, as it happens."""
        while True:
            yield self._events.get()

    def _listen(self, worker: Worker) -> None:
        for content in worker.answers():
            ends = content.get("done", content.get("failed"))
            self._events.put(
                WorkerAnswer(worker, content.get("words", 0), ends, failed="failed" in content)
            )
        self._events.put(Gone(worker, worker.exit_code()))

    def _stop(self) -> None:
        for one in self.workers:
            one.stop()
        for one, listener in zip(self.workers, self._listeners, strict=False):
            listener.join(_PATIENCE)
            one.join()


# ----------------------------------------------------------------------------
# Compute the missing scores of jobs with several processes, which put them into the store.
#
# Afterwards the scores are read from the store as if they had been there before, so that tables,
# statistics and reports are made in one place and are the same for any number of processes. A job
# that a process could not compute is left to the caller, who meets the error and deals with it.


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

    With ``auto``, only long searches on a CPU are computed here, and the rest
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
    return sum(_seconds(jobs[shard.job], shard) for shard in shards) < LEAST_SECONDS


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
