"""Why a training ended without a result: ``failure.json`` in its run folder.

A killed training leaves none. The file is removed when the training is started again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, get_args

from gardenpath.errors import DivergedError, TrainingStoppedError, in_one_line
from gardenpath.safe_text import parse_json
from gardenpath.store.files import write_json
from gardenpath.store.run_folder import RunFolder

if TYPE_CHECKING:
    from gardenpath.store.run_claim import ClaimedRun

FailureKind = Literal["diverged", "error", "interrupted", "unknown"]

_LONGEST_MESSAGE = 1000


@dataclass(frozen=True, kw_only=True)
class Failure:
    """The end of a training; ``message`` is one line, ``time`` is in ISO format.

    The kind of a failure whose file is damaged is unknown.
    """

    kind: FailureKind
    message: str
    step: int | None
    time: str

    def said_of(self, folder: RunFolder) -> str:
        """Return the message for a text that already names the folder."""
        return self.message.removeprefix(f"{folder.path}: ")


def write_failure(
    folder: RunFolder, kind: FailureKind, message: str, step: int | None = None
) -> None:
    """Write why the training of a run folder ended."""
    line = " ".join(message.split())[:_LONGEST_MESSAGE]
    time = datetime.now(UTC).isoformat(timespec="seconds")
    failure = Failure(kind=kind, message=line, step=step, time=time)
    write_json(folder.failure_path, asdict(failure))


def read_failure(folder: RunFolder) -> Failure | None:
    """Return why the training ended; None if it did not fail."""
    path = folder.failure_path
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
        step = content["step"]
        failure = Failure(
            kind=content["kind"],
            message=" ".join(str(content["message"]).split()),
            step=None if step is None else int(step),
            time=str(content["time"]),
        )
        if failure.kind not in get_args(FailureKind):
            raise ValueError(f"{failure.kind!r} is not a kind of failure")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        message = f"{path.name} cannot be read ({error})"
        return Failure(kind="unknown", message=message, step=None, time="")
    return failure


def clear_failure(folder: RunFolder) -> None:
    """Remove the failure of an earlier attempt."""
    folder.failure_path.unlink(missing_ok=True)


@contextmanager
def failures_recorded(claimed: ClaimedRun) -> Iterator[None]:
    """Record the exception that ends the block, if the run has begun and is not finished."""
    try:
        yield
    except BaseException as error:
        if claimed.has_begun and not claimed.folder.is_finished:
            # If the disk is full or the folder is gone, the error itself is what matters.
            with contextlib.suppress(OSError):
                write_failure(claimed.folder, *_described(error))
        raise


def _described(error: BaseException) -> tuple[FailureKind, str, int | None]:
    if isinstance(error, DivergedError):
        return "diverged", str(error), error.step
    if isinstance(error, TrainingStoppedError):
        return "interrupted", str(error), None
    if isinstance(error, Exception):
        return "error", in_one_line(error) or f"{type(error).__name__}: {error}", None
    return "interrupted", f"{type(error).__name__} {error}", None
