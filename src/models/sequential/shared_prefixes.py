"""Distinct prefixes of sentences as tensors, for sequential networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from gardenpath.data.batches.tensor_batch import TensorBatch
from gardenpath.data.prefixes import PrefixTrie


@dataclass(frozen=True, slots=True)
class PrefixBatch(TensorBatch):
    """The arrays of a :class:`PrefixTrie` that a network needs.

    There are ``sizes[d]`` prefixes of length d.
    """

    tokens: Tensor
    parents: Tensor
    depths: Tensor
    first: Tensor
    last: Tensor
    contexts: Tensor
    targets: Tensor
    sizes: tuple[int, ...]

    @staticmethod
    def of(trie: PrefixTrie) -> PrefixBatch:
        """Convert the trie to tensors."""
        return PrefixBatch(
            tokens=torch.from_numpy(trie.tokens),
            parents=torch.from_numpy(trie.parents),
            depths=torch.from_numpy(trie.depths),
            first=torch.from_numpy(trie.first),
            last=torch.from_numpy(trie.last),
            contexts=torch.from_numpy(trie.contexts),
            targets=torch.from_numpy(trie.targets),
            sizes=tuple(np.bincount(trie.depths).tolist()),
        )

    def is_ancestor(self) -> Tensor:
        """``(prefixes, prefixes)``: whether the second is a prefix of the first, or equal to it."""
        # Of two prefixes of one sentence, the shorter begins the longer; ``first`` is a sentence.
        is_shorter = self.depths <= self.depths[:, None]
        sentence = self.first[:, None]
        return is_shorter & (self.first <= sentence) & (sentence <= self.last)


@runtime_checkable
class PrefixNetwork(Protocol):
    """A network that can read shared prefixes, at most ``most_prefixes`` at a time."""

    most_prefixes: int

    def prefix_states(self, batch: PrefixBatch) -> Tensor:
        """``(prefixes, hidden)`` states from which the next token is predicted."""
