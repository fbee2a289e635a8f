"""The interface between a search and a model that generates words and trees jointly.

A derivation is a path of *nodes*. A node is an integer assigned by the model; the state it refers
to (stack states, keys and values) stays inside the model, so that branching only copies integers.
At a node the model assigns a log probability to each column (:class:`Column`): the next event is a
word, the derivation ends, a constituent is closed, or one is opened. Illegal columns are ``-inf``.
All tensors are on the model's device. The search knows no model but through this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

# The node at which every derivation starts.
ROOT_NODE = 0


class TransitionModel(Protocol):
    """A syntactic language model, for one search at a time; :meth:`begin` resets it."""

    @property
    def device(self) -> torch.device:
        """Device of nodes and scores."""

    @property
    def label_count(self) -> int:
        """Number of labels of constituents, each of which has a column that opens it."""

    @property
    def is_continuation(self) -> Tensor | None:
        """``(words,)``: whether a word is a piece that continues the word before it.

        None if words do not consist of pieces. A continuation follows directly on a piece: after
        anything else its probability is zero.
        """

    @property
    def opens_at_end(self) -> bool:
        """Whether a constituent may still be opened after the last word."""

    def group_bytes(self, *, action_beam: int, word_beam: int, length: int) -> int:
        """Estimate the memory, in bytes, of the hypotheses of a sentence of ``length`` tokens."""

    def begin(self) -> None:
        """Reset the model: :data:`ROOT_NODE` is the only node."""

    def log_probs(self, nodes: Tensor) -> Tensor:
        """Return ``(rows, columns)`` log probabilities of the next event."""

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Return ``(rows,)`` log probabilities of words, given that the next event is a word."""

    def word_bound(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Return cheap ``(rows,)`` upper bounds of :meth:`word_log_prob`; zero is a valid bound."""

    def word_end_log_prob(self, nodes: Tensor) -> Tensor:
        """Return ``(rows,)`` log probabilities that the word just read does not continue.

        Called directly after a piece, and only for models over pieces: 1 - p(WORD) p(continuation).
        """

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        """Return ``(rows,)`` new nodes after structural actions."""

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Return ``(rows,)`` new nodes after words."""

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        """Discard all states that the ``(groups, beam)`` nodes do not need; return new numbers.

        A group contains the hypotheses of one prefix (and one replicate), which compete with each
        other. All nodes of a group descend from one group of the previous call, and equal nodes of
        a group remain equal.
        :data:`ROOT_NODE` is kept.
        """


# ----------------------------------------------------------------------------
# Model calls of a search: counted, and made once for identical hypotheses.
#
# Groups that diverge at the next token have the same hypotheses before it, and replicates have
# most of theirs in common.


@dataclass
class Work:
    """Number of operations of a search."""

    words: int = 0
    expanded: int = 0
    word_scores: int = 0
    steps: int = 0


Answer = Callable[[Tensor, Tensor], Tensor]


class CountedModel:
    """The calls of a model, counted.

    With ``is_shared``, identical rows are computed once, which requires comparing the rows.
    """

    def __init__(self, model: TransitionModel, work: Work, *, is_shared: bool) -> None:
        self._model = model
        self._work = work
        self._is_shared = is_shared

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        self._work.steps += 1
        return self._ask(self._model.advance, nodes, columns, "expanded")

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        return self._ask(self._model.word_log_prob, nodes, words, "word_scores")

    def word_end_log_prob(self, nodes: Tensor) -> Tensor:
        return self._ask(
            lambda some, _: self._model.word_end_log_prob(some), nodes, torch.zeros_like(nodes)
        )

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        return self._ask(self._model.shift, nodes, words)

    def _ask(self, answer: Answer, nodes: Tensor, events: Tensor, counter: str = "") -> Tensor:
        row = None
        if self._is_shared:
            nodes, events, row = distinct(nodes, events)
        if counter:
            setattr(self._work, counter, getattr(self._work, counter) + len(nodes))
        answers = answer(nodes, events)
        return answers if row is None else answers[row]


def distinct(nodes: Tensor, events: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct pairs of node and event, in order, and the index of each row's pair."""
    pair, row = (nodes << 32 | events).unique(return_inverse=True)
    number = torch.arange(len(row), device=row.device)
    first = torch.full_like(pair, len(row)).scatter_reduce(0, row, number, "amin")
    kept, order = first.sort()
    rank = torch.empty_like(order).index_copy(0, order, number[: len(order)])
    return nodes[kept], events[kept], rank[row]
