"""Signals that stop a training: of a scheduler (SIGTERM, SIGUSR1, SIGUSR2), and Ctrl-C (SIGINT).

A :class:`TrainingStoppedError` ends the work: at once or, while a network is trained, after the
current batch and its checkpoint (:meth:`StopSignals.deferred`). A second Ctrl-C always ends it at
once.

When everything is written and the run folder is released, the handler that was installed before is
called: that of submitit requeues its job. In a SLURM job without such a handler, SIGUSR1 and
SIGUSR2 requeue the job.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gardenpath.errors import TrainingStoppedError
from gardenpath.store.run_folder import RunFolder

_log = logging.getLogger(__name__)

_NAMES = ("SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2")
# Not every system has all of them.
SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
_REQUEUE = tuple(one for one in SIGNALS if one.name.startswith("SIGUSR"))


class StopSignals:
    """Remembers the first signal, and decides when it ends the work."""

    def __init__(self, folder: RunFolder) -> None:
        self.received: signal.Signals | None = None
        self.has_saved = False
        self._folder = folder
        self._is_deferred = False
        self._owner = os.getpid()
        self._previous: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Handle the signals; only the main thread may do so."""
        if threading.current_thread() is not threading.main_thread():
            return
        for one in SIGNALS:
            previous = signal.signal(one, self._handle)
            self._previous.setdefault(one, previous)

    def restore(self) -> None:
        """Reinstall the handlers from before."""
        if threading.current_thread() is not threading.main_thread():
            return
        for one, previous in self._previous.items():
            # None: the handler was not installed from Python, and cannot be reinstalled.
            signal.signal(one, signal.SIG_DFL if previous is None else previous)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """While the block runs, a signal is only remembered; the block looks at ``received``."""
        self.check()
        self._is_deferred = True
        try:
            yield
        finally:
            self._is_deferred = False
        self.check()

    def follow(self) -> None:
        """Stop because another process of the training has received a signal."""
        self.received = self.received or signal.SIGTERM

    def check(self) -> None:
        """Raise the error of a signal that was received."""
        if self.received is not None:
            raise self.error()

    def error(self) -> TrainingStoppedError:
        """Return the error of the received signal, which says how to continue."""
        assert self.received is not None
        said = [f"{self._folder.path}: stopped by {self.received.name}"]
        if self.has_saved:
            said.append("checkpoint written")
        if self._folder.is_begun:
            said.append("continue with existing=resume")
        else:
            said.append("nothing was written; start it again")
        return TrainingStoppedError("; ".join(said), signal=self.received)

    def hand_over(self, error: TrainingStoppedError) -> None:
        """Call the previous handler, which may end the process, or requeue a SLURM job."""
        assert self.received is not None
        previous = self._previous.get(self.received)
        if callable(previous) and previous is not signal.default_int_handler:
            _log.warning("%s", error)
            _call(previous, self.received)
        elif is_requeued(self.received):
            _log.warning("%s", error)
            requeue()

    def _handle(self, number: int, _frame: object) -> None:
        if os.getpid() != self._owner:
            self._handle_in_child(number)
            return
        is_again = self.received == signal.SIGINT and number == signal.SIGINT
        if self.received is None:
            self.received = signal.Signals(number)
        if is_again or not self._is_deferred:
            raise self.error()

    def _handle_in_child(self, number: int) -> None:
        """Let a forked process end; workers that load batches are ended by the training."""
        if not self._is_deferred:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


@contextmanager
def stop_signals(folder: RunFolder, *, leads: bool = True) -> Iterator[StopSignals]:
    """Handle signals while the block trains in a run folder.

    Among several processes of a training, only the one that ``leads`` requeues the job.
    """
    stop = StopSignals(folder)
    stop.install()
    try:
        yield stop
    except TrainingStoppedError as error:
        stop.restore()
        if leads:
            stop.hand_over(error)
        raise
    finally:
        stop.restore()


def _call(handler: Callable[[int, None], Any], number: signal.Signals) -> None:
    """Call a handler that may requeue the SLURM job of this process, and then ends it.

    SLURM ends all processes of a requeued job. If it ends the command that asks for it first, the
    handler reports an error, although the job is requeued.
    """
    try:
        handler(number, None)
    except subprocess.CalledProcessError as error:
        if error.returncode >= 0:
            raise


def is_requeued(number: int) -> bool:
    """Whether a signal asks for the SLURM job of this process to be requeued."""
    return number in _REQUEUE and "SLURM_JOB_ID" in os.environ


def _slurm_job() -> str:
    """Return the number of this SLURM job; that of one task of an array has two parts."""
    array = os.environ.get("SLURM_ARRAY_JOB_ID")
    if array is not None:
        return f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}"
    return os.environ["SLURM_JOB_ID"]


def requeue() -> None:
    """Put the SLURM job of this process into the queue again."""
    job = _slurm_job()
    try:
        subprocess.run(["scontrol", "requeue", job], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        if isinstance(error, subprocess.CalledProcessError) and error.returncode < 0:
            return  # ended by SLURM together with this job, which is requeued
        _log.warning("the SLURM job %s cannot be requeued: %s", job, error)
