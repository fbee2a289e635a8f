"""A model as evaluation sees it: something that gives a probability to each word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from gardenpath.data.arrays import Floats

# Called with the number of words that have been scored, to show progress.
OnWords = Callable[[int], None]


class Scorer(Protocol):
    """Any model of any family, also one from outside of this package."""

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the log probability (nats) of each word and, last, its end."""
