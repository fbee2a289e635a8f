"""Perplexity of any model that gives a probability to each word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gardenpath.eval.word_scorer import Scorer
from gardenpath.units import bits, perplexity_of


@dataclass(frozen=True, slots=True)
class Perplexity:
    """How well a model predicts a set of sentences.

    ``end_nats`` is None for models that have no separate event for the end of a sentence.
    ``failed`` sentences, which a search found no probability for, are in none of the other numbers.
    """

    sentences: int
    words: int
    word_nats: float
    end_nats: float | None
    failed: int = 0

    @property
    def nats(self) -> float:
        """Everything that was predicted."""
        return self.word_nats + (self.end_nats or 0.0)

    @property
    def with_end(self) -> float:
        """Per word, the end of each sentence counting as one; NaN where nothing was scored."""
        return perplexity_of(self.nats / (self.words + self.sentences)) if self.words else math.nan

    @property
    def without_end(self) -> float | None:
        """Per word, ends of sentences left out of sum and count."""
        if self.end_nats is None:
            return None
        return perplexity_of(self.word_nats / self.words) if self.words else math.nan

    @property
    def bits_per_sentence(self) -> float:
        """Mean surprisal of a whole sentence, its end included."""
        return bits(-self.nats / self.sentences) if self.sentences else math.nan

    @property
    def bits_per_word(self) -> float:
        """Mean surprisal of a word, the end of each sentence counting as one."""
        if not self.words:
            return math.nan
        return bits(-self.nats / (self.words + self.sentences))


def measure(scorer: Scorer, sentences: Sequence[Sequence[str]]) -> Perplexity:
    """Score sentences and sum up."""
    scored = [
        (words, log_probs)
        for words, log_probs in zip(sentences, scorer.word_log_probs(sentences), strict=True)
        if not np.isnan(log_probs).any()
    ]
    return Perplexity(
        sentences=len(scored),
        words=sum(len(words) for words, _ in scored),
        word_nats=-float(sum(log_probs[:-1].sum() for _, log_probs in scored)),
        end_nats=-float(sum(log_probs[-1] for _, log_probs in scored)),
        failed=len(sentences) - len(scored),
    )
