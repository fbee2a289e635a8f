"""The pool of worker processes: what it gives back, whatever a task is or does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gardenpath.errors import RunError
from gardenpath.workers import Advance, done_together


def square(number: int, advance: Advance) -> None:
    """Report progress, fail for 7, and be killed for 13."""
    if number == 7:
        raise EOFError("as if a file had ended")
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    advance(number * number)


def test_all_items_are_computed_with_their_progress() -> None:
    counts: list[int] = []
    left = done_together(range(6), square, processes=2, advance=counts.append, remedy="")
    assert left == [] and sorted(counts) == [0, 1, 4, 9, 16, 25]


def test_after_a_failure_the_rest_is_left_to_the_caller() -> None:
    counts: list[int] = []
    left = done_together([7, 1, 2, 3, 4, 5], square, processes=2, advance=counts.append, remedy="")
    assert left[0] == 7 and len(left) + len(counts) == 6
    assert left == sorted(left, key=[7, 1, 2, 3, 4, 5].index)


def test_a_killed_worker_is_an_error_with_a_remedy() -> None:
    with pytest.raises(RunError, match=r"has ended \(exit code -9\).*; take fewer"):
        done_together([13, 1], square, processes=2, advance=lambda _: None, remedy="take fewer")


def test_what_cannot_be_sent_is_left_to_the_caller() -> None:
    left = done_together([1, 2], lambda *_: None, processes=2, advance=lambda _: None, remedy="")
    assert left == [1, 2]


SCRIPT = """
from gardenpath.workers import done_together

print("the script begins")

class Doubled:
    def __call__(self, number, advance):
        advance(2 * number)

left = done_together([1, 2], Doubled(), processes=2, advance=print, remedy="")
print("left", left)
from tests.test_workers import square
done_together([1, 2], square, processes=2, advance=lambda n: print(n), remedy="")
"""


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """It is not run again; a task that it defines is left to the caller, others are computed."""
    (tmp_path / "script.py").write_text(SCRIPT)
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )
    begins, left, *numbers = done.stdout.splitlines()
    assert (begins, left, sorted(numbers)) == ("the script begins", "left [1, 2]", ["1", "4"])
    assert done.stderr == ""
