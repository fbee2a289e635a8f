"""The sentences of a job as tries, so that a prefix they share is computed once.

Minimal pairs agree up to the critical word. What a model computes for a prefix depends on nothing
else, so each distinct prefix needs to be computed once, and whatever follows it in some sentence,
be it a token or the end, is read off the same distribution.

A trie is a set of arrays with a row for each prefix (:class:`PrefixTrie`). Models that read from
left to right take the arrays as they are, with what is to be predicted from each row. A search
over trees walks from prefix to prefix (:class:`Prefix`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gardenpath.data.arrays import Bools, Ints, Tokens
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID


@dataclass(frozen=True, slots=True)
class Sharing:
    """How much of a job its sentences shared.

    ``tokens`` counts the predictions of a job (its tokens and the ends of its sentences),
    ``computed`` those of them that had to be computed.
    """

    tokens: int
    computed: int

    @property
    def saved(self) -> float:
        """The share that was saved."""
        return 1 - self.computed / self.tokens if self.tokens else 0.0


@dataclass(frozen=True, eq=False)
class PrefixTrie:
    """The distinct prefixes of some sentences of a job, shorter ones first; row 0 is the empty one.

    ``numbers`` are the sentences in sorted order, ``lengths`` their tokens, and ``paths[i, d]`` is
    the row of the first d tokens of sentence i (of no meaning if it is shorter). Of each prefix:
    its last token (``tokens``), its length (``depths``), the prefix without its last token
    (``parents``; the empty prefix is its own) and the range of sentences, in sorted order, that
    begin with it (``first``, ``last``).
    """

    numbers: list[int]
    lengths: Ints
    paths: Ints
    tokens: Ints
    parents: Ints
    depths: Ints
    first: Ints
    last: Ints

    # ---- As arrays: what is to be predicted. Prediction i is that of ``targets[i]`` after the
    # prefix ``contexts[i]``: the last token of each prefix but the empty one, and then the ends.

    @cached_property
    def contexts(self) -> Ints:
        """``(predictions,)`` rows of the prefixes from which something is predicted."""
        return np.concatenate([self.parents[1:], self._ends[self._is_distinct]])

    @cached_property
    def targets(self) -> Ints:
        """``(predictions,)`` tokens that are predicted; the end symbol for ends."""
        ends = np.full(np.count_nonzero(self._is_distinct), END_ID)
        return np.concatenate([self.tokens[1:], ends])

    @property
    def predictions(self) -> list[Ints]:
        """For each sentence, ``(tokens + 1,)`` numbers of its predictions."""
        numbers = np.roll(self.paths - 1, -1, axis=1)
        numbers[self._sentences, self.lengths] = len(self.tokens) - 2 + self._distinct_so_far
        is_prefix = np.arange(self.paths.shape[1]) <= self.lengths[:, None]
        return np.split(numbers[is_prefix], np.cumsum(self.lengths + 1)[:-1])

    @property
    def sharing(self) -> Sharing:
        """Predictions of the sentences, and distinct ones."""
        return Sharing(int(self.lengths.sum()) + len(self.lengths), len(self.targets))

    # ---- Prefix by prefix.

    @property
    def root(self) -> Prefix:
        """The empty prefix."""
        return Prefix(self, 0)

    @property
    def length(self) -> int:
        """The length of the longest sentence."""
        return int(self.depths[-1])

    @cached_property
    def first_child(self) -> list[int]:
        """For each row the first of its children, which stand together; one entry more at last."""
        rows = np.arange(len(self.tokens) + 1)
        first: list[int] = (np.searchsorted(self.parents[1:], rows) + 1).tolist()
        return first

    @cached_property
    def end_count(self) -> list[int]:
        """For each row how many sentences end there; they are the first that begin with it."""
        counts: list[int] = np.bincount(self._ends, minlength=len(self.tokens)).tolist()
        return counts

    @cached_property
    def leaf_count(self) -> list[int]:
        """For each row the number of different sentences that begin with it."""
        so_far = self._distinct_so_far
        counts: list[int] = (so_far[self.last] - so_far[self.first] + 1).tolist()
        return counts

    @property
    def _sentences(self) -> Ints:
        return np.arange(len(self.lengths))

    @cached_property
    def _ends(self) -> Ints:
        """``(sentences,)`` rows of whole sentences."""
        ends: Ints = self.paths[self._sentences, self.lengths]
        return ends

    @cached_property
    def _is_distinct(self) -> Bools:
        """``(sentences,)``: whether a sentence differs from the one before."""
        is_distinct: Bools = np.diff(self._ends, prepend=-1) != 0
        return is_distinct

    @cached_property
    def _distinct_so_far(self) -> Ints:
        return np.cumsum(self._is_distinct)


@dataclass(frozen=True, slots=True)
class Prefix:
    """One prefix of a trie: how it goes on, and which sentences end here."""

    trie: PrefixTrie
    row: int

    @property
    def children(self) -> dict[int, Prefix]:
        """The prefixes that are one token longer, by that token."""
        first, end = self.trie.first_child[self.row : self.row + 2]
        tokens = self.trie.tokens[first:end].tolist()
        return {token: Prefix(self.trie, first + n) for n, token in enumerate(tokens)}

    @property
    def sentences(self) -> list[int]:
        """The sentences, by number, that end here."""
        begin = int(self.trie.first[self.row])
        return self.trie.numbers[begin : begin + self.trie.end_count[self.row]]

    @property
    def all_sentences(self) -> list[int]:
        """The sentences, by number, that begin with this prefix."""
        return self.trie.numbers[self.trie.first[self.row] : self.trie.last[self.row] + 1]

    @property
    def leaves(self) -> int:
        """The number of different sentences that begin with this prefix."""
        return self.trie.leaf_count[self.row]


def tries_by_size(sentences: Sequence[Tokens], *, most: int) -> Iterator[PrefixTrie]:
    """Divide a job into tries of at most ``most`` prefixes each, or of a single sentence."""
    members: list[int] = []
    prefixes = 1
    for number in _sorted(sentences):
        tokens = sentences[number]
        shared = _common_length(sentences[members[-1]], tokens) if members else 0
        # Equal sentences stay together, however long they are.
        if members and shared < len(tokens) and prefixes + len(tokens) - shared > most:
            yield _trie(sentences, members)
            members, prefixes, shared = [], 1, 0
        members.append(number)
        prefixes += len(tokens) - shared
    if members:
        yield _trie(sentences, members)


def tries_by_start(sentences: Sequence[Tokens], *, is_shared: bool, most: int) -> list[PrefixTrie]:
    """Divide a job into tries of at most ``most`` sentences that begin with the same token.

    Without sharing each sentence has a trie of its own. Those with long sentences come first, so
    that none of them is left alone at the end.
    """
    groups = _by_first_token(sentences, most) if is_shared else ([n] for n in _sorted(sentences))
    found = [_trie(sentences, members) for members in groups]
    return sorted(found, key=lambda trie: -trie.length)


def _by_first_token(sentences: Sequence[Tokens], most: int) -> Iterator[list[int]]:
    first = itertools.groupby(_sorted(sentences), key=lambda n: sentences[n][:1].tolist())
    for _, same_start in first:
        members = list(same_start)
        for begin in range(0, len(members), most):
            yield members[begin : begin + most]


def _sorted(sentences: Sequence[Tokens]) -> list[int]:
    """The numbers of sentences, sorted by tokens, so that common beginnings stand together."""
    # Big-endian bytes have the order of the numbers that they stand for.
    return sorted(range(len(sentences)), key=lambda n: sentences[n].astype(">u4").tobytes())


def _common_length(one: Tokens, other: Tokens) -> int:
    length = min(len(one), len(other))
    differs = one[:length] != other[:length]
    return int(differs.argmax()) if differs.any() else length


def _trie(sentences: Sequence[Tokens], numbers: list[int]) -> PrefixTrie:
    """The trie of sorted sentences."""
    members = [sentences[number] for number in numbers]
    common = [_common_length(one, other) for one, other in itertools.pairwise(members)]
    lengths = np.array([len(tokens) for tokens in members])
    columns = np.arange(lengths.max() + 1)  # column d stands for the prefix of length d
    is_prefix = columns <= lengths[:, None]
    is_new = is_prefix & (columns > np.array([-1, *common])[:, None])
    paths = _paths(is_new)
    first, depths = np.nonzero(is_new)
    last = np.empty_like(first)
    last[paths[is_prefix]] = np.nonzero(is_prefix)[0]  # of several sentences the last remains
    begins = np.cumsum(lengths) - lengths
    places = (begins[:, None] + columns - 1)[is_new][1:]

    order = np.argsort(depths, kind="stable")
    rank = np.argsort(order)
    return PrefixTrie(
        numbers=numbers,
        lengths=lengths,
        paths=rank[paths],
        tokens=np.concatenate([[BEGIN_ID], np.concatenate(members)[places]])[order],
        parents=rank[paths[first, np.maximum(depths - 1, 0)][order]],
        depths=depths[order],
        first=first[order],
        last=last[order],
    )


def _paths(is_new: Bools) -> Ints:
    """``(sentences, lengths)``: the prefixes of sentences, numbered in the order of their coming.

    What is not new was in the sentence before; and of a length, the newest has the highest number.
    """
    numbers = np.zeros(is_new.shape, dtype=np.int64)
    numbers[is_new] = np.arange(np.count_nonzero(is_new))
    paths: Ints = np.maximum.accumulate(numbers, axis=0)
    return paths
