"""Signals that stop a sweep: all of its jobs, also those that have not begun, with one message."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from gardenpath.errors import StoppedError, SweepStoppedError, TrainingStoppedError
from gardenpath.models.training.stop_signals import SIGNALS, is_requeued, requeue


@contextmanager
def stopped_as_a_whole() -> Iterator[None]:
    """Within the block, a signal ends the sweep with a :class:`SweepStoppedError`.

    Jobs in this process handle signals themselves while they work, and then call this handler. If
    the sweep is a SLURM job of its own, the signals of the scheduler requeue it.
    """
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for one in SIGNALS:
            if signal.getsignal(one) in (signal.SIG_DFL, signal.default_int_handler):
                before[one] = signal.signal(one, _stop)
    try:
        yield
    except SweepStoppedError as error:
        _requeue_after(error.number)
        raise
    except TrainingStoppedError as error:  # the signal was not for this process alone
        raise SweepStoppedError(error.exit_code - 128) from error
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, StoppedError) else signal.SIGINT
        raise SweepStoppedError(number) from error
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _stop(number: int, _frame: FrameType | None) -> None:
    raise SweepStoppedError(number)


def _requeue_after(number: int) -> None:
    if is_requeued(number):
        requeue()
