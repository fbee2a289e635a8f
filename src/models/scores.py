"""Sums of log probabilities by kind of event: of a batch, and of a whole split with its metrics.

Networks return :class:`BatchScores`; training and perplexity add them up to :class:`Totals`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from gardenpath.data.batches.tokens import TokenBatch
from gardenpath.util import perplexity_of


@dataclass(frozen=True, slots=True)
class BatchScores:
    """Sums of log probabilities (nats) by kind of event, and numbers of words and sentences.

    Kinds are ``word`` and ``end`` (the end of a sentence) for sequential models, and ``word`` and
    ``action`` for syntactic models.
    """

    log_prob: Mapping[str, Tensor]
    words: Tensor
    sentences: Tensor

    @property
    def events(self) -> Tensor:
        """Number of words and ends of sentences."""
        return self.words + self.sentences

    def loss(self, events: Tensor | None = None) -> Tensor:
        """Return the mean negative log-likelihood per event (word or end of sentence).

        For a part of a batch, ``events`` is the number of events of the whole batch; the losses of
        the parts then add up to that of the batch.
        """
        nats = -sum(self.log_prob.values(), torch.zeros_like(self.words, dtype=torch.float32))
        return nats / (self.events if events is None else events.to(nats.dtype))

    def uncounted(self) -> BatchScores:
        """Return the scores with weight zero; gradients are zero, but computed."""
        return BatchScores(
            log_prob={kind: value * 0.0 for kind, value in self.log_prob.items()},
            words=torch.zeros_like(self.words),
            sentences=torch.zeros_like(self.sentences),
        )


class Network(Protocol):
    """A neural network: a sequential or a syntactic model."""

    def score(self, batch: Any) -> BatchScores:
        """Return the log probabilities of a batch of the model's kind."""


def score_tokens(log_prob: Tensor, batch: TokenBatch) -> BatchScores:
    """Sum the log probabilities of tokens, ``(sentences, length)`` with zero on padding."""
    end = log_prob.masked_fill(~batch.is_end, 0.0).sum()
    return BatchScores(
        log_prob={"word": log_prob.sum() - end, "end": end},
        words=batch.starts_word.sum(),
        sentences=batch.is_end.sum(),
    )


@dataclass(frozen=True, slots=True)
class Totals:
    """The scores of a whole split; all reported metrics follow from these sums."""

    log_prob: Mapping[str, float]
    words: int
    sentences: int

    @property
    def loss(self) -> float:
        """Mean negative log-likelihood per event, in nats."""
        return -sum(self.log_prob.values()) / (self.words + self.sentences)

    @property
    def perplexity(self) -> float:
        """Perplexity per word, counting the end of each sentence as a word."""
        return perplexity_of(self.loss)

    @property
    def perplexity_without_end(self) -> float:
        """Perplexity per word, without sentence ends."""
        without = sum(value for kind, value in self.log_prob.items() if kind != "end")
        return perplexity_of(-without / self.words)

    @property
    def is_joint(self) -> bool:
        """Whether trees are predicted together with words."""
        return "action" in self.log_prob

    def as_metrics(self) -> dict[str, float]:
        """Return metrics for logs and files; the parts of a joint loss add up to it."""
        if self.is_joint:
            events = self.words + self.sentences
            return {
                "loss": self.loss,
                "joint_perplexity": self.perplexity,
                "action_loss": -self.log_prob["action"] / events,
                "word_loss": -self.log_prob["word"] / events,
            }
        return {
            "loss": self.loss,
            "perplexity": self.perplexity,
            "perplexity_without_end": self.perplexity_without_end,
        }


def joint_totals(network: Network, batches: Iterable[Any]) -> Totals:
    """Sum the scores of all batches; the network must be in evaluation mode."""
    sums: dict[str, float] = defaultdict(float)
    words = sentences = 0
    with torch.inference_mode():
        for batch in batches:
            scores = network.score(batch)
            for kind, value in scores.log_prob.items():
                sums[kind] += float(value)
            words += int(scores.words)
            sentences += int(scores.sentences)
    return Totals(log_prob=dict(sums), words=words, sentences=sentences)
