"""Read the shards of a corpus, in this process or in several."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from gardenpath.data.shards.shard import Advance, Shard, read_shard, sentences_read
from gardenpath.errors import RunError

# Corpora below this size are read in one process, because starting others takes time.
_LARGE_BYTES = 8_000_000

_SECONDS_BETWEEN_CHECKS = 1.0


def read_shards(
    shards: Sequence[Shard], folder: Path, *, processes: int | None, advance: Advance
) -> None:
    """Read all shards that were not read before; the result does not depend on ``processes``.

    If a shard cannot be read, the error is that of the first such shard.
    """
    waiting = []
    for shard in shards:
        count = sentences_read(shard, folder)
        if count is None:
            waiting.append(shard)
        else:
            advance(count)
    count = min(_process_count(waiting, processes), len(waiting))
    if count > 1:
        waiting = _read_together(waiting, folder, count, advance)
    for shard in waiting:
        read_shard(shard, folder, advance)


def _process_count(shards: Sequence[Shard], wanted: int | None) -> int:
    if multiprocessing.current_process().daemon:  # such a process may not start others
        return 1
    if wanted is not None:
        return wanted
    is_large = sum(shard.byte_count for shard in shards) >= _LARGE_BYTES
    return available_cores() if is_large else 1


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read_together(
    shards: Sequence[Shard], folder: Path, count: int, advance: Advance
) -> list[Shard]:
    """Read shards in several processes; return those that failed, to be read again here.

    Errors are raised by reading again, so that they are the same as in one process. Shards are
    begun in order; after the first failure no more are begun, because the first of the failed
    shards is then known.
    """
    failed: list[int] = []
    numbers = iter(range(len(shards)))
    with _workers(shards, folder, count) as workers:
        busy = dict(workers)
        for connection in list(busy):
            _give(connection, numbers, busy)
        while busy:
            ready: list[Any] = wait(list(busy))
            for connection in ready:
                try:
                    kind, value = connection.recv()
                except (EOFError, ConnectionError):
                    raise _ended(busy[connection]) from None
                if kind == "read":
                    advance(value)
                    continue
                if kind == "failed":
                    failed.append(value)
                _give(connection, iter(()) if failed else numbers, busy)
    return [shards[number] for number in sorted(failed)]


def _give(
    connection: Connection, numbers: Iterator[int], busy: dict[Connection, BaseProcess]
) -> None:
    """Give the next shard to a process, or let it end."""
    number = next(numbers, None)
    with contextlib.suppress(BrokenPipeError):  # noticed when its answer is read
        connection.send(number)
    if number is None:
        del busy[connection]


def _ended(process: BaseProcess) -> RunError:
    process.join()
    return RunError(
        f"a process that reads the corpus has ended (exit code {process.exitcode}), perhaps "
        "because memory ran out; start again with a smaller paths.preparation_processes: what was "
        "read is kept"
    )


@contextmanager
def _workers(
    shards: Sequence[Shard], folder: Path, count: int
) -> Iterator[list[tuple[Connection, BaseProcess]]]:
    """Start processes and end them with the block."""
    # A forked process needs neither to load modules nor to be able to import the reader.
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    started: list[tuple[Connection, BaseProcess]] = []
    try:
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(
                target=_work, args=(there, shards, folder, os.getpid()), daemon=True
            )
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


def _work(connection: Connection, shards: Sequence[Shard], folder: Path, parent: int) -> None:
    """Read the shards whose numbers are received, until None arrives or the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def advance(sentences: int) -> None:
        _leave_with(parent)
        connection.send(("read", sentences))

    while (number := _receive(connection, parent)) is not None:
        try:
            read_shard(shards[number], folder, advance)
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
