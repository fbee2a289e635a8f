"""Start worker processes, exchange messages with them, and stop them in every case."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from gardenpath.python_process import python_command
from gardenpath.runs.processes.worker import serve
from gardenpath.safe_text import parse_json

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
