"""Word probabilities over a large vocabulary, and cheap upper bounds of them.

The normaliser of a softmax is a sum over all words. A sum over a few words is smaller, so the
probability computed with it is an upper bound, and if these words are the likely ones, the bound is
tight.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.models.sequential.output import NextToken
from gardenpath.models.states.piece_bias import BEGINS

# Number of words that the bound sums over: the first ones, because vocabularies are sorted by
# frequency. The bound is the same whatever was scored before.
_LIKELY = 512

# Maximum number of logits computed at a time.
MOST_LOGITS = 1 << 22


class LazyWords:
    """The output layer over words.

    For models over pieces, ``pieces`` is the table of :func:`piece_bias`, and each row of states
    has its ``row`` in it.
    """

    def __init__(self, output: NextToken, pieces: Tensor | None = None) -> None:
        self._pieces = pieces
        self._weight = output.linear.weight.detach()
        bias = output.linear.bias
        self._bias = output.excluded if bias is None else (bias + output.excluded).detach()
        self._likely = slice(min(_LIKELY, len(self._weight)))

    def log_prob(self, states: Tensor, words: Tensor, row: Tensor | None = None) -> Tensor:
        """``(rows,)`` log probabilities."""
        rows = max(1, MOST_LOGITS // len(self._weight))
        kinds = [None] * len(words.split(rows)) if row is None else row.split(rows)
        parts = [
            self._log_prob(some, wanted, kind)
            for some, wanted, kind in zip(states.split(rows), words.split(rows), kinds, strict=True)
        ]
        return torch.cat(parts) if parts else states.new_zeros(0)

    def begins_log_prob(self, states: Tensor, row: Tensor) -> Tensor:
        """``(rows,)`` log probabilities that a piece begins a word."""
        assert self._pieces is not None
        rows = max(1, MOST_LOGITS // len(self._weight))
        parts = []
        for some, kind in zip(states.split(rows), row.split(rows), strict=True):
            logits = functional.linear(some, self._weight, self._bias) + self._pieces[kind]
            begins = (logits + self._pieces[BEGINS]).logsumexp(1)
            parts.append(begins - logits.logsumexp(1))
        return torch.cat(parts) if parts else states.new_zeros(0)

    def _log_prob(self, states: Tensor, words: Tensor, row: Tensor | None) -> Tensor:
        logits = functional.linear(states, self._weight, self._bias)
        if self._pieces is not None:
            logits = logits + self._pieces[row]
        return -functional.cross_entropy(logits, words, reduction="none")

    def bound(self, states: Tensor, words: Tensor, row: Tensor | None = None) -> Tensor:
        """``(rows,)`` upper bounds of the log probabilities."""
        logits = functional.linear(states, self._weight[self._likely], self._bias[self._likely])
        own = (states * self._weight[words]).sum(1) + self._bias[words]
        if self._pieces is None:
            return own - torch.maximum(logits.logsumexp(1), own)
        # The bound of a piece that may come is not affected by one that may not.
        may_come = self._pieces[row, words] == 0
        total = (logits + self._pieces[:, self._likely][row]).logsumexp(1)
        return (own - torch.maximum(total, own)).masked_fill(~may_come, -torch.inf)
