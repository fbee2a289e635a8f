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
    """How well a model predicts a set of sentences."""

    sentences: int
    words: int
    word_nats: float
    end_nats: float

    @property
    def with_end(self) -> float:
        """Per word, the end of each sentence counting as one."""
        return math.exp((self.word_nats + self.end_nats) / (self.words + self.sentences))

    @property
    def without_end(self) -> float:
        """Per word, ends of sentences left out of sum and count."""
        return math.exp(self.word_nats / self.words)

    @property
    def bits_per_sentence(self) -> float:
        """Mean surprisal of a whole sentence, its end included."""
        return (self.word_nats + self.end_nats) / self.sentences / math.log(2)

    @property
    def bits_per_word(self) -> float:
        """Mean surprisal of a word, the end of each sentence counting as one."""
        return math.log2(self.with_end)

    def as_dict(self) -> dict[str, float]:
        """The numbers that are kept with a run."""
        return {
            "sentences": self.sentences,
            "words": self.words,
            "perplexity": self.with_end,
            "perplexity_without_end": self.without_end,
            "bits_per_sentence": self.bits_per_sentence,
        }


def measure(scorer: WordScorer, sentences: Sequence[Sequence[str]]) -> Perplexity:
    """Score sentences and sum up."""
    log_probs = scorer.word_log_probs(sentences)
    return Perplexity(
        sentences=len(sentences),
        words=sum(len(words) for words in sentences),
        word_nats=-float(sum(scores[:-1].sum() for scores in log_probs)),
        end_nats=-float(sum(scores[-1] for scores in log_probs)),
    )
