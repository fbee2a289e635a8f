"""Processes that run jobs of a sweep end soon after the sweep itself, even if it was killed.

Otherwise, they would go on unseen, and the next attempt would find their run folders in use.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gardenpath.python_process import sweep_process

_SECONDS_BETWEEN_CHECKS = 0.5
# Time to write a checkpoint.
_SECONDS_TO_STOP = 60.0


@contextmanager
def ending_with_sweep() -> Iterator[None]:
    """Stop the work of the block, as by a signal, if the sweep ends; then this process ends.

    Nothing happens in a process that no sweep of this machine has started.
    """
    sweep = sweep_process()
    if not sweep:
        yield
        return
    is_over = threading.Event()
    threading.Thread(target=_watch, args=(sweep, is_over), daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
        if os.getppid() != sweep:
            os._exit(1)  # nobody asks for the result


def _watch(sweep: int, is_over: threading.Event) -> None:
    while os.getppid() == sweep:
        if is_over.wait(_SECONDS_BETWEEN_CHECKS):
            return
    os.kill(os.getpid(), signal.SIGTERM)
    if not is_over.wait(_SECONDS_TO_STOP):
        os._exit(1)
