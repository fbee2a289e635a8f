"""Tasks that several processes of this machine share, given by their numbers.

A task writes its own files; only numbers and counts pass between the processes.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from gardenpath.errors import RunError

_SECONDS_BETWEEN_CHECKS = 1.0

# Does the task of a number, and calls the function it is given with the sentences just completed.
NumberedTask = Callable[[int, Callable[[int], None]], None]


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def may_start_processes() -> bool:
    """Whether this process may start others; a daemon may not."""
    return not multiprocessing.current_process().daemon


def done_together(
    total: int, task: NumberedTask, *, processes: int, advance: Callable[[int], None], remedy: str
) -> list[int]:
    """Do the tasks 0 to ``total`` - 1 in several processes; return those that failed.

    Errors are raised by doing these again in this process, so that they are the same as in one
    process. Tasks are begun in order; after the first failure no more are begun, because the first
    of the failed ones is then known. If a process is killed, the error ends with the ``remedy``.
    """
    failed: list[int] = []
    numbers = iter(range(total))
    with _workers(task, processes) as workers:
        busy = dict(workers)
        for connection in list(busy):
            _give(connection, numbers, busy)
        while busy:
            ready: list[Any] = wait(list(busy))
            for connection in ready:
                try:
                    kind, value = connection.recv()
                except (EOFError, ConnectionError):
                    raise _ended(busy[connection], remedy) from None
                if kind == "read":
                    advance(value)
                    continue
                if kind == "failed":
                    failed.append(value)
                _give(connection, iter(()) if failed else numbers, busy)
    return sorted(failed)


def _give(
    connection: Connection, numbers: Iterator[int], busy: dict[Connection, BaseProcess]
) -> None:
    """Give the next task to a process, or let it end."""
    number = next(numbers, None)
    with contextlib.suppress(BrokenPipeError):  # noticed when its answer is read
        connection.send(number)
    if number is None:
        del busy[connection]


def _ended(process: BaseProcess, remedy: str) -> RunError:
    process.join()
    return RunError(
        f"a process that reads the corpus has ended (exit code {process.exitcode}), perhaps "
        f"because memory ran out; {remedy}"
    )


@contextmanager
def _workers(task: NumberedTask, count: int) -> Iterator[list[tuple[Connection, BaseProcess]]]:
    """Start processes and end them with the block."""
    # A forked process needs neither to load modules nor to be able to import the reader.
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    started: list[tuple[Connection, BaseProcess]] = []
    try:
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(there, task, os.getpid()), daemon=True)
            with warnings.catch_warnings():
                # Forking beside threads can block a child that uses their locks; ours only reads,
                # computes and writes its own files.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            there.close()
            started.append((here, process))
        yield started
    except BaseException:
        for _, process in started:
            process.kill()
        raise
    finally:
        for connection, process in started:
            connection.close()
            process.join()


def _work(connection: Connection, task: NumberedTask, parent: int) -> None:
    """Do the tasks whose numbers are received, until None arrives or the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def advance(sentences: int) -> None:
        _leave_with(parent)
        connection.send(("read", sentences))

    while (number := _receive(connection, parent)) is not None:
        try:
            task(number, advance)
            connection.send(("done", number))
        except (BrokenPipeError, ConnectionError):
            break
        except Exception:
            connection.send(("failed", number))
    # Without the clean-up of the interpreter, which in a forked process is the parent's.
    os._exit(0)


def _receive(connection: Connection, parent: int) -> int | None:
    while not connection.poll(_SECONDS_BETWEEN_CHECKS):
        _leave_with(parent)
    try:
        number: int | None = connection.recv()
    except (EOFError, ConnectionError):
        return None
    return number


def _leave_with(parent: int) -> None:
    """End if the parent was killed; then nobody needs the rest."""
    if os.getppid() != parent:
        os._exit(1)
