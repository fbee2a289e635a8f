"""Start the other processes of a training on this machine, and end them with this one.

Each is a new Python process that reads the settings from its standard input, so that it does not
matter how this process was started: by a script, by a sweep, by a launcher or in a notebook. The
input stays open; when it is closed, because this process ends or is killed, the other one ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import IO, Any

from gardenpath.console import exit_on_error
from gardenpath.errors import RunError
from gardenpath.models.training.placement import Placement
from gardenpath.python_process import python_command
from gardenpath.safe_text import parse_json
from gardenpath.settings.check import plain
from gardenpath.settings.compose import typed
from gardenpath.settings.train_settings import TrainSettings

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
