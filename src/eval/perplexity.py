"""Perplexity of any model that gives a probability to each word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class WordScorer(Protocol):
    """A model as evaluation sees it."""

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """For each sentence, the log probability (nats) of each word and, last, of its end."""


@dataclass(frozen=True, slots=True)
class Perplexity:
    """How well a model predicts a set of sentences.

    ``end_nats`` is None for models that have no separate event for the end of a sentence.
    """

    sentences: int
    words: int
    word_nats: float
    end_nats: float | None

    @property
    def nats(self) -> float:
        """Everything that was predicted."""
        return self.word_nats + (self.end_nats or 0.0)

    @property
    def with_end(self) -> float:
        """Per word, the end of each sentence counting as one."""
        return _exp(self.nats / (self.words + self.sentences))

    @property
    def without_end(self) -> float | None:
        """Per word, ends of sentences left out of sum and count."""
        return None if self.end_nats is None else _exp(self.word_nats / self.words)

    @property
    def bits_per_sentence(self) -> float:
        """Mean surprisal of a whole sentence, its end included."""
        return self.nats / self.sentences / math.log(2)

    @property
    def bits_per_word(self) -> float:
        """Mean surprisal of a word, the end of each sentence counting as one."""
        return self.nats / (self.words + self.sentences) / math.log(2)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700.0 else math.inf


def measure(scorer: WordScorer, sentences: Sequence[Sequence[str]]) -> Perplexity:
    """Score sentences and sum up."""
    log_probs = scorer.word_log_probs(sentences)
    return Perplexity(
        sentences=len(sentences),
        words=sum(len(words) for words in sentences),
        word_nats=-float(sum(scores[:-1].sum() for scores in log_probs)),
        end_nats=-float(sum(scores[-1] for scores in log_probs)),
    )
