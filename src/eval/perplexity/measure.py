"""Perplexity of any model that assigns a probability to each word."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gardenpath.eval.word_scorer import Scorer
from gardenpath.units import bits, perplexity_of


@dataclass(frozen=True, slots=True)
class Perplexity:
    """Negative log-likelihood of a set of sentences, and the perplexities derived from it.

    ``end_nats`` is None for models that have no separate event for the end of a sentence.
    ``failed`` counts sentences for which a search found no probability; all other values exclude
    them. ``error_nats`` and ``bias_nats`` are the standard error and the expected bias of the
    negative log-likelihood, if a search estimated it (:mod:`estimate_errors`).
    """

    sentences: int
    words: int
    word_nats: float
    end_nats: float | None
    failed: int = 0
    error_nats: float | None = None
    bias_nats: float | None = None

    @property
    def nats(self) -> float:
        """Total negative log-likelihood of words and sentence ends, in nats."""
        return self.word_nats + (self.end_nats or 0.0)

    @property
    def with_end(self) -> float:
        """Perplexity per word, counting each sentence end as a word; NaN if nothing was scored."""
        return perplexity_of(self.nats / self.events) if self.words else math.nan

    @property
    def without_end(self) -> float | None:
        """Perplexity per word without sentence ends; None if they are not separate events."""
        if self.end_nats is None:
            return None
        return perplexity_of(self.word_nats / self.words) if self.words else math.nan

    @property
    def bits_per_sentence(self) -> float:
        """Mean surprisal of a whole sentence, including its end."""
        return bits(-self.nats / self.sentences) if self.sentences else math.nan

    @property
    def bits_per_word(self) -> float:
        """Mean surprisal of a word, counting each sentence end as a word."""
        if not self.words:
            return math.nan
        return bits(-self.nats / self.events)

    @property
    def events(self) -> int:
        """Number of words and sentence ends."""
        return self.words + self.sentences

    @property
    def with_end_se(self) -> float | None:
        """Standard error of the perplexity: its derivative times that of the log-likelihood."""
        if self.error_nats is None or not self.words:
            return None
        return self.with_end * self.error_nats / self.events

    @property
    def bits_per_word_se(self) -> float | None:
        """Standard error of the mean surprisal of a word."""
        if self.error_nats is None or not self.words:
            return None
        return bits(-self.error_nats / self.events)

    @property
    def bias_bits_per_word(self) -> float | None:
        """By how much the mean surprisal of a word is expected to be too large."""
        if self.bias_nats is None or not self.words:
            return None
        return bits(-self.bias_nats / self.events)


def measure(
    scorer: Scorer,
    sentences: Sequence[Sequence[str]],
    *,
    is_counted: Callable[[str], bool] = lambda _: True,
) -> Perplexity:
    """Score sentences and sum their negative log-likelihoods.

    Words that are not counted are context for the others, but not part of the sums.
    """
    scored = [
        (np.array([is_counted(word) for word in words], dtype=bool), log_probs)
        for words, log_probs in zip(sentences, scorer.word_log_probs(sentences), strict=True)
        if not np.isnan(log_probs).any()
    ]
    return Perplexity(
        sentences=len(scored),
        words=sum(int(counted.sum()) for counted, _ in scored),
        word_nats=-float(sum(log_probs[:-1][counted].sum() for counted, log_probs in scored)),
        end_nats=-float(sum(log_probs[-1] for _, log_probs in scored)),
        failed=len(sentences) - len(scored),
    )
