"""A baseline PLM search that reads every hypothesis from the beginning at every step.

This is how the published PLM is searched: hypotheses are sequences of symbols, and no states are
kept.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.peer_search import STAY, Begin
from gardenpath.data.trees.legality import Column
from gardenpath.data.words.vocabulary import BEGIN_ID, PAD_ID
from gardenpath.models.syntactic.networks import PlmNetwork

# Maximum number of symbols that pass through the network at a time, to limit memory.
_MOST_SYMBOLS = 1 << 15


def recomputed_prefixes(network: PlmNetwork) -> Begin:
    """Return the function that begins a search with a PLM."""
    assert not network.structured_heads and network.action_norm == "legal"
    return lambda groups, _: RecomputedPrefixes(network, groups)


class RecomputedPrefixes:
    """Sequences of symbols, one per row, and their lengths."""

    def __init__(self, network: PlmNetwork, rows: int) -> None:
        self._network = network
        self._symbols = torch.full((rows, 1), BEGIN_ID)
        self._length = torch.ones(rows, dtype=torch.long)

    def _replaced(self, symbols: Tensor, length: Tensor) -> Self:
        result = copy.copy(self)
        result._symbols, result._length = symbols, length
        return result

    def select(self, rows: Tensor) -> Self:
        """Copy sequences."""
        return self._replaced(self._symbols[rows], self._length[rows])

    def join(self, others: Sequence[Self]) -> Self:
        """Concatenate sequences, padded to the longest."""
        everything = (self, *others)
        longest = max(each._symbols.shape[1] for each in everything)
        return self._replaced(
            torch.cat([_padded(each._symbols, longest) for each in everything]),
            torch.cat([each._length for each in everything]),
        )

    def log_probs(self, words: Tensor, depth: Tensor) -> Tensor:
        """See :class:`benchmarks.peer_search.Memories`."""
        closing = self._network.vocabulary_size
        some = max(1, _MOST_SYMBOLS // int(self._length.max()))
        states = torch.cat(
            [
                self._last_states(symbols, length)
                for symbols, length in zip(
                    self._symbols.split(some), self._length.split(some), strict=True
                )
            ]
        )
        logits = self._network.output.logits(states)
        nothing_open = (depth == 0).unsqueeze(1)
        logits[:, : closing + 1].masked_fill_(nothing_open, -torch.inf)
        last = self._symbols.gather(1, (self._length - 1).unsqueeze(1)).squeeze(1)
        logits[:, closing].masked_fill_(last > closing, -torch.inf)
        log_probs = logits.log_softmax(1)
        word, close = log_probs.gather(1, words.unsqueeze(1)), log_probs[:, closing : closing + 1]
        is_root = (depth == 1).unsqueeze(1)
        end = close.masked_fill(~is_root, -torch.inf)
        close = close.masked_fill(is_root, -torch.inf)
        return torch.cat([word, end, close, log_probs[:, closing + 1 :]], dim=1)

    def _last_states(self, symbols: Tensor, length: Tensor) -> Tensor:
        """Return the states of the network at the ends of the sequences."""
        states: Tensor = self._network.decoder(symbols[:, : int(length.max())])
        return states[torch.arange(len(length)), length - 1]

    def advance(self, columns: Tensor, words: Tensor) -> None:
        """Append symbols."""
        closing = self._network.vocabulary_size
        opening = columns - Column.FIRST_OPEN + closing + 1
        brackets = torch.where(columns == Column.CLOSE, closing, opening)
        new = torch.where(columns == Column.WORD, words, brackets)
        if int(self._length.max()) == self._symbols.shape[1]:
            self._symbols = _padded(self._symbols, self._symbols.shape[1] + 16)
        rows = (columns != STAY).nonzero().squeeze(1)
        self._symbols[rows, self._length[rows]] = new[rows]
        self._length[rows] += 1


def _padded(symbols: Tensor, length: int) -> Tensor:
    return functional.pad(symbols, (0, length - symbols.shape[1]), value=PAD_ID)
