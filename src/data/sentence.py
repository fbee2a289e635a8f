"""Sentences: what readers yield, what scorers are given, and the prefixes that they share.

Used by all of data, models, evaluation and runs. Minimal pairs agree up to the critical word. The
computation of a model for a prefix depends only on that prefix, so each distinct prefix is computed
once, and the probability of whatever follows it in some sentence (a token or the end) is read from
the same distribution.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from gardenpath.data.arrays import Bools, Floats, Ints, Tokens
from gardenpath.data.trees.tree import Tree
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID
from gardenpath.util import Words

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Source:
    """The location of a sentence: a file (or corpus) and the line, or number, within it.

    Converted to text it is ``path:line``, which is how messages name a sentence.
    """

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence, its source, and its tree if it has one."""

    words: Words
    source: Source
    tree: Tree | None = None


# ----------------------------------------------------------------------------
# Prefix tries over the sentences of a job.
#
# A trie is a set of arrays with one row for each prefix (:class:`PrefixTrie`). Sequential models
# use the arrays directly, together with the predictions to be made from each row. Syntactic models
# search from prefix to prefix (:class:`Prefix`).


@dataclass(frozen=True, slots=True)
class Sharing:
    """How many predictions of a job were saved by shared prefixes.

    ``tokens`` counts all predictions of a job (its tokens and the ends of its sentences), and
    ``computed`` those that had to be computed.
    """

    tokens: int
    computed: int

    @property
    def saved(self) -> float:
        """The fraction of predictions that was saved."""
        return 1 - self.computed / self.tokens if self.tokens else 0.0


@dataclass(frozen=True, eq=False)
class PrefixTrie:
    """The distinct prefixes of some sentences of a job, shorter ones first; row 0 is empty.

    ``numbers`` are the sentences in sorted order, ``lengths`` their numbers of tokens, and
    ``paths[i, d]`` is the row of the first d tokens of sentence i (meaningless if the sentence is
    shorter). Each prefix has its last token (``tokens``), its length (``depths``), the row of the
    prefix without its last token (``parents``; the empty prefix is its own parent) and the range of
    sentences, in sorted order, that begin with it (``first``, ``last``).
    """

    numbers: list[int]
    lengths: Ints
    paths: Ints
    tokens: Ints
    parents: Ints
    depths: Ints
    first: Ints
    last: Ints

    # ---- As arrays: prediction i is that of ``targets[i]`` after the prefix ``contexts[i]``: first
    # the last token of each nonempty prefix, then the ends.

    @cached_property
    def contexts(self) -> Ints:
        """``(predictions,)`` rows of the prefixes from which predictions are made."""
        return np.concatenate([self.parents[1:], self._ends[self._is_distinct]])

    @cached_property
    def targets(self) -> Ints:
        """``(predictions,)`` predicted tokens; the end symbol for ends."""
        ends = np.full(np.count_nonzero(self._is_distinct), END_ID)
        return np.concatenate([self.tokens[1:], ends])

    @property
    def predictions(self) -> list[Ints]:
        """``(tokens + 1,)`` numbers of the predictions of each sentence."""
        numbers = np.roll(self.paths - 1, -1, axis=1)
        numbers[self._sentences, self.lengths] = len(self.tokens) - 2 + self._distinct_so_far
        is_prefix = np.arange(self.paths.shape[1]) <= self.lengths[:, None]
        return np.split(numbers[is_prefix], np.cumsum(self.lengths + 1)[:-1])

    @property
    def sharing(self) -> Sharing:
        """Number of predictions of the sentences, and of distinct predictions."""
        return Sharing(int(self.lengths.sum()) + len(self.lengths), len(self.targets))

    # ---- Prefix by prefix.

    @property
    def root(self) -> Prefix:
        """The empty prefix."""
        return Prefix(self, 0)

    @property
    def length(self) -> int:
        """Length of the longest sentence."""
        return int(self.depths[-1])

    @cached_property
    def first_child(self) -> list[int]:
        """First child of each row; children are contiguous. The list has one extra entry."""
        rows = np.arange(len(self.tokens) + 1)
        first: list[int] = (np.searchsorted(self.parents[1:], rows) + 1).tolist()
        return first

    @cached_property
    def end_count(self) -> list[int]:
        """Number of sentences that end at each row; these are the first that begin with it."""
        counts: list[int] = np.bincount(self._ends, minlength=len(self.tokens)).tolist()
        return counts

    @cached_property
    def leaf_count(self) -> list[int]:
        """Number of distinct sentences that begin with each row."""
        so_far = self._distinct_so_far
        counts: list[int] = (so_far[self.last] - so_far[self.first] + 1).tolist()
        return counts

    @property
    def _sentences(self) -> Ints:
        return np.arange(len(self.lengths))

    @cached_property
    def _ends(self) -> Ints:
        """``(sentences,)`` rows of complete sentences."""
        ends: Ints = self.paths[self._sentences, self.lengths]
        return ends

    @cached_property
    def _is_distinct(self) -> Bools:
        """``(sentences,)``: whether a sentence differs from the previous one."""
        is_distinct: Bools = np.diff(self._ends, prepend=-1) != 0
        return is_distinct

    @cached_property
    def _distinct_so_far(self) -> Ints:
        return np.cumsum(self._is_distinct)


