"""Try many inputs on one reader, with limits of time and memory for each."""

from __future__ import annotations

import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from tests.fuzz.mutation import Mutator
from tests.fuzz.reader import Reader, is_refused

# Seconds of CPU time within which any small input is read or refused.
MOST_SECONDS = 20.0
# Addressable memory of the process; torch alone maps several gigabytes.
MOST_MEMORY = 24 * 2**30


class TookTooLongError(BaseException):
    """A reader used more CPU time than any input of this size may need."""


@dataclass
class Findings:
    """Counts of a campaign; ``found`` has the message and input of each distinct failure."""

    reader: str
    inputs: int = 0
    refused: int = 0
    seconds: float = 0.0
    found: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def __str__(self) -> str:
        rate = self.inputs / self.seconds if self.seconds else 0.0
        return (
            f"{self.reader:22} {self.inputs:>9,} inputs {self.refused:>9,} refused "
            f"{len(self.found):>3} findings {self.seconds:>8.1f} s {rate:>7,.0f} per second"
        )


def run_campaign(
    reader: Reader, inputs: int, *, number: int = 0, seconds: float = float("inf")
) -> Findings:
    """Try a number of inputs, or as many as possible in ``seconds``; ``number`` selects them."""
    mutator = Mutator(reader.seeds, number, is_binary=reader.is_binary)
    findings = Findings(reader.name)
    began = time.monotonic()
    with _limited():
        for count in range(1, inputs + 1):
            try_input(reader, mutator.input(), findings)
            if count % 16 == 0 and time.monotonic() - began > seconds:
                break
    findings.seconds = time.monotonic() - began
    return findings


def try_input(reader: Reader, content: bytes, findings: Findings) -> None:
    """Read one input and record what is neither a result nor a message."""
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        findings.refused += is_refused(reader, content)
    except (Exception, TookTooLongError) as error:
        findings.found.setdefault(_where(error), (str(error)[:200], content))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    findings.inputs += 1


def _where(error: BaseException) -> str:
    """Return the failure and its place, by which failures are told apart."""
    places = [
        f"{one.filename.rpartition('/src/')[2]}:{one.lineno}"
        for one in traceback.extract_tb(error.__traceback__)
        if "/src/" in one.filename or "/tests/" in one.filename or "/gardenpath/" in one.filename
    ]
    return f"{type(error).__name__} at {places[-1] if places else '?'}"


@contextmanager
def _limited() -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLongError(f"more than {MOST_SECONDS} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGVTALRM, before)
