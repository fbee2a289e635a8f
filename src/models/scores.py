"""What a model says about a batch, and the averages that are reported from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from gardenpath.data.batches.token_batches import TokenBatch
from gardenpath.units import perplexity_of


@dataclass(frozen=True, slots=True)
class BatchScores:
    """Sums of log probabilities (nats) by kind of event, and how many words and sentences.

    Kinds are ``word`` and ``end`` (the end of a sentence) for models of sentences, ``word`` and
    ``action`` for models of sentences with their trees.
    """

    log_prob: Mapping[str, Tensor]
    words: Tensor
    sentences: Tensor

    def loss(self) -> Tensor:
        """Negative log likelihood per event: per word or end of sentence."""
        return -sum(self.log_prob.values(), torch.zeros_like(self.words, dtype=torch.float32)) / (
            self.words + self.sentences
        )


class Network(Protocol):
    """A neural model: of sentences, or of sentences with their trees."""

    def score(self, batch: Any) -> BatchScores:
        """Log probabilities of a batch of the kind that the model reads."""


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
    """The scores of a whole split; everything that is reported follows from these sums."""

    log_prob: Mapping[str, float]
    words: int
    sentences: int

    @property
    def loss(self) -> float:
        """Negative log likelihood in nats per event."""
        return -sum(self.log_prob.values()) / (self.words + self.sentences)

    @property
    def perplexity(self) -> float:
        """Per word, the end of each sentence counting as one."""
        return perplexity_of(self.loss)

    @property
    def perplexity_without_end(self) -> float:
        """Per word, the end of sentences left out of sum and count."""
        without = sum(value for kind, value in self.log_prob.items() if kind != "end")
        return perplexity_of(-without / self.words)

    @property
    def is_joint(self) -> bool:
        """Whether trees are predicted together with words."""
        return "action" in self.log_prob

    def as_metrics(self) -> dict[str, float]:
        """Names and values for logs and files; the parts of a joint loss add up to it."""
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
