"""Exceptions for users, and the words for errors of the operating system.

Each message names the place, the problem and the remedy. Anything raised because of the input
derives from :class:`GardenpathError`; ``console.exit_on_error`` prints its message and ends the
script. Classes with one reader are beside it; this module imports nothing of the package.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Sequence
from pathlib import Path


class GardenpathError(Exception):
    """Base class of all errors caused by the input, not by a bug.

    The scripts print the message of such an error, without a traceback, and exit with code 2.
    """


class InputError(GardenpathError):
    """A file has content that cannot be read."""

    def __init__(
        self, problem: str, *, path: str | Path, line: int | None = None, remedy: str = ""
    ) -> None:
        self.problem = problem
        self.path = str(path)
        self.line = line
        self.remedy = remedy
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {problem}" + (f" ({remedy})" if remedy else ""))


class TreeError(InputError):
    """A bracketed tree is malformed."""


class GrammarError(InputError):
    """A grammar file is malformed, or its probabilities do not form a proper distribution."""


class MissingCorpusError(GardenpathError):
    """A corpus is not where the configuration says."""

    def __init__(self, *, corpus: str, looked_for: str | Path, licence: str, setting: str) -> None:
        self.corpus, self.looked_for = corpus, str(looked_for)
        self.licence, self.setting = licence, setting
        super().__init__(
            f"{corpus} was not found: {looked_for} does not exist or contains no such files.\n"
            f"  Where to get it: {licence}\n"
            f"  Then set:        {setting}\n"
            "  Or, to try Gardenpath without a download: data=toy_english or "
            "data=toy_mandarin"
        )

    def in_part(self, name: str) -> MissingCorpusError:
        """Return the error for a part of a combined corpus, whose settings have other names."""
        return MissingCorpusError(
            corpus=self.corpus,
            looked_for=self.looked_for,
            licence=self.licence,
            setting=self.setting.replace("data.", f"data.parts.{name}."),
        )


class ConfigError(GardenpathError):
    """One or more settings are wrong; the message lists all of them."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = list(mistakes)
        noun = "mistake" if len(self.mistakes) == 1 else "mistakes"
        listed = "\n".join(f"  - {mistake}" for mistake in self.mistakes)
        super().__init__(f"{len(self.mistakes)} {noun} in the configuration:\n{listed}")


class RunError(GardenpathError):
    """A run folder cannot be used: it is incomplete, damaged or in use."""


class DivergedError(RunError):
    """A model is useless: a loss, a perplexity or a weight is infinite or not a number."""

    def __init__(self, message: str, *, step: int | None = None) -> None:
        self.step = step
        super().__init__(message)


class DamagedRunError(RunError):
    """The files of one run are damaged or cannot be read; other runs are not affected."""


class SkippedRunsError(GardenpathError):
    """Damaged runs were skipped; the results of all others are written."""


class StoppedError(KeyboardInterrupt):
    """A signal asked the process to stop."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        self.number = number
        super().__init__(f"stopped by {signal.Signals(number).name}")

    @property
    def in_words(self) -> str:
        """What is kept, and how to go on."""
        return f"{self}; run the same command again to go on"


class ScoringStoppedError(StoppedError):
    """A signal stopped the scoring of sentences; those of complete chunks are stored."""

    def __init__(
        self, number: int, *, stored: int, total: int, path: Path | None, models: int = 1
    ) -> None:
        super().__init__(number)
        self.stored, self.total, self.path, self.models = stored, total, path, models

    @property
    def in_words(self) -> str:
        """What is kept, and how to go on."""
        if self.path is None:
            return super().in_words
        whose = "this model" if self.models == 1 else f"{self.models} models"
        return (
            f"{self}; {self.stored:,} of {self.total:,} sentences of {whose} are stored in "
            f"{self.path}; run the same command again to continue"
        )


class SweepStoppedError(StoppedError):
    """A signal stopped a sweep, with all its jobs."""

    @property
    def in_words(self) -> str:
        """What is kept, and how to go on."""
        return f"the sweep was {self}; run the same command again to continue it"


class TrainingStoppedError(BaseException):
    """A signal stopped a training.

    It is not an :class:`Exception`, because it does not concern one job of a sweep but all of them.
    It is not a :class:`KeyboardInterrupt` either, because Lightning ends the process on one.
    """

    def __init__(self, message: str, signal: int) -> None:
        self.exit_code = 128 + signal
        super().__init__(message, signal)  # both, so that it can be sent to another process

    def __str__(self) -> str:
        return str(self.args[0])


def in_one_line(error: BaseException) -> str | None:
    """Return the message for an error of the input or of the system; None for any other error."""
    if isinstance(error, GardenpathError):
        return str(error)
    return os_problem(error) if isinstance(error, OSError) else None


_REMEDIES = {
    errno.ENOSPC: "free some space, or choose another disk",
    errno.EDQUOT: "your quota is used up: free some space, or choose another disk",
    errno.EROFS: "the file system is read-only; choose another folder",
    errno.EACCES: "you may not read or write there; change the permissions or choose another path",
    errno.EPERM: "you may not do this; change the permissions or choose another path",
    errno.ENOENT: "check the path; a link may lead to a file that no longer exists",
    errno.ENOTDIR: "a part of the path is a file and not a folder; move it or choose another path",
    errno.EISDIR: "the path is a folder and not a file; move it or choose another path",
    errno.EEXIST: "the path exists and is of another kind; move it or choose another path",
    errno.ENOTEMPTY: "the folder is not empty; move its files or choose another path",
    errno.ENAMETOOLONG: "choose a shorter name, for example with run_dir= or output=",
    errno.ELOOP: "links lead in a circle; remove one of them",
    errno.EMFILE: "this process has too many open files; raise the limit with 'ulimit -n 4096'",
    errno.ENFILE: "the system has too many open files; wait, or end other processes",
    errno.EIO: "the disk or the network failed; check it and run the same command again",
    errno.ESTALE: "the network file system lost the file; run the same command again",
    errno.EFBIG: "the file is too large for this file system or for 'ulimit -f'",
    errno.ENOMEM: "there is not enough memory",
    errno.ETXTBSY: "the file is in use by another process",
    errno.EBUSY: "the file is in use by another process",
}


def os_problem(error: OSError) -> str:
    """Return one line on an error of the operating system: the path, the problem, the remedy."""
    problem = error.strerror or str(error) or type(error).__name__
    names = (error.filename, error.filename2)
    paths = [os.fsdecode(name) for name in names if isinstance(name, str | bytes | os.PathLike)]
    shown = [" → ".join(paths), problem] if paths else [problem]
    return f"{': '.join(shown)} ({remedy_of(error)})"


def remedy_of(error: OSError) -> str:
    """Return what a user can do about an error of the operating system."""
    usual = "check the path and the disk, and run the same command again"
    return _REMEDIES.get(error.errno or 0, usual)


class StatisticsError(GardenpathError):
    """A formula is invalid, or a table lacks the data that a test or model needs."""
