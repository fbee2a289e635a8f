"""Base class and output layer of sequential networks."""

from __future__ import annotations

import abc
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.batches.token_batches import TokenBatch
from gardenpath.data.words.vocabulary import BEGIN_ID, PAD_ID
from gardenpath.models.scores import BatchScores, score_tokens


class SequentialNetwork(nn.Module, abc.ABC):
    """A network that predicts each token from the preceding tokens, through its output layer."""

    output: NextToken

    @abc.abstractmethod
    def states(self, batch: TokenBatch) -> Tensor:
        """``(sentences, length, hidden)`` states from which the targets are predicted."""

    def log_prob(self, batch: TokenBatch) -> Tensor:
        """``(sentences, length)`` log probabilities of the targets, zero on padding."""
        return self.output.log_prob(self.states(batch), batch)

    def score(self, batch: TokenBatch) -> BatchScores:
        """Return the summed log probabilities of a batch."""
        return score_tokens(self.log_prob(batch), batch)


class NextToken(nn.Module):
    """A linear layer and a softmax over all tokens that can come next.

    Symbols that never come next (padding, the begin symbol) are excluded from the normalisation, so
    that probabilities are comparable with those of n-gram models over the same vocabulary.

    Subclasses may predict a token in two steps, first a *branch*, then the token within it
    (:class:`FactoredToken`); here, every token is its own branch. ``singles`` symbols at the end of
    the vocabulary are no words; the branches of words come first, ``word_branches`` of them.
    """

    def __init__(
        self,
        *,
        hidden: int,
        vocabulary_size: int,
        bias: bool = True,
        never: Sequence[int] = (PAD_ID, BEGIN_ID),
        singles: int = 0,
    ) -> None:
        super().__init__()
        self.linear = nn.Linear(hidden, vocabulary_size, bias=bias)
        excluded = torch.zeros(vocabulary_size)
        excluded[list(never)] = -torch.inf
        self.word_branches = vocabulary_size - singles
        self.excluded: Tensor
        self.register_buffer("excluded", excluded, persistent=False)

    def logits(self, states: Tensor) -> Tensor:
        """``(…, vocabulary)`` logits, ``-inf`` for tokens that cannot come next."""
        bias = self.linear.bias
        # As part of the bias, the exclusion costs nothing.
        excluded = self.excluded if bias is None else bias + self.excluded
        return functional.linear(states, self.linear.weight, excluded)

    def log_prob(self, states: Tensor, batch: TokenBatch) -> Tensor:
        """``(sentences, length)`` log probabilities of the targets, zero on padding.

        Only the rows of real tokens pass through this matrix product, the most expensive operation.
        """
        found = self.target_log_prob(states[batch.is_token], batch.targets[batch.is_token])
        result = torch.zeros(batch.targets.shape, dtype=found.dtype, device=found.device)
        return result.masked_scatter(batch.is_token, found)

    def target_log_prob(self, states: Tensor, targets: Tensor) -> Tensor:
        """``(rows,)`` log probabilities of targets after ``(rows, hidden)`` states."""
        return -functional.cross_entropy(self.logits(states), targets, reduction="none")

    def log_prob_after(self, states: Tensor, contexts: Tensor, targets: Tensor) -> Tensor:
        """``(rows,)`` log probabilities of targets after some of the states, given by number."""
        return functional.log_softmax(self.logits(states), dim=-1)[contexts, targets]

    def branch_logits(self, states: Tensor) -> Tensor:
        """``(…, branches)`` logits of the branches, ``-inf`` for those that cannot come next."""
        return self.logits(states)

    def branches(self) -> tuple[Tensor, Tensor]:
        """Return weights and biases of the branches; a bias is ``-inf`` if none can come next."""
        bias = self.linear.bias
        return self.linear.weight, self.excluded if bias is None else bias + self.excluded

    def branch_of(self, tokens: Tensor) -> Tensor:
        """Return the branch of each token."""
        return tokens

    def branch_score(self, states: Tensor, tokens: Tensor) -> Tensor:
        """``(rows,)`` logits of the branches of tokens that can come next."""
        scores = (states * self.linear.weight[tokens]).sum(1)
        return scores if self.linear.bias is None else scores + self.linear.bias[tokens]

    def within_log_prob(self, states: Tensor, words: Tensor) -> Tensor:
        """``(rows,)`` log probabilities of words given their branches: here, zero."""
        return states.new_zeros(len(states))