@dataclass(frozen=True, slots=True)
class Prefix:
    """One prefix of a trie: its continuations and the sentences that end with it."""

    trie: PrefixTrie
    row: int

    @property
    def children(self) -> dict[int, Prefix]:
        """The prefixes that are one token longer, keyed by that token."""
        first, end = self.trie.first_child[self.row : self.row + 2]
        tokens = self.trie.tokens[first:end].tolist()
        return {token: Prefix(self.trie, first + n) for n, token in enumerate(tokens)}

    @property
    def sentences(self) -> list[int]:
        """Numbers of the sentences that end here."""
        begin = int(self.trie.first[self.row])
        return self.trie.numbers[begin : begin + self.trie.end_count[self.row]]

    @property
    def all_sentences(self) -> list[int]:
        """Numbers of the sentences that begin with this prefix."""
        return self.trie.numbers[self.trie.first[self.row] : self.trie.last[self.row] + 1]

    @property
    def leaves(self) -> int:
        """Number of distinct sentences that begin with this prefix."""
        return self.trie.leaf_count[self.row]


def tries_by_size(sentences: Sequence[Tokens], *, most: int) -> Iterator[PrefixTrie]:
    """Divide a job into tries of at most ``most`` prefixes each, or of a single sentence."""
    members: list[int] = []
    prefixes = 1
    for number in _sorted(sentences):
        tokens = sentences[number]
        shared = _common_length(sentences[members[-1]], tokens) if members else 0
        # Equal sentences stay together, regardless of their length.
        if members and shared < len(tokens) and prefixes + len(tokens) - shared > most:
            yield _trie(sentences, members)
            members, prefixes, shared = [], 1, 0
        members.append(number)
        prefixes += len(tokens) - shared
    if members:
        yield _trie(sentences, members)


def tries_by_start(sentences: Sequence[Tokens], *, is_shared: bool, most: int) -> list[PrefixTrie]:
    """Divide a job into tries of at most ``most`` sentences that begin with the same token.

    Without sharing, each sentence has its own trie. Tries with long sentences come first, so that
    no long sentence is left alone at the end.
    """
    in_order = _sorted(sentences)
    groups = [[number] for number in in_order]
    if is_shared:
        same = itertools.groupby(in_order, key=lambda n: sentences[n][:1].tolist())
        alike = [list(numbers) for _, numbers in same]
        groups = [part[n : n + most] for part in alike for n in range(0, len(part), most)]
    tries = [_trie(sentences, members) for members in groups]
    return sorted(tries, key=lambda trie: -trie.length)


def _sorted(sentences: Sequence[Tokens]) -> list[int]:
    """Return sentence numbers, sorted by tokens, so that common prefixes are adjacent."""
    # Big-endian bytes sort in the same order as the numbers they encode.
    return sorted(range(len(sentences)), key=lambda n: sentences[n].astype(">u4").tobytes())


def _common_length(before: Tokens, tokens: Tokens) -> int:
    length = min(len(before), len(tokens))
    differs = before[:length] != tokens[:length]
    return int(differs.argmax()) if differs.any() else length


def _trie(sentences: Sequence[Tokens], numbers: list[int]) -> PrefixTrie:
    """Build the trie of sorted sentences."""
    members = [sentences[number] for number in numbers]
    common = [_common_length(*pair) for pair in itertools.pairwise(members)]
    lengths = np.array([len(tokens) for tokens in members])
    columns = np.arange(lengths.max() + 1)  # column d is the prefix of length d
    is_prefix = columns <= lengths[:, None]
    is_new = is_prefix & (columns > np.array([-1, *common])[:, None])
    # A prefix that is not new occurs in the previous sentence, and the newest prefix of a length
    # has the highest number.
    places_of_new = np.zeros(is_new.shape, dtype=np.int64)
    places_of_new[is_new] = np.arange(np.count_nonzero(is_new))
    paths: Ints = np.maximum.accumulate(places_of_new, axis=0)
    first, depths = np.nonzero(is_new)
    last = np.empty_like(first)
    last[paths[is_prefix]] = np.nonzero(is_prefix)[0]  # the last sentence overwrites earlier ones
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


# ----------------------------------------------------------------------------
# The interface between models and evaluation: a scorer assigns a probability to each word.


# Called with the number of words scored since the last call, to show progress.
OnWords = Callable[[int], None]


class Scorer(Protocol):
    """A model of any family; it may come from outside this package."""

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the log probability (nats) of each word, then its end."""
