"""Worker processes: the one pool for all that is shared out among the cores of this machine.

Corpora are read (`data.preparation`), sentences scored (`runs.processes`) and raw text parsed
(`annotate`) in it. A worker is a new Python process that loads this package, and nothing of the
program that called it: `multiprocessing`, and with it `concurrent.futures`, would run a user's
script again in each worker if it has no `if __name__ == "__main__"`. Their pools also do not say
which process was lost, by what and with what task, do not end tasks at Ctrl-C, and cannot give a
process the next task for the model that it has loaded. Items and progress pass through pipes;
what is computed, workers write to their own files. No worker outlives its parent.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, Generic, TypeVar

from gardenpath.errors import RunError
from gardenpath.util import python_command

Item = TypeVar("Item")

# Called with the number of sentences or words completed since the last call.
Advance = Callable[[int], None]
# Computes an item, in a worker or in this process. Each worker has its own copy, with its state.
Task = Callable[[Item, Advance], None]

# Libraries read the number of threads from these when they are loaded.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
_SECONDS_BETWEEN_CHECKS = 0.5
_DONE, _FAILED = "done", "failed"


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerExitedError(RunError):
    """A worker has ended although nobody asked it to; negative exit codes are signals."""

    def __init__(self, worker: Worker[Any], exit_code: int) -> None:
        self.pid, self.exit_code = worker.pid, exit_code
        self.item: Any = worker.item
        super().__init__(f"process {self.pid} has ended (exit code {exit_code})")


class Worker(Generic[Item]):
    """A worker process; ``item`` is what it computes, or computed last."""

    def __init__(self, task: Task[Item]) -> None:
        self.item: Item | None = None
        self.connection, there = Pipe()
        with there:
            self._process = subprocess.Popen(
                [*python_command(__name__, serve.__name__), str(os.getpid()), str(there.fileno())],
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what libraries print is no output of this program
                env={**os.environ, **_ONE_THREAD},
            )
        # The worker must find the modules that this process has found.
        self.send(sys.path)
        self.send(task)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def send(self, content: object) -> None:
        """Send a message; that a worker is dead is noticed when its answer is read."""
        with contextlib.suppress(ConnectionError):
            self.connection.send(content)

    def answer(self) -> object:
        """Return the next answer: a number is progress. Raise an error if the worker has ended."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):  # perhaps in the middle of an answer
            raise WorkerExitedError(self, self._process.wait()) from None

    def kill(self) -> None:
        """End the process at once: all that it writes is written whole or not at all."""
        self._process.kill()

    def join(self) -> None:
        """Wait until the process has ended."""
        self._process.wait()
        self.connection.close()


class WorkerPool(Generic[Item]):
    """Workers within a ``with`` block, which always ends with their end."""

    def __init__(self, count: int, task: Task[Item]) -> None:
        self._count, self._task = count, task
        self.workers: list[Worker[Item]] = []

    def __enter__(self) -> WorkerPool[Item]:
        try:
            for _ in range(self._count):
                self.workers.append(Worker(self._task))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _stop(self) -> None:
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.join()

    def compute(
        self, next_item: Callable[[Worker[Item]], Item | None], advance: Advance
    ) -> Iterator[tuple[Item, bool]]:
        """Yield the items that are completed, and whether they succeeded, as it happens.

        ``next_item`` is asked for the next item of an idle worker, and returns None if there is
        none. Raises :class:`WorkerExitedError` if a worker is lost while it computes.
        """
        busy = {
            worker.connection: worker for worker in self.workers if self._assign(worker, next_item)
        }
        while busy:
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                worker = busy[ready]
                answer = worker.answer()
                if isinstance(answer, int):
                    advance(answer)
                    continue
                assert worker.item is not None
                yield worker.item, answer == _DONE
                if not self._assign(worker, next_item):
                    del busy[ready]

    @staticmethod
    def _assign(worker: Worker[Item], next_item: Callable[[Worker[Item]], Item | None]) -> bool:
        item = next_item(worker)
        if item is not None:
            worker.item = item
            worker.send(item)
        return item is not None


def done_together(
    items: Sequence[Item], task: Task[Item], *, processes: int, advance: Advance, remedy: str
) -> list[Item]:
    """Compute items in several processes; return those that are left for this process.

    These begin with the first that failed, so that its error is the same as in one process: items
    are begun in order, and after a failure no more are begun. If a process is killed, the error
    ends with the ``remedy``.
    """
    left = list(items)
    try:
        ForkingPickler.dumps((task, left))
    except Exception:
        return left  # a user's own reader, which cannot be sent
    unbegun = iter(items)
    failed: list[Item] = []
    with WorkerPool(processes, task) as pool:
        try:
            for item, succeeded in pool.compute(
                lambda _: None if failed else next(unbegun, None), advance
            ):
                if succeeded:
                    left.remove(item)
                else:
                    failed.append(item)
        except WorkerExitedError as error:
            raise RunError(
                f"a process that reads the corpus has ended (exit code {error.exit_code}), "
                f"perhaps because memory ran out; {remedy}"
            ) from None
    return left


def serve() -> None:
    """Compute the items that the parent sends: the program of a worker."""
    # Ctrl-C reaches all processes of a terminal; the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent, handle = map(int, sys.argv[2:])
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    connection = Connection(handle)
    task: Any = None
    with contextlib.suppress(OSError, EOFError):  # the parent has ended
        sys.path[:] = connection.recv()
        with contextlib.suppress(Exception):  # what is part of a user's script cannot be loaded:
            task = connection.recv()  # each item fails, and the parent computes it
        while True:
            _answer(connection, task)


def _answer(connection: Connection, task: Any) -> None:
    try:
        task(connection.recv(), connection.send)
    except Exception:  # the parent computes it itself, and meets the error again
        connection.send(_FAILED)
    else:
        connection.send(_DONE)


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, whatever it computes; nobody needs it."""
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_CHECKS)
    os._exit(1)
