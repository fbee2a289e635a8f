"""What a search sees of a model that generates words and trees together.

A derivation is a path of *nodes*. A node is an integer that the model hands out; whatever it stands
for (stack states, keys and values) stays with the model, so that branching copies integers only.

At a node the model gives a log probability to each column (:class:`Column`): the next event is a
word, the derivation ends, a constituent is closed, or one is opened. Columns that cannot be taken
are ``-inf``. All tensors are on the model's device.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

# The node at which every derivation begins.
ROOT_NODE = 0


class TransitionModel(Protocol):
    """A model of trees, for one search at a time: :meth:`begin` forgets what was before."""

    @property
    def device(self) -> torch.device:
        """Where nodes and scores live."""

    @property
    def dtype(self) -> torch.dtype:
        """The precision of scores."""

    @property
    def is_open(self) -> Tensor:
        """``(columns,)``: which columns open a constituent."""

    @property
    def is_close(self) -> Tensor:
        """``(columns,)``: which columns close one and go on."""

    @property
    def opens_at_end(self) -> bool:
        """Whether a constituent may still be opened when all words are there."""

    def group_bytes(self, *, action_beam: int, word_beam: int, length: int) -> int:
        """Roughly the memory that the hypotheses of one sentence of so many tokens need."""

    def begin(self) -> None:
        """Start anew: :data:`ROOT_NODE` is the only node."""

    def log_probs(self, nodes: Tensor) -> Tensor:
        """``(rows, columns)`` log probabilities of what comes next."""

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        """``(rows,)`` log probabilities of words, given that a word comes next."""

    def word_bound(self, nodes: Tensor, words: Tensor) -> Tensor:
        """``(rows,)`` upper bounds of :meth:`word_log_prob` that are cheaper; zero will do."""

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        """``(rows,)`` new nodes, after structural actions."""

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        """``(rows,)`` new nodes, after words."""

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        """``(groups, beam)`` nodes renumbered: only these, and what they need, are kept.

        A group is what competes with each other: the hypotheses of one prefix. All of a group come
        from one group of the last call, and those that were equal stay so. :data:`ROOT_NODE` stays.
        """
