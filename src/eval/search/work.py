"""Model calls of a search: counted, and made once for identical hypotheses.

Groups that diverge at the next token have the same hypotheses before it, and replicates have most
of theirs in common.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gardenpath.eval.search.protocol import TransitionModel


@dataclass
class Work:
    """Number of operations of a search."""

    words: int = 0
    expanded: int = 0
    word_scores: int = 0
    steps: int = 0


Answer = Callable[[Tensor, Tensor], Tensor]


class CountedModel:
    """A model whose calls are counted.

    With ``is_shared``, identical rows are computed once, which requires comparing the rows.
    """

    def __init__(self, model: TransitionModel, work: Work, *, is_shared: bool) -> None:
        self._model = model
        self._work = work
        self._is_shared = is_shared

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        """Return ``(rows,)`` nodes after structural actions."""
        self._work.steps += 1
        return self._ask(self._advance, nodes, columns)

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Return ``(rows,)`` log probabilities of words, given that the next event is a word."""
        return self._ask(self._word_log_prob, nodes, words)

    def word_end_log_prob(self, nodes: Tensor) -> Tensor:
        """Return ``(rows,)`` log probabilities that the word just read does not continue."""
        return self._ask(
            lambda some, _: self._model.word_end_log_prob(some), nodes, torch.zeros_like(nodes)
        )

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Return ``(rows,)`` nodes after words."""
        return self._ask(self._model.shift, nodes, words)

    def _ask(self, answer: Answer, nodes: Tensor, events: Tensor) -> Tensor:
        if not self._is_shared:
            return answer(nodes, events)
        nodes, events, row = distinct(nodes, events)
        return answer(nodes, events)[row]

    def _advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        self._work.expanded += len(nodes)
        return self._model.advance(nodes, columns)

    def _word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        self._work.word_scores += len(nodes)
        return self._model.word_log_prob(nodes, words)


def distinct(nodes: Tensor, events: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct pairs of node and event, in order, and the index of each row's pair."""
    pair, row = (nodes << 32 | events).unique(return_inverse=True)
    number = torch.arange(len(row), device=row.device)
    first = torch.full_like(pair, len(row)).scatter_reduce(0, row, number, "amin")
    kept, order = first.sort()
    rank = torch.empty_like(order).index_copy(0, order, number[: len(order)])
    return nodes[kept], events[kept], rank[row]
