"""Start the other processes of a training on this machine, and end them with this one.

Each is a new Python process that reads the settings from its standard input, so that it does not
matter how this process was started: by a script, by a sweep, by a launcher or in a notebook. The
input stays open; when it is closed, because this process ends or is killed, the other one ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from gardenpath.console import exit_on_error
from gardenpath.errors import GardenpathError, RunError
from gardenpath.models.training.distributed import Placement
from gardenpath.safe_text import parse_json
from gardenpath.settings.compose import typed
from gardenpath.settings.schema import plain
from gardenpath.settings.train import TrainSettings
from gardenpath.util import python_command

_SECONDS_TO_END = 20.0
# Exit code of a process that ended because another one did.
_NOT_THE_CAUSE = 3


class LeaderGoneError(RunError):
    """A process cannot train, because the first process or another one has ended."""


class RankProcesses:
    """The processes with ranks from 1 on; ``first`` is the placement of this process."""

    def __init__(self, first: Placement, settings: TrainSettings) -> None:
        content = json.dumps(plain(settings)).encode() + b"\n"
        self._size = first.size
        self._errors: list[IO[bytes]] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            for rank in range(1, first.size):
                self._start(replace(first, rank=rank, local_rank=rank), content)
        except BaseException:
            self.end()
            raise

    def _start(self, placement: Placement, content: bytes) -> None:
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in end
        self._errors.append(errors)
        process = subprocess.Popen(
            python_command(__name__, follow_parent.__name__),
            env=_environment(placement),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            # Ctrl-C reaches this process alone, which decides for all.
            start_new_session=True,
        )
        self._processes.append(process)
        assert process.stdin is not None
        try:
            process.stdin.write(content)
            process.stdin.flush()
        except BrokenPipeError:
            return  # it has ended already; see failure

    def failure(self, *, wait: float = 0.0) -> str | None:
        """Return why one of the processes ended, or None if all are running or ended well.

        ``wait`` is the number of seconds that an ending process is waited for.
        """
        end = time.monotonic() + wait
        while True:
            codes = [process.poll() for process in self._processes]
            for number, code in enumerate(codes):
                if code and code != _NOT_THE_CAUSE:
                    return self._reason(number)
            if time.monotonic() >= end:
                return None
            time.sleep(0.05)

    def _reason(self, number: int) -> str:
        code, errors = self._processes[number].returncode, self._errors[number]
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
        last = lines[-1].removeprefix("error: ") if lines else ""
        named = f"process {number + 2} of {self._size}"
        if code < 0:
            return f"{named} was killed (signal {-code})"
        return f"{named} has failed: {last or f'exit code {code}'}"

    def end(self, *, wait: bool = False) -> None:
        """End the processes; with ``wait``, they have some seconds to end by themselves."""
        deadline = time.monotonic() + _SECONDS_TO_END
        if wait:
            self._wait_until(deadline)
        for process in self._processes:
            assert process.stdin is not None
            try:
                process.stdin.close()
            except BrokenPipeError:
                continue
        self._wait_until(deadline)
        for process in self._processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        for errors in self._errors:
            errors.close()

    def _wait_until(self, deadline: float) -> None:
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                return


def _environment(placement: Placement) -> dict[str, str]:
    kept: Mapping[str, str] = {
        name: value for name, value in os.environ.items() if not name.startswith("TORCHELASTIC_")
    }
    return {**kept, **placement.as_environment()}


def follow_parent() -> None:
    """Train as one of the other processes, with settings from the standard input."""
    from gardenpath.runs.training import train

    content: Any = parse_json(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with exit_on_error():
        settings: TrainSettings = typed("train", content, is_for_here=False)
        try:
            train(settings)
        except LeaderGoneError:
            raise SystemExit(_NOT_THE_CAUSE) from None


def _end_with_parent() -> None:
    # Not through sys.stdin, whose lock must be free when the interpreter ends.
    while os.read(0, 1024):
        pass
    os._exit(1)


# ----------------------------------------------------------------------------
# The first process of a distributed training and those that follow it.
#
# The first process claims the run folder, prepares the corpus, writes all files and scores the
# model. The others wait until it tells them, through a store that it holds, where the prepared
# corpus is; or that there is nothing to do, because the run is finished or refused.


_WORD, _HEARD, _READY, _FAILED = "word", "heard", "ready", "failed"
_DONE, _REFUSED = "done", "refused"

_SECONDS_TO_HEAR = 20.0
_SECONDS_TO_FAIL = 5.0
_PAUSE = 0.05

# torch's key-value store, which is imported when it is needed.
Store = Any


@dataclass(frozen=True, kw_only=True)
class Orders:
    """What the first process tells the others: all that they do not know from the settings."""

    corpus: Path
    """Folder of the prepared corpus."""
    resume: bool
    """Whether to continue from the checkpoint."""

    def written(self) -> str:
        """Return the message."""
        return json.dumps({"corpus": str(self.corpus.resolve()), "resume": self.resume})

    @classmethod
    def read(cls, message: str) -> Orders:
        """Read the message."""
        content = parse_json(message)
        return cls(corpus=Path(content["corpus"]), resume=bool(content["resume"]))


class Team:
    """What the first process knows of the others; without others, it does nothing."""

    def __init__(self, placement: Placement, settings: TrainSettings) -> None:
        self.placement = placement
        self._settings = settings
        self._store: Store | None = None
        self._has_spoken = False

    @property
    def is_started_elsewhere(self) -> bool:
        """Whether torchrun or srun has started the other processes."""
        return self.placement.address is not None

    def meet(self) -> None:
        """Open the store for processes that are running already."""
        try:
            self._store = _opened(self.placement, self._settings)
        except RuntimeError as error:
            host, port = self.placement.address or ("", 0)
            raise RunError(
                f"{self._settings.run_dir}: the processes cannot meet at {host}, port {port} "
                f"({str(error).splitlines()[0]}); set MASTER_PORT to a free port"
            ) from error

    def dismiss(self, *, is_refused: bool) -> None:
        """Tell waiting processes that there will be no training."""
        if self._store is None or self._has_spoken:
            return
        self._say(self._store, _REFUSED if is_refused else _DONE)
        end = time.monotonic() + _SECONDS_TO_HEAR
        with contextlib.suppress(RuntimeError):
            while self._store.add(_HEARD, 0) < self.placement.size - 1 and time.monotonic() < end:
                time.sleep(_PAUSE)

    @contextmanager
    def together(self, orders: Orders) -> Iterator[None]:
        """Train with the other processes while the block runs."""
        if self.placement.size == 1:
            yield
        elif self.is_started_elsewhere:
            assert self._store is not None
            with self._connected(self._store, orders, None):
                yield
        else:
            from gardenpath.models.training.distributed import open_store

            server = open_store(self.placement)
            address = ("127.0.0.1", int(server.port))
            others = RankProcesses(replace(self.placement, address=address), self._settings)
            is_trained = False
            try:
                # For processes that were just started, it is the first training.
                with self._connected(_part_of(server, self._settings, 1), orders, others):
                    yield
                is_trained = True
            finally:
                others.end(wait=is_trained)

    @contextmanager
    def _connected(
        self, store: Store, orders: Orders, others: RankProcesses | None
    ) -> Iterator[None]:
        from gardenpath.models.training.distributed import joined

        self._say(store, orders.written())
        self._wait_for_others(store, others)
        with joined(self.placement, store, self._settings.trainer):
            try:
                yield
            except GardenpathError:
                raise
            except Exception as error:
                # Asked before the connection is closed, which makes the others fail as well.
                if reason := self._failure_elsewhere(error, others):
                    raise RunError(f"{self._settings.run_dir}: {reason}") from error
                raise

    def _say(self, store: Store, word: str) -> None:
        store.set(_WORD, word)
        self._has_spoken = True

    def _wait_for_others(self, store: Store, others: RankProcesses | None) -> None:
        from gardenpath.models.training.distributed import PATIENCE

        end = time.monotonic() + PATIENCE.total_seconds()
        while store.add(_READY, 0) < self.placement.size - 1:
            reason = others.failure() if others is not None else None
            if reason is None and store.check([_FAILED]):
                reason = str(store.get(_FAILED), "utf-8")
            if reason is not None:
                raise RunError(f"{self._settings.run_dir}: {reason}; no training has begun")
            if time.monotonic() > end:
                raise RunError(
                    f"{self._settings.run_dir}: only {store.add(_READY, 0) + 1} of "
                    f"{self.placement.size} processes have started within "
                    f"{PATIENCE.total_seconds() / 60:.0f} minutes; no training has begun"
                )
            time.sleep(_PAUSE)

    def _failure_elsewhere(self, error: Exception, others: RankProcesses | None) -> str | None:
        """Return why another process failed, if that is the cause of an error in this one."""
        reason = others.failure(wait=_SECONDS_TO_FAIL) if others else None
        if reason is None and _is_of_connection(error):
            reason = "another process of the training has ended or does not answer"
        return f"{reason}; continue with existing=resume" if reason else None


@contextmanager
def leading(placement: Placement, settings: TrainSettings) -> Iterator[Team]:
    """Lead the processes of a training; if the block does not start one, the others are told."""
    team = Team(placement, settings)
    if team.is_started_elsewhere:
        team.meet()
    try:
        yield team
    except BaseException:
        team.dismiss(is_refused=True)
        raise
    team.dismiss(is_refused=False)


@contextmanager
def following(placement: Placement, settings: TrainSettings) -> Iterator[Orders | None]:
    """Wait for the first process, then train with it while the block runs.

    Yields None if there is nothing to train.
    """
    from gardenpath.models.training.distributed import joined

    try:
        store = _opened(placement, settings)
        word = _word_of(store)
        orders = None if word in (_DONE, _REFUSED) else Orders.read(word)
        if orders is not None:
            _require_corpus(orders, placement, store)
        store.add(_HEARD if orders is None else _READY, 1)
    except RuntimeError as error:
        raise _without_leader(placement, settings, "has ended or cannot be reached") from error
    if word == _REFUSED:
        raise _without_leader(placement, settings, "could not begin")
    if orders is None:
        yield None
        return
    with joined(placement, store, settings.trainer):
        try:
            yield orders
        except RuntimeError as error:
            if _is_of_connection(error):
                raise _without_leader(placement, settings, "or another one has ended") from error
            raise


def _word_of(store: Store) -> str:
    while not store.check([_WORD]):
        time.sleep(_PAUSE)
    return str(store.get(_WORD), "utf-8")


def _require_corpus(orders: Orders, placement: Placement, store: Store) -> None:
    if orders.corpus.is_dir():
        return
    problem = (
        f"process {placement.rank + 1} of {placement.size} on {socket.gethostname()} does not have "
        f"the prepared corpus {orders.corpus}: put paths.cache on a disk that all machines share"
    )
    store.set(_FAILED, problem)
    raise RunError(problem)


def _without_leader(placement: Placement, settings: TrainSettings, what: str) -> LeaderGoneError:
    return LeaderGoneError(
        f"{settings.run_dir}: process {placement.rank + 1} of {placement.size} ends, because the "
        f"first process {what}; its message tells why"
    )


# Number of trainings in this process, by run folder.
_begun: Counter[str] = Counter()


def _opened(placement: Placement, settings: TrainSettings) -> Store:
    from gardenpath.models.training.distributed import store_at

    _begun[settings.run_dir] += 1
    return _part_of(store_at(placement), settings, _begun[settings.run_dir])


def _part_of(store: Store, settings: TrainSettings, number: int) -> Store:
    """Return the part of a store that belongs to one training: a sweep has one store for many."""
    from gardenpath.models.training.distributed import part_of

    return part_of(store, f"{settings.run_dir} {number}")


def _is_of_connection(error: BaseException) -> bool:
    """Whether a process could not reach the others."""
    from torch import distributed

    kinds: Any = (distributed.DistError,)
    words = ("gloo", "connection", "nccl", "timed out", "timeout")
    return isinstance(error, kinds) or any(word in str(error).lower() for word in words)
