"""What a job of a sweep returns: its validation loss, or why it failed."""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Callable

from gardenpath.errors import in_one_line


class JobOutcome(float):
    """The validation loss of a job, as sweepers read it; infinite if the job failed."""

    failure: str | None = None
    """The reason for the failure, in one line."""

    @classmethod
    def failed(cls, reason: str) -> JobOutcome:
        """Return the outcome of a job that failed."""
        outcome = cls(math.inf)
        outcome.failure = " ".join(reason.split())
        return outcome


def survived(job: Callable[[], float | None]) -> JobOutcome:
    """Run a job; an error becomes its outcome, so that other jobs go on.

    Interruptions by the user or by a scheduler are passed on: they concern the whole process.
    """
    try:
        loss = job()
    except Exception as error:
        if _is_interruption(error):
            raise SystemExit(130) from error
        reason = in_one_line(error)
        if reason is None:
            traceback.print_exc()
            reason = f"{type(error).__name__}: {error}"
        outcome = JobOutcome.failed(reason)
        sys.stderr.write(f"error: {outcome.failure}\n")
        return outcome
    return JobOutcome(math.nan if loss is None else loss)


def _is_interruption(error: BaseException | None) -> bool:
    """Whether an error reports that the user interrupted the job."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            return True
        error = error.__cause__ or error.__context__
    return False
