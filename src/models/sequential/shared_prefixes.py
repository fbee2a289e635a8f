"""The sentences of a job as tries, so that models read a prefix that they share once.

Minimal pairs agree up to the critical word. What a model that reads from left to right computes
for a prefix depends on nothing else, so each distinct prefix is computed once, and whatever
follows it in some sentence, be it a token or the end, is read off the same distribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.data.arrays import Bools, Ints, Tokens
from gardenpath.data.batches.tensor_batch import TensorBatch
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.sharing import Sharing
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID


@dataclass(frozen=True, slots=True)
class PrefixBatch(TensorBatch):
    """The distinct prefixes of sentences, shorter ones first, and what is predicted from them.

    Of each prefix: its last token (``tokens``), its length (``depths``), the prefix without its
    last token (``parents``; the empty prefix, row 0, is its own) and the range of sentences, in
    sorted order, that begin with it (``first``, ``last``). There are ``sizes[d]`` prefixes of
    length d. Prediction i is that of ``targets[i]`` after prefix ``contexts[i]``.
    """

    tokens: Tensor
    parents: Tensor
    depths: Tensor
    first: Tensor
    last: Tensor
    contexts: Tensor
    targets: Tensor
    sizes: tuple[int, ...]

    def is_ancestor(self) -> Tensor:
        """``(prefixes, prefixes)``: whether the second begins the first, or is the first."""
        # Two prefixes of one sentence are each other's beginnings; ``first`` is such a sentence.
        is_shorter = self.depths <= self.depths[:, None]
        sentence = self.first[:, None]
        return is_shorter & (self.first <= sentence) & (sentence <= self.last)

    def log_prob(self, logits: Tensor) -> Tensor:
        """``(predictions,)`` log probabilities, from logits ``(prefixes, vocabulary)``."""
        return functional.log_softmax(logits, dim=-1)[self.contexts, self.targets]


@runtime_checkable
class PrefixNetwork(Protocol):
    """A network that can read prefixes that sentences share, some at a time."""

    most_prefixes: int

    def prefix_log_prob(self, batch: PrefixBatch) -> Tensor:
        """``(predictions,)`` log probabilities, without dropout."""


@dataclass(frozen=True, slots=True)
class PrefixTrie:
    """Some sentences of a job (``numbers``), and for each of them the rows of its predictions."""

    numbers: list[int]
    predictions: list[Ints]
    tokens: Ints
    parents: Ints
    depths: Ints
    first: Ints
    last: Ints
    contexts: Ints
    targets: Ints

    @property
    def sharing(self) -> Sharing:
        """Predictions of the sentences, and distinct ones."""
        return Sharing(sum(map(len, self.predictions)), len(self.targets))

    def batch(self) -> PrefixBatch:
        """The trie as tensors."""
        return PrefixBatch(
            tokens=torch.from_numpy(self.tokens),
            parents=torch.from_numpy(self.parents),
            depths=torch.from_numpy(self.depths),
            first=torch.from_numpy(self.first),
            last=torch.from_numpy(self.last),
            contexts=torch.from_numpy(self.contexts),
            targets=torch.from_numpy(self.targets),
            sizes=tuple(np.bincount(self.depths).tolist()),
        )


def prefix_tries(split: EncodedSplit, *, most: int) -> Iterator[PrefixTrie]:
    """Divide a job into tries of at most ``most`` prefixes each, or of a single sentence.

    Sentences are sorted, so that those with a common beginning stand together.
    """
    # Big-endian bytes have the order of the numbers that they stand for.
    order = sorted(range(len(split)), key=lambda n: split.sentence(n).astype(">u4").tobytes())
    members: list[int] = []
    common: list[int] = []
    prefixes = 1
    for number in order:
        tokens = split.sentence(number)
        shared = _common_length(split.sentence(members[-1]), tokens) if members else 0
        # Equal sentences stay together, however long they are.
        if members and shared < len(tokens) and prefixes + len(tokens) - shared > most:
            yield _trie(split, members, common)
            members, common, prefixes, shared = [], [], 1, 0
        members.append(number)
        common.append(shared)
        prefixes += len(tokens) - shared
    if members:
        yield _trie(split, members, common)


def _common_length(one: Tokens, other: Tokens) -> int:
    length = min(len(one), len(other))
    differs = one[:length] != other[:length]
    return int(differs.argmax()) if differs.any() else length


def _trie(split: EncodedSplit, members: list[int], common: Sequence[int]) -> PrefixTrie:
    """The trie of sorted sentences, each with the length of what it shares with the one before."""
    lengths = split.lengths[members]
    columns = np.arange(lengths.max() + 1)  # column d stands for the prefix of length d
    is_prefix = columns <= lengths[:, None]
    is_new = is_prefix & (columns > np.array(common)[:, None])
    is_new[0, 0] = True
    paths = _paths(is_new)
    first, depths = np.nonzero(is_new)
    last = np.empty_like(first)
    last[paths[is_prefix]] = np.nonzero(is_prefix)[0]  # of several sentences the last remains
    places = (split.offsets[members][:, None] + columns - 1)[is_new][1:]

    order = np.argsort(depths, kind="stable")
    rank = np.argsort(order)
    tokens = np.concatenate([[BEGIN_ID], split.tokens[places]])[order]
    parents = rank[paths[first, np.maximum(depths - 1, 0)][order]]
    is_distinct = is_new.any(axis=1)
    ends = paths[np.arange(len(members)), lengths][is_distinct]
    # Each prefix but the empty one is also a prediction, that of its last token.
    predictions = np.roll(rank[paths] - 1, -1, axis=1)
    predictions[np.arange(len(members)), lengths] = len(order) - 2 + np.cumsum(is_distinct)
    return PrefixTrie(
        numbers=members,
        predictions=np.split(predictions[is_prefix], np.cumsum(lengths + 1)[:-1]),
        tokens=tokens,
        parents=parents,
        depths=depths[order],
        first=first[order],
        last=last[order],
        contexts=np.concatenate([parents[1:], rank[ends]]),
        targets=np.concatenate([tokens[1:], np.full(len(ends), END_ID)]),
    )


def _paths(is_new: Bools) -> Ints:
    """``(sentences, lengths)``: the prefixes of sentences, numbered in the order of their coming.

    What is not new was in the sentence before; and of a length, the newest has the highest number.
    """
    numbers = np.zeros(is_new.shape, dtype=np.int64)
    numbers[is_new] = np.arange(np.count_nonzero(is_new))
    paths: Ints = np.maximum.accumulate(numbers, axis=0)
    return paths
