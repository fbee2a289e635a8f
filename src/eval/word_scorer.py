"""The interface between models and evaluation: a scorer assigns a probability to each word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from gardenpath.data.arrays import Floats

# Called with the number of words scored since the last call, to show progress.
OnWords = Callable[[int], None]


class Scorer(Protocol):
    """A model of any family; it may come from outside this package."""

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the log probability (nats) of each word, then its end."""
