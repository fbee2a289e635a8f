"""Exceptions for users. Each message names the place, the problem and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class GardenpathError(Exception):
    """Base class of all errors caused by the input, not by a bug.

    The scripts print the message of such an error, without a traceback, and exit with its code.
    """

    exit_code: int = 2


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


class StoppedError(GardenpathError):
    """A signal has stopped the work; the exit code is that of a process ended by the signal."""

    def __init__(self, message: str, *, signal: int) -> None:
        self.signal = signal
        self.exit_code = 128 + signal
        super().__init__(message)
